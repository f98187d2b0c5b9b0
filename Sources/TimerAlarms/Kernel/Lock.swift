/// A ``Mutex`` around the state that it protects.
///
/// Why this is `@unchecked Sendable`: `state` is touched in `withLock` only, between taking and giving back the mutex. So no
/// access races, and only values that the region checker lets pass (`sending`) enter or leave.
@safe
package final class Lock<State>: @unchecked Sendable {
    private let mutex = Mutex()
    private var state: State

    package init(_ state: sending State) { self.state = state }

    /// Whether this is a forked child of the process that made the lock.
    package var isOfAnotherProcess: Bool { mutex.isOfAnotherProcess }

    /// Runs `body` on the state while no other thread does. Nothing of a user's may be called or released inside.
    package func withLock<Result, Failure: Error>(
        _ body: (inout sending State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        mutex.acquire()
        defer { mutex.release() }
        return try body(&state)
    }

    /// The same, or a value to answer with in a forked child, where the state cannot be reached.
    package func withLock<Result, Failure: Error>(
        inForkedChild answer: @autoclosure () throws(Failure) -> sending Result,
        _ body: (inout sending State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        isOfAnotherProcess ? try answer() : try withLock(body)
    }
}
