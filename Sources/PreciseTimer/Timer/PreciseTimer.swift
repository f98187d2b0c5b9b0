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
/// service. They never deliver a tick themselves: a tick that a call makes due comes with the service's next round,
/// which is the next firing of its alarm.
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
    @discardableResult public func cancel() -> Bool { core.end(record, .cancelled) }

    /// Holds back all ticks until ``resume()``.
    ///
    /// As with ``cancel()``, at most a handler that is already running on another thread finishes. A paused timer ends
    /// within about four seconds if its target is released, or later if its service has more than 100,000 timers.
    ///
    /// The time to the next deadline stands still, as on a stopwatch: a timer that was paused 200 ms before its
    /// deadline ticks 200 ms after it is resumed, and all later deadlines are later by the length of the pause, too,
    /// also those that were given as instants. Only computed deadlines, such as those of a calendar, are never moved.
    ///
    /// - Parameter kept: what the pause keeps. With ``PauseKeeping/grid``, deadlines stay where they are, and those
    ///   that pass are late when the timer is resumed: for ticks that must stay on whole seconds, or in step with
    ///   others.
    /// - Returns: whether this call paused it; false if it is already paused, has ended or was finished.
    @discardableResult
    public func pause(keeping kept: PauseKeeping = .remaining) -> Bool { core.pause(record, keeping: kept) }

    /// Lets a paused timer tick again. Returns false if it is not paused or has ended.
    ///
    /// All deadlines are later by the length of the pause. If the pause kept the grid, or the deadlines are computed,
    /// those that have passed are late, and the missed-tick policy handles them at once.
    @discardableResult public func resume() -> Bool { core.resume(record) }

    /// Restarts the current schedule: the next deadline is a whole delay or period from now; for
    /// `.every(period, after: delay)`, the period. The numbers of the deadlines, a `count` and a `for:` start again; an
    /// alignment or a spread is not kept. A paused timer stays paused.
    ///
    /// For a time-out: `timeout.restart()` postpones it by its own length, and throws nothing. Returns false if the
    /// timer has ended or was finished, or if its schedule is an instant, an unset `.onDemand`, or computed.
    /// Otherwise like ``reschedule(_:)``.
    @discardableResult public func restart() -> Bool { core.restart(record) }

    /// Gives the timer another schedule, counted from now. The numbers of its deadlines start at 0 again. A paused
    /// timer stays paused. The new schedule begins with ``resume()``; if the pause keeps the grid, or the previous
    /// deadlines were computed, it begins now, and deadlines that pass are late.
    ///
    /// After it returns, no tick of the old schedule starts, not even one that is on its way to a queue. Called in the
    /// handler of the last tick of a count, it makes the timer go on; after ``finish(within:)`` it throws. Postponing a
    /// timer that is not yet due makes no system call. A timer that is rescheduled to ``Schedule/onDemand`` rests.
    ///
    /// A new period counts from now, too: a timer that gets one more often than the period is long never ticks. Keep
    /// the phase instead: ``reschedule(_:keeping:)``. That is also the way for a handler that changes its own period:
    /// each reschedule to `.every(p, at: tick.deadline.advanced(by: p))`, or to `.once(at:)` that instant, restarts the
    /// count, so deadlines that a late tick has counted as missed are counted again, or tick.
    ///
    /// A timer takes computed deadlines, such as those of a calendar, only if it was scheduled with such.
    ///
    /// - Throws: `TimerError` if the schedule makes no sense, which leaves the timer as it was, or if the
    ///   timer has ended.
    public func reschedule(_ schedule: Schedule) throws(TimerError) {
        if let rule = schedule.rule { return try core.reschedule(record, by: rule) }
        try core.reschedule(record, schedule.resolved(on: core.clock))
    }

    /// Gives the timer another period or rate from its next deadline on, which stays where it is, and keeps its number:
    /// `reschedule(.rate(96, per: .seconds(1)), keeping: .phase)`, for a tempo that may change at any time.
    ///
    /// If a whole new step from now ends before that deadline, the deadline moves to its end. So a rate that rises from
    /// one a minute to a thousand a second does not wait out the minute. A count, a `for:` and a jitter of the previous
    /// schedule end with it. If no deadline is known, as after the last one, this is the same as ``reschedule(_:)``.
    ///
    /// - Throws: `TimerError` if the schedule is not `.every(period)` or `.rate(number, per: duration)`, with or
    ///   without a count, or if the current deadlines are computed; the timer stays as it was. Also if the timer has
    ///   ended.
    public func reschedule(_ schedule: Schedule, keeping kept: PhaseKeeping) throws(TimerError) {
        let resolved = try schedule.resolved(on: core.clock)
        let isComputed = core.read(record) { _ in record.takesOrders && record.timing.isComputed } ?? false
        if !schedule.isPeriodOnly || isComputed {
            let advice = "only `.every(period)` and `.rate(number, per: duration)` have a phase"
            throw .refusedSchedule("\(schedule) in the phase of another schedule (\(advice))")
        }
        try core.reschedule(record, resolved, keepsPhase: true)
    }

    /// Asks for one extra tick, as soon as possible and through the normal path. The grid does not move. Returns false
    /// if the timer has ended, or if ``finish(within:)`` or ``TimerBag/finishAll(within:)`` has asked for its last
    /// tick.
    ///
    /// The extra tick has the instant of this call as its deadline, the index of the next deadline, and a `missed` of
    /// 0. Calls made before it begins collapse into one extra tick, at the earliest of their instants. A paused timer
    /// delivers it after ``resume()``. A ``reschedule(_:)`` that comes first withdraws it, and so does ``cancel()``:
    /// ``finish(within:)`` waits for it. ``Tick/isExtra`` tells it from the others.
    @discardableResult public func fire() -> Bool { core.fire(record) }

    // MARK: State

    /// The name given to the timer, which ``TimerService/activeTimers`` shows.
    public var label: String? { core.locked(inForkedChild: nil) { _ in record.label } }

    /// Whether the timer is scheduled or paused, or how it ended. A released target is an end, also if the service has
    /// not found it yet, and so has not called `onEnd`.
    public var state: State { core.currentState(of: record) }

    /// The deadline of the next tick; nil if no tick remains, if the timer rests until it is rescheduled, or if the
    /// running handler decides it. The deadline of a paused or late timer may have passed already. Nil, too, while a
    /// pause keeps the remaining time.
    public var nextDeadline: TimerInstant? {
        core.read(record) { _ in record.timing.knownDeadline }.flatMap(core.instant)
    }

    /// The time to the next deadline, zero if it has passed. It stands still while a pause keeps it, even if an extra
    /// tick is requested during the pause. Nil if no tick remains, if the timer rests until it is rescheduled, or if
    /// the running handler decides it.
    public var remaining: Duration? {
        core.read(record) { $0.now.flatMap { record.timing.remaining(at: $0.nanoseconds) } }
            .map(Duration.init(wholeNanoseconds:))
    }

    /// The nominal duration between two deadlines; nil for a single deadline, after the last tick of a schedule with a
    /// count, and for a timer that waits for a reschedule. For a fixed delay, that delay. For a rate it is truncated to
    /// whole attoseconds, while the deadlines are exact.
    public var period: Duration? { core.read(record) { _ in record.nominalPeriod } }
}

