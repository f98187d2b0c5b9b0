/// The place where handlers run.
package enum HandlerPlace: String, CaseIterable, Hashable, Sendable {
    /// On the alarm's thread.
    case inline
    /// On a serial Dispatch queue.
    case queue
    /// On the main queue. The main thread does nothing else.
    case main
}
