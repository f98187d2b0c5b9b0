internal import Synchronization

/// Tells whoever ticks or works, on any thread, that it is to end.
final class StopFlag: Sendable {
    private let flag = Atomic(false)

    /// Whether it is to end.
    var isSet: Bool { flag.load(ordering: .acquiring) }

    /// Has it end.
    func set() { flag.store(true, ordering: .releasing) }
}