extension PreciseTimer {
    /// What a pause keeps.
    public enum PauseKeeping: Sendable {
        /// The time that remains to the next deadline: nothing passes during the pause.
        case remaining
        /// The deadlines: those that pass during the pause are late when the timer is resumed.
        case grid
    }

    /// What a change of the period keeps.
    public enum PhaseKeeping: Sendable {
        /// The next deadline, from which the new period counts.
        case phase
    }

    /// Whether a timer is scheduled, paused or ended.
    @nonexhaustive public enum State: Equatable, Sendable {
        /// It will tick again, or it rests until it is rescheduled (``PreciseTimer/Schedule/onDemand``).
        case scheduled
        /// Its ticks are held back until ``PreciseTimer/resume()``.
        case paused
        /// It will never tick again.
        case ended(EndReason)
    }

    /// Why a timer ended. Every timer ends once, for one reason.
    @nonexhaustive public enum EndReason: Sendable {
        /// Its last tick was delivered. A timer on demand ends like this only after ``PreciseTimer/finish(within:)``.
        case completed
        /// ``PreciseTimer/cancel()`` was called.
        case cancelled
        /// Its target was released.
        case targetReleased
        /// It had no target, and its handle was released.
        case handleReleased
        /// Its service was shut down.
        case serviceShutDown
        /// Its handler threw this error, and no `onError` took it.
        case failed(any Error)
        /// Its backend stopped working.
        case backendFailed(TimerError)
    }
}

extension PreciseTimer.EndReason: Equatable {
    /// Whether two reasons read the same: an error need not be comparable.
    public static func == (left: Self, right: Self) -> Bool { left.description == right.description }
}
