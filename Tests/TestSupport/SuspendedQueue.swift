package import Dispatch

/// A serial queue that stands still until it is told to run.
package final class SuspendedQueue: Sendable {
    package let queue = DispatchQueue(label: "test.queue")

    package init() { queue.suspend() }

    /// Runs what has been put into the queue so far, and lets it go on. To be called once.
    package func letRun() {
        queue.resume()
        queue.sync {}
    }
}
