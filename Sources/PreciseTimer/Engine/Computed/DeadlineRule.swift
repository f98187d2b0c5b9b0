internal import TimerKernel

/// How the deadlines of a schedule are computed, for any number of timers.
package final class ScheduleRule: Sendable {
    /// Computes the first deadline after an instant; nil if there is none.
    package typealias Next = @Sendable (_ after: TimerInstant) -> TimerInstant?
    /// Makes the function of a timer that is scheduled now, and says how many ticks it has; `.max` for no limit. What
    /// is left to chance follows from the seed; without one, nothing is left to chance.
    package typealias Make = @Sendable (_ now: TimerInstant, _ seed: UInt64?) throws(TimerError) -> (Next, UInt64)

    /// What messages and descriptions call the schedule.
    let name: @Sendable () -> String
    /// The clock that the deadlines are on; nil for that of any service.
    private let clock: TimerClock?
    /// What to do if there is no deadline at all.
    private let hint: String
    private let make: Make

    package init(_ name: @escaping @Sendable () -> String, on clock: TimerClock?, hint: String, _ make: @escaping Make)
    {
        (self.name, self.clock, self.hint, self.make) = (name, clock, hint, make)
    }

    /// The rule of one timer, and the schedule that begins with its first deadline.
    ///
    /// - Parameters:
    ///   - now: the current instant.
    ///   - seed: determines what is left to chance.
    ///   - latest: the latest deadline of the timer's previous rule that had a tick or was missed; 0 if there is none.
    /// - Returns: the function that computes the deadlines, and a schedule that begins with the first of them.
    /// - Throws: `TimerError` if there is no deadline, or if the service has another clock than the rule.
    package func begin(
        at now: TimerInstant,
        seed: UInt64?,
        after latest: UInt64 = 0
    ) throws(TimerError) -> (DeadlineRule, ResolvedSchedule) {
        if let clock, clock != now.clock {
            throw .refusedSchedule("\(name()) on a service of the \(now.clock) clock (\(clock.remedy))")
        }
        let (next, count) = try make(now, seed)
        let rule = DeadlineRule(next, after: latest, on: now.clock)
        if let first = rule.next(after: now.nanoseconds, butNotBefore: rule.inherited, on: now.clock) {
            return (rule, ResolvedSchedule(.at(first), .computed, count == .max ? nil : .init(count: count)))
        }
        throw .refusedSchedule("\(name()), which has no deadline from now on (\(hint))")
    }
}

/// A function that computes each deadline of a timer from the previous one.
package final class DeadlineRule: Sendable {
    private let compute: ScheduleRule.Next
    /// The latest deadline of the timer's previous rule, if it is one of this rule as well; otherwise 0.
    let inherited: UInt64

    fileprivate init(_ compute: @escaping ScheduleRule.Next, after latest: UInt64, on clock: TimerClock) {
        self.compute = compute
        let before = TimerInstant(nanoseconds: latest &- 1, clock: clock)
        inherited = latest > 0 && compute(before)?.nanoseconds == latest ? latest : 0
    }

    /// The first deadline after an instant, in nanoseconds on its clock; nil if there is none. Calls the user's code.
    package func next(after instant: UInt64, on clock: TimerClock) -> UInt64? {
        let next = compute(TimerInstant(nanoseconds: instant, clock: clock))
        guard let next, next.clock == clock, next.nanoseconds > instant, !next.isNever else { return nil }
        return next.nanoseconds
    }

    /// How far a clock may be set back, in nanoseconds, without repeating a deadline: a minute.
    private static var longestCorrection: UInt64 { 60_000_000_000 }

    /// The first deadline after an instant. A clock that was corrected, and is before the latest deadline that had a
    /// tick or was missed, repeats none.
    func next(after now: UInt64, butNotBefore latest: UInt64, on clock: TimerClock) -> UInt64? {
        let isSetBack = latest > now && latest - now <= Self.longestCorrection
        return next(after: isSetBack ? latest : now, on: clock)
    }

    /// What follows a deadline.
    struct Answer {
        /// The next deadline.
        var next: UInt64?
        /// The latest deadline before that.
        var latest: UInt64
        /// How many deadlines come after the first, up to the latest one.
        var missed: UInt64 = 0
    }

    /// What follows a deadline, if all up to an instant are missed. At most 10,000 of them are counted.
    func next(after deadline: UInt64, skippingTo now: UInt64, on clock: TimerClock) -> Answer {
        var answer = Answer(next: next(after: deadline, on: clock), latest: deadline)
        while let late = answer.next, late <= now {
            // The clock of a machine may start in 1970.
            if answer.missed == 10_000 { return skip(from: late, to: now, on: clock) }
            (answer.latest, answer.next) = (late, next(after: late, on: clock))
            answer.missed += 1
        }
        return answer
    }

    /// Finds the latest deadline up to an instant without counting: each turn halves the time in which it can lie.
    private func skip(from late: UInt64, to now: UInt64, on clock: TimerClock) -> Answer {
        var (latest, end) = (late, now)
        for _ in 0..<UInt64.bitWidth {
            guard let next = next(after: latest, on: clock), next <= now else { break }
            latest = next
            let middle = latest + (max(latest, end) - latest) / 2
            if let later = self.next(after: middle, on: clock), later <= now { latest = later } else { end = middle }
        }
        return Answer(next: next(after: now, on: clock), latest: latest, missed: 10_000)
    }
}

extension TimerError {
    /// For a schedule that makes no sense.
    package static func refusedSchedule(_ schedule: String) -> TimerError {
        TimerError(.invalidSchedule, "scheduling \(schedule)")
    }
}

extension Period {
    /// The length of one step, truncated to whole attoseconds.
    package var duration: Duration { Duration(wholeNanoseconds: nanoseconds) / count }
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
