internal import Dispatch
internal import TimerKernel

/// One caller's wait until any number of timers are over.
///
/// A timer counts from ``expectEnd()`` until ``timerIsOver()``. The caller's own wait begins after all of its
/// timers were counted.
final class HandlerWait: Sendable {
    private struct State {
        /// How many timers have a handler that has not returned, or a last tick that has not come.
        var pending = 0
        /// Lets the caller go on, while it waits. Tells whether all timers are over.
        var resume: (@Sendable (Bool) -> Void)?
    }

    private let state = Lock(State())

    /// Counts one more timer.
    func expectEnd() { state.withLock { $0.pending += 1 } }

    /// A timer was finalized. Called without a lock.
    func timerIsOver() {
        let resume: (@Sendable (Bool) -> Void)? = state.withLock(inForkedChild: nil) { state in
            state.pending -= 1
            return state.pending == 0 ? state.resume.take() : nil
        }
        resume?(true)
    }

    /// Whether there is a timer to wait for.
    var isNeeded: Bool { state.withLock { $0.pending > 0 } }

    /// Waits for all timers. Blocks the thread.
    func blockUntilOver() {
        let semaphore = DispatchSemaphore(value: 0)
        if begins({ _ in semaphore.signal() }) { semaphore.wait() }
    }

    /// Waits for all timers, up to `limit` of real time; nil for as long as it takes. Returns false on time-out.
    @discardableResult func untilOver(within limit: Duration? = nil) async -> Bool {
        var timeOut: (any DispatchSourceTimer)?
        // A cancelled source is released at once. A block for later would stay until its time.
        defer { timeOut?.cancel() }
        return await withCheckedContinuation { continuation in
            guard begins({ continuation.resume(returning: $0) }) else { return continuation.resume(returning: true) }
            timeOut = limit.map { limit in DispatchSource.timer(after: limit) { [self] in giveUp() } }
        }
    }

    /// Begins the caller's wait. Returns false if there is nothing to wait for.
    private func begins(_ resume: @escaping @Sendable (Bool) -> Void) -> Bool {
        state.withLock { state in
            if state.pending > 0 { state.resume = resume }
            return state.pending > 0
        }
    }

    private func giveUp() { state.withLock { $0.resume.take() }?(false) }
}

extension DispatchSource {
    /// Calls a function once when a real time has passed.
    fileprivate static func timer(
        after time: Duration,
        _ onTime: @escaping @Sendable () -> Void
    ) -> any DispatchSourceTimer {
        let source = makeTimerSource(queue: .global())
        let nanoseconds = Int(clamping: max(.zero, time).nanosecondsOrForever)
        source.schedule(deadline: .now() + .nanoseconds(nanoseconds))
        source.setEventHandler { onTime() }
        source.activate()
        return source
    }
}
