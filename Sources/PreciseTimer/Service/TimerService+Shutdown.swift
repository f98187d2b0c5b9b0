internal import TimerKernel

/// Ending services.
extension TimerService {
    /// Ends all timers of your own service, and its thread. Other timers that were due together with the running
    /// handler do not tick.
    ///
    /// May be called more than once, and from a handler. Does not wait for a handler that is running on another
    /// thread. Afterwards, scheduling on the service throws a `TimerError`. O(n) for n timers.
    ///
    /// The shared services (``default``, ``timerFD`` and the others) also have the timers of all other code in the
    /// process. So this call does nothing to a shared service, returns false, and in a debug build says so on standard
    /// error. To end your timers there, hold them in a ``TimerBag``. See also ``shutdownForEveryone()``.
    ///
    /// - Parameters:
    ///   - file: the file that a debug build names.
    ///   - line: the line that a debug build names.
    /// - Returns: whether this call ended the service.
    @discardableResult public func shutdown(file: StaticString = #fileID, line: UInt = #line) -> Bool {
        if !isShared { return core.shutdown() }
        #if DEBUG
        StandardError.writeLine(
            "PreciseTimer: \(file):\(line): a shared service was not shut down, because that would end the timers of "
                + "all code in the process; hold your timers in a TimerBag, or call shutdownForEveryone()"
        )
        #endif
        return false
    }

    /// Ends your own service, and waits for handlers that are running on other threads or in other tasks.
    ///
    /// Otherwise like ``shutdown(file:line:)``. It waits also if another call ended the service, for handlers of timers
    /// that ended before, and even if the task is cancelled. The call that ended the service returns after the
    /// `onEnd` of each timer that it ended. If it is called from inside a handler, it does not wait for that handler.
    ///
    /// - Parameters:
    ///   - file: the file that a debug build names.
    ///   - line: the line that a debug build names.
    /// - Returns: whether this call ended the service.
    @discardableResult public func shutdownAndWait(file: StaticString = #fileID, line: UInt = #line) async -> Bool {
        // Without a limit, nothing is thrown.
        (try? await shutdownAndWait(lastTick: false, file: file, line: line)) ?? false
    }

    /// Ends all timers of a service, also of a shared one: the timers of all code in the process, whichever part
    /// scheduled them. Each ends with ``PreciseTimer/EndReason/serviceShutDown``.
    ///
    /// The next schedule starts a shared service again. Otherwise like ``shutdown(file:line:)``. For programs that end
    /// all their work at once; libraries should not call it.
    ///
    /// - Returns: whether this call ended the service.
    @discardableResult public func shutdownForEveryone() -> Bool { core.shutdown() }
}
