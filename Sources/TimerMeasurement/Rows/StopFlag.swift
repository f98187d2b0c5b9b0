internal import Synchronization

/// Tells whoever ticks or works, on any thread, that it is to end.
package final class StopFlag: Sendable {
    private let flag = Atomic(false)

    package init() {}

    /// Whether it is to end.
    package var isSet: Bool { flag.load(ordering: .acquiring) }

    /// Has it end.
    package func set() { flag.store(true, ordering: .releasing) }
}
