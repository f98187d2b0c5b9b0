import Dispatch
import Synchronization

/// Holds a thread until it is opened, and knows when the thread went on.
final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let instant = Atomic<UInt64>(0)

    var passed: UInt64 { instant.load(ordering: .relaxed) }

    func pass() {
        semaphore.wait()
        instant.store(Clock.now(), ordering: .relaxed)
    }

    func open() { semaphore.signal() }
}
