/// Some laps, one after the other. In a lap each row has one turn, in random order.
///
/// The middle of the lateness is compared lap by lap. A tail takes more ticks than a turn has, so it is compared round
/// by round: a round has as many laps as give each row a hundred deadlines.
package struct Round: Codable, Hashable, Sendable {
    /// The deadlines of a row that make a round.
    package static let fewestDeadlines = 100

    /// The index of the host in the results.
    package internal(set) var host: Int
    /// How the machine disturbed the round, one line each. A disturbed round counts all the same.
    package let disturbances: [String]
    /// The number of laps.
    package let laps: Int
    /// Whether every row had a turn in each lap.
    package let isComplete: Bool
    /// One cell for each row, in the order of the table.
    package let cells: [Cell]

    package init(host: Int = 0, disturbances: [String] = [], laps: Int, isComplete: Bool = true, cells: [Cell]) {
        self.host = host
        self.disturbances = disturbances
        self.laps = laps
        self.isComplete = isComplete
        self.cells = cells
    }

    private enum CodingKeys: String, CodingKey {
        case host
        case disturbances
        case laps
        case isComplete = "complete"
        case cells
    }

    /// The cell of a row; nil if the round does not have the row.
    package subscript(key: RowKey) -> Cell? { cells.first { $0.key == key } }
}

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
