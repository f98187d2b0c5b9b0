/// Names one line of the results: a row under a load.
package struct RowKey: Codable, Hashable, Sendable, CustomStringConvertible {
    /// What the library has to do with a row.
    package enum Kind: String, Codable, Sendable {
        /// A backend of the library.
        case backend
        /// The same work written without the library.
        case peer
        /// A bare loop of system calls, or a program that measures the system.
        case reference
    }

    /// The row's name, as `timerfd`. The second of two equal rows is `timerfd#2`.
    package let row: String
    package let kind: Kind
    /// The load's name, as `idle` or `cpu:2`.
    package let load: String

    package init(row: String, kind: Kind, load: String) {
        self.row = row
        self.kind = kind
        self.load = load
    }

    /// The name in rules and messages: `timerfd@cpu:2`, or `timerfd` for an idle load.
    package var description: String { load == Self.idle ? row : "\(row)@\(load)" }

    /// The name of the load that does nothing.
    package static let idle = "idle"

    /// The row that every lateness is given as a multiple of.
    package static let floor = "floor-timerfd"

    /// That row under the same load.
    package var floor: RowKey { RowKey(row: Self.floor, kind: .reference, load: load) }

    /// The row of the program cyclictest, which measures by itself.
    package static let cyclictest = "cyclictest"

    /// The row that does the same work in another way: a peer's backend, the same row of this build, or the loop that
    /// makes cyclictest's system call. Nil for any other row.
    package var rival: String? {
        row.hasPrefix(Self.other) ? String(row.dropFirst(Self.other.count)) : Self.rivals[row]
    }

    /// The beginning of the names of another build's rows, which are compared with this build's.
    package static let other = "other:"

    /// Two peers wait on the concurrency runtime, as no backend does: they are compared with the default backend.
    private static let rivals = [
        "peer-dispatch-source": "dispatch", "peer-dispatch-after": "dispatch", "peer-foundation-timer": "runloop",
        "peer-libevent": "libevent", "peer-libevent-precise": "libevent",
        "peer-task-sleep": "timerfd", "peer-async-timer": "timerfd", cyclictest: "floor-nanosleep",
    ]
}
