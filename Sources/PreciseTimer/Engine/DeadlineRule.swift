/// A function that computes each deadline of a timer from the former one. Two rules are equal if they are the same.
final class DeadlineRule: Equatable, Sendable {
    /// The name of the schedule, for messages.
    let name: String
    /// The clock that the deadlines are on; nil for that of any service.
    private let clock: TimerClock?
    /// What to do if there is no deadline at all.
    private let hint: String
    private let compute: @Sendable (TimerInstant) -> TimerInstant?

    init(
        _ name: String,
        on clock: TimerClock?,
        hint: String,
        _ compute: @escaping @Sendable (TimerInstant) -> TimerInstant?
    ) {
        (self.name, self.clock, self.hint, self.compute) = (name, clock, hint, compute)
    }

    /// The first deadline after an instant, in nanoseconds on its clock; nil if there is none. Calls the user's code.
    func next(after instant: UInt64, on clock: TimerClock) -> UInt64? {
        let next = compute(TimerInstant(nanoseconds: instant, clock: clock))
        guard let next, next.clock == clock, next.nanoseconds > instant, !next.isNever else { return nil }
        return next.nanoseconds
    }

    /// The first deadline of a timer.
    ///
    /// - Throws: `TimerError` if there is none, or if the service has another clock than the rule.
    func first(after now: TimerInstant) throws(TimerError) -> UInt64 {
        if let clock, clock != now.clock {
            throw PreciseTimer.Schedule.refusal("\(name) on a service of the \(now.clock) clock (\(clock.remedy))")
        }
        if let first = next(after: now.nanoseconds, on: now.clock) { return first }
        throw PreciseTimer.Schedule.refusal("\(name), which has no deadline from now on (\(hint))")
    }

    static func == (left: DeadlineRule, right: DeadlineRule) -> Bool { left === right }
}

extension PreciseTimer.Schedule {
    /// Deadlines that a function computes, each from the former one, for times without a fixed period, such as those
    /// of a calendar.
    ///
    /// ```swift
    /// let start = service.now                                                      // 1, 2, 4, 8 s after the start
    /// let doubling = PreciseTimer.Schedule.computed("doubling") { instant in
    ///     instant.advanced(by: max(.seconds(1), start.duration(to: instant)))
    /// }
    /// ```
    ///
    /// The function is called without any lock: by the call that schedules the timer, with the present instant, and
    /// before each handler, on its thread, once for each deadline that has passed and once for the next one. On the
    /// wall clock it is also called again, on a thread of the library, after each step of the clock and about once a
    /// minute, and a changed answer replaces the deadline; not on a Mac (``TimerService/clockSteps``). Return quickly.
    /// Some limits:
    ///
    /// - One tick counts at most 10,000 missed deadlines, however many have passed.
    /// - A wall clock that was set back by up to a minute repeats no deadline. If it was set back further, the
    ///   deadlines that come again tick again.
    /// - ``PreciseTimer/reschedule(_:)`` accepts such a schedule only for a timer that began with one.
    ///
    /// Under ``PreciseTimer/MissedTickPolicy/delay``, late ticks are merged as under
    /// ``PreciseTimer/MissedTickPolicy/skip``: there is no grid that could be moved. Schedules are equal if they
    /// are copies of the same value.
    ///
    /// - Parameters:
    ///   - name: what messages and descriptions call it.
    ///   - clock: the clock of the deadlines; nil for the clock of any service.
    ///   - hint: what to do if the function has no deadline at all, for the error.
    ///   - next: the first deadline after an instant of the service's clock; nil if there is none. An instant that is
    ///     not later, or is of another clock, counts as nil. The timer ends after its last deadline.
    /// - Returns: the schedule.
    public static func computed(
        _ name: String = "computed",
        on clock: TimerClock? = nil,
        hint: String = "let the function return an instant after the one that it gets, on the same clock",
        _ next: @escaping @Sendable (_ after: TimerInstant) -> TimerInstant?
    ) -> Self {
        Self(start: .never, repetition: .none, rule: DeadlineRule(name, on: clock, hint: hint, next))
    }

    static func refusal(_ what: String) -> TimerError { TimerError(.invalidSchedule, "scheduling \(what)") }
}

extension TimerClock {
    /// The service to use for an instant of this clock. A timer that is rescheduled keeps the clock of its service.
    var remedy: String {
        switch self {
        case .wall: "schedule a timer `on: .wall`, the shared service of the wall clock"
        case .suspending: "schedule a timer without `on:`, or on a service of the suspending clock"
        case .continuous: "schedule a timer on a service of that clock: `TimerService(.timerFD, clock: .continuous)`"
        }
    }
}

/// The deadlines of one timer whose rule computes them. The timer's record has one of them at a time, as a single
/// deadline. The service's lock protects it.
struct DeadlineChain {
    let rule: DeadlineRule
    /// The record's deadline; `.max` after the last one, and while the next one is being computed.
    var deadline: UInt64
    /// The number of this deadline.
    var index: UInt64 = 0
    /// The latest deadline that had a tick.
    var served: UInt64 = 0
    /// How many late deadlines have had consecutive ticks.
    var burst = 0

    /// How many missed deadlines are counted, at most: the clock of a machine may start in 1970.
    static var mostMissed: UInt64 { 10_000 }
    /// A clock that is set back by up to this many nanoseconds repeats no deadline.
    private static var smallStep: UInt64 { 60_000_000_000 }

    init(_ rule: DeadlineRule, deadline: UInt64) { (self.rule, self.deadline) = (rule, deadline) }

    /// The instant after which the next deadline is computed anew, at a new time.
    func origin(at now: UInt64) -> UInt64 { served > now && served - now <= Self.smallStep ? served : now }

    /// The next deadline of a tick, and how many later ones have passed as well. If the timer catches up, a late
    /// deadline may be the next one.
    func following(at now: UInt64, on clock: TimerClock, _ policy: LatePolicy) -> (next: UInt64?, missed: UInt64) {
        var (next, missed) = (rule.next(after: served, on: clock), UInt64(0))
        if burst + 1 < policy.limit { return (next, missed) }
        while let late = next, late <= now {
            missed += 1
            next = rule.next(after: missed < Self.mostMissed ? late : now, on: clock)
        }
        return (next, missed)
    }
}
