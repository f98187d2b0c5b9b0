internal import Dispatch
@_spi(Engine) internal import TimerCore

/// Ending a timer and waiting for its handler.
extension PreciseTimer {
    /// Ends the timer, and waits for a handler that is running. Returns true for the one call that ended it.
    ///
    /// After it returns, no handler of the timer runs or will run. Called from inside the handler, or from the
    /// `deinit` of a target that dies with the delivery, it returns at once. It blocks the calling thread while the
    /// handler runs: do not hold a lock that the handler waits for, and do not let two handlers wait for each other.
    @available(*, noasync, message: "use the async form, which does not block the thread")
    @discardableResult
    public func cancelAndWait() -> Bool {
        let returned = DispatchSemaphore(value: 0)
        let (isEnding, mustWait) = core.end(record, .cancelled) { returned.signal() }
        if mustWait { returned.wait() }
        return isEnding
    }

    /// Ends the timer, and waits for a handler that is running. Returns true for the one call that ended it.
    ///
    /// Like the blocking form, but without blocking a thread. It waits even if the task is cancelled. A task that was
    /// created inside the handler counts as inside while that handler runs.
    @discardableResult
    public func cancelAndWait() async -> Bool {
        var isEnding = false
        await withCheckedContinuation { continuation in
            let mustWait: Bool
            (isEnding, mustWait) = core.end(record, .cancelled) { continuation.resume() }
            if !mustWait { continuation.resume() }
        }
        return isEnding
    }
}
