internal import TimerAlarms
@_spi(Engine) internal import TimerCore

/// A timer that runs on time, and the handle by which it is controlled.
///
/// A timer never retains its target. It comes in four forms:
///
/// - **with a target**, it lives until the target is gone or it is cancelled, and the handle may be dropped;
/// - **with an actor as the target**, the same, and the handler runs isolated to the actor;
/// - **with a handler of the main actor**, `{ @MainActor target, tick in … }`, or of another global actor, the same, and
///   the handler runs there;
/// - **without**, the handle is the target: keep it, for when it is dropped the timer ends.
///
/// ```swift
/// try PreciseTimer.schedule(.every(.milliseconds(10)), target: controller) { controller, tick in
///     controller.step(missed: tick.missed)
/// }
/// ```
///
/// All members may be used from any thread, and from inside a handler. They take O(log n) time for n timers on the
/// service, and none of them delivers anything itself: what becomes due by it comes with the service's next look.
public final class PreciseTimer: Sendable {
    let record: TimerRecord
    let core: ServiceCore

    init(_ record: TimerRecord, of core: ServiceCore) {
        self.record = record
        self.core = core
    }

    deinit { if record.handleIsTarget { core.handleReleased(record) } }

    // MARK: Control

    /// Ends the timer. Returns true to the one call that ended it.
    ///
    /// After it has returned on the thread that delivers, no tick starts any more, not even one that was due at the same
    /// instant; called from another thread, at most the handler that is already running finishes. What the handler had
    /// captured is released before this returns, or when the running handler returns. Never blocks on a handler.
    @discardableResult
    public func cancel() -> Bool { core.end(record, .cancelled) }

    /// Holds back all ticks until ``resume()``, while the grid runs on. Returns false where the timer was paused already
    /// or has ended.
    ///
    /// As with ``cancel()``, at most a handler that is already running on another thread finishes. A paused timer ends
    /// within seconds if its target is released.
    @discardableResult
    public func pause() -> Bool { core.pause(record) }

    /// Lets a paused timer go on. Returns false where it was not paused.
    ///
    /// Deadlines that passed while it was paused are treated as by a late look: the missed-tick policy applies, at once.
    @discardableResult
    public func resume() -> Bool { core.resume(record) }

    /// Gives the timer another schedule, counted from now, whose deadlines are numbered from 0 again. A paused timer
    /// stays paused.
    ///
    /// After it has returned no tick of the old schedule starts, not even one that is on its way to a queue. In the
    /// handler of a last tick it makes the timer go on. To postpone a timer that is not due costs no system call. A timer
    /// that is rescheduled to ``Schedule/onDemand`` rests.
    ///
    /// - Throws: `TimerError` for a schedule that makes no sense, which leaves the timer as it was, and for a timer that
    ///   has ended.
    public func reschedule(_ schedule: Schedule) throws(TimerError) { try core.reschedule(record, schedule) }

    /// Asks for one extra tick, as soon as possible and through the normal path; the grid does not move. Returns false
    /// where the timer has ended.
    ///
    /// The extra tick has the instant of this call as its deadline, the index of the next deadline, and no `missed`.
    /// Calls made before it has begun are one. A paused timer has it when it is resumed.
    @discardableResult
    public func fire() -> Bool { core.fire(record) }

    // MARK: State

    /// The name given to the timer, for whoever looks at ``TimerService/activeTimers``.
    public var label: String? { core.label(of: record) }

    /// Whether the timer is still to tick, or how it ended. Notices a target that is gone: then the timer ends by this, and
    /// `onEnd` is heard on the calling thread.
    public var state: State { core.currentState(of: record) }

    /// The deadline of the next tick; nil if no tick remains, if the timer rests until it is rescheduled, or if the running
    /// handler decides it. Of a paused or late timer it may have passed.
    public var nextDeadline: TimerInstant? { core.nextDeadline(of: record) }

    /// The nominal duration between two deadlines; nil for a single one, and for a timer that waits for a reschedule. Of a
    /// fixed delay, that delay. A rate's is cut off to whole attoseconds, while its deadlines are exact.
    public var period: Duration? { core.period(of: record) }
}
