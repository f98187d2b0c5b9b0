/// A ``Mutex`` around the state that it protects.
///
/// It is `@unchecked Sendable` because only `withLock` touches `state`, while it holds the mutex. So no access
/// races, and only values that the region checker lets pass (`sending`) enter or leave.
@safe
package final class Lock<State>: @unchecked Sendable {
    private let mutex = Mutex()
    private var state: State

    package init(_ state: sending State) { self.state = state }

    /// Whether this is a forked child of the process that made the lock.
    package var isOfAnotherProcess: Bool { mutex.isOfAnotherProcess }

    /// Runs `body` on the state while no other thread does. No code of the user may run inside, and no object of the
    /// user may be released.
    package func withLock<Result, Failure: Error>(
        _ body: (inout sending State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        mutex.acquire()
        defer { mutex.release() }
        return try body(&state)
    }

    /// Runs `body` on the state. In a forked child, which cannot reach the state, returns `answer` instead.
    package func withLock<Result, Failure: Error>(
        inForkedChild answer: @autoclosure () throws(Failure) -> sending Result,
        _ body: (inout sending State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        isOfAnotherProcess ? try answer() : try withLock(body)
    }
}
