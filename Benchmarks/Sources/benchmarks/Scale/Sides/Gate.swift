import Dispatch
import Synchronization

/// Holds a thread until `open`, and records the instant at which the thread continued.
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
