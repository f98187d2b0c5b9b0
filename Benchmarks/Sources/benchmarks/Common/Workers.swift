import Dispatch
import Foundation
import Synchronization

/// Threads that repeat an operation until they are stopped.
final class Workers: Sendable {
    private let isStopped = Atomic(false)
    private let group = DispatchGroup()
    private let total = Atomic(0)
    private let start = Clock.now()

    /// Starts threads. Each makes its own body, which does one operation.
    init(_ threads: Int, _ makeBody: @escaping @Sendable () -> () -> Void) {
        for _ in 0..<threads {
            group.enter()
            Thread.detachNewThread { [self] in
                let body = makeBody()
                var count = 0
                while !isStopped.load(ordering: .relaxed) {
                    body()
                    count += 1
                }
                total.add(count, ordering: .relaxed)
                group.leave()
            }
        }
    }

    /// Stops the threads, then lets `settle` wait for unfinished work. Returns the operations per second of the whole
    /// time.
    func stop(_ settle: () -> Void = {}) -> Double {
        isStopped.store(true, ordering: .relaxed)
        group.wait()
        settle()
        return Double(total.load(ordering: .relaxed)) * 1e9 / Double(Clock.now() - start)
    }
}
