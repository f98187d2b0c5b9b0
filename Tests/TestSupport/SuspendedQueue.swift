package import Dispatch

/// A serial queue that is suspended until a test runs it.
package final class SuspendedQueue: Sendable {
    package let queue = DispatchQueue(label: "test.queue")

    package init() { queue.suspend() }

    /// Runs the blocks that are in the queue, and leaves the queue running. Call it once.
    package func letRun() {
        queue.resume()
        queue.sync {}
    }
}
