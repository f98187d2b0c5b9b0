internal import Synchronization

/// Tells a thread or a timer to end.
package final class StopFlag: Sendable {
    private let flag = Atomic(false)

    package init() {}

    package var isSet: Bool { flag.load(ordering: .acquiring) }

    package func set() { flag.store(true, ordering: .releasing) }
}
