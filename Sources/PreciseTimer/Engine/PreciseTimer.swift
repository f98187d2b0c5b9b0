internal import Dispatch
internal import TimerAlarms
internal import TimerKernel

/// A timer that runs on time, and the handle that controls it.
///
/// A timer never retains its target. It comes in four forms:
///
/// - **with a target**: it lives until the target is released or the timer is cancelled, and you may drop the handle;
/// - **with an actor as the target**: the same, and the handler runs isolated to the actor;
/// - **with a handler isolated to the main actor**, `{ @MainActor target, tick in … }`, or to another global actor:
///   the same, and the handler runs on that actor;
/// - **without a target**: the handle is the target. Keep it: the timer ends when the handle is released.
///
/// ```swift
/// try PreciseTimer.schedule(.every(.milliseconds(10)), target: controller) { controller, tick in
///     controller.step(missed: tick.missed)
/// }
/// ```
///
/// All members may be used from any thread, and from inside a handler. They take O(log n) time for n timers on the
/// service. They never deliver a tick themselves: a tick that a call makes due comes with the service's next look.
public final class PreciseTimer: Sendable {
    let record: Record
    let core: ServiceCore

    init(_ record: Record, of core: ServiceCore) {
        self.record = record
        self.core = core
    }

    deinit { if record.user.handleIsTarget { core.handleReleased(record) } }

    // MARK: Control

    /// Ends the timer. Returns true for the one call that ended it.
    ///
    /// After it returns on the thread that delivers, no further tick starts, not even one that was due at the same
    /// instant. If it is called from another thread, at most the handler that is already running finishes. What the
    /// handler captured is released before this call returns or, if the handler is running, when the handler returns.
    /// Never waits for a handler.
    @discardableResult
    public func cancel() -> Bool { core.end(record, .cancelled) }

    /// Holds back all ticks until ``resume()``, while the grid runs on. Returns false if the timer is already
    /// paused or has ended.
    ///
    /// As with ``cancel()``, at most a handler that is already running on another thread finishes. A paused timer ends
    /// within seconds if its target is released.
    @discardableResult
    public func pause() -> Bool { core.pause(record) }

    /// Lets a paused timer tick again. Returns false if it is not paused or has ended.
    ///
    /// Deadlines that passed during the pause are handled at once by the missed-tick policy.
    @discardableResult
    public func resume() -> Bool { core.resume(record) }

    /// Gives the timer another schedule, counted from now. The numbers of its deadlines start at 0 again. A paused
    /// timer stays paused.
    ///
    /// After it returns, no tick of the old schedule starts, not even one that is on its way to a queue. Called in
    /// the handler of the last tick, it makes the timer go on. Postponing a timer that is not yet due makes no system
    /// call. A timer that is rescheduled to ``Schedule/onDemand`` rests.
    ///
    /// A timer takes computed deadlines, such as those of a calendar, only if it was scheduled with such.
    ///
    /// - Throws: `TimerError` if the schedule makes no sense, which leaves the timer as it was, or if the
    ///   timer has ended.
    public func reschedule(_ schedule: Schedule) throws(TimerError) { try core.reschedule(record, schedule) }

    /// Asks for one extra tick, as soon as possible and through the normal path. The grid does not move. Returns
    /// false if the timer has ended.
    ///
    /// The extra tick has the instant of this call as its deadline, the index of the next deadline, and a `missed` of
    /// 0. Calls made before it begins collapse into one extra tick, at the earliest of their instants. A paused timer
    /// delivers it after ``resume()``. A ``reschedule(_:)`` that comes first withdraws it.
    @discardableResult
    public func fire() -> Bool { core.fire(record) }

    // MARK: State

    /// The name given to the timer, which ``TimerService/activeTimers`` shows.
    public var label: String? { core.label(of: record) }

    /// Whether the timer is scheduled or paused, or how it ended. If the target has been released, reading this ends
    /// the timer and calls `onEnd` on the calling thread.
    public var state: State { core.currentState(of: record) }

    /// The deadline of the next tick; nil if no tick remains, if the timer rests until it is rescheduled, or if the
    /// running handler decides it. The deadline of a paused or late timer may have passed already.
    public var nextDeadline: TimerInstant? { core.nextDeadline(of: record) }

    /// The nominal duration between two deadlines; nil for a single deadline, after the last tick of a schedule with a
    /// count, and for a timer that waits for a reschedule. For a fixed delay, that delay. For a rate it is truncated to
    /// whole attoseconds, while the deadlines are exact.
    public var period: Duration? { core.period(of: record) }
}

extension PreciseTimer {
    /// Whether a timer is scheduled, paused or ended.
    @nonexhaustive
    public enum State: Hashable, Sendable {
        /// It will tick again, or it rests until it is rescheduled (``PreciseTimer/Schedule/onDemand``).
        case scheduled
        /// Its ticks are held back until ``PreciseTimer/resume()``.
        case paused
        /// It will never tick again.
        case ended(EndReason)
    }

    /// Why a timer ended. Every timer ends once, for one reason.
    @nonexhaustive
    public enum EndReason: Hashable, Sendable {
        /// Its last deadline has been delivered. A timer on demand never ends like this.
        case completed
        /// ``PreciseTimer/cancel()`` was called.
        case cancelled
        /// Its target was released.
        case targetReleased
        /// It had no target, and its handle was released.
        case handleReleased
        /// Its service was shut down.
        case serviceShutDown
        /// Its backend stopped working.
        case backendFailed(TimerError)
    }
}

/// Ending a timer and waiting for its handler.
extension PreciseTimer {
    /// Ends the timer, and waits for a handler that is running. Returns true for the one call that ended it.
    ///
    /// After it returns, no handler of the timer runs or will run. The call that ended the timer returns after the
    /// handler's captures were released and `onEnd` was called. Called from inside the handler, or from the `deinit` of
    /// a target that dies with the delivery, it returns at once. It blocks the calling thread while the handler runs:
    /// do not hold a lock that the handler waits for, and do not let two handlers wait for each other.
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
