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

    /// What follows a deadline.
    struct Answer {
        /// The next deadline.
        var next: UInt64?
        /// The latest deadline before that, and how many deadlines lie between the two.
        var latest: UInt64
        var missed: UInt64 = 0
    }

    /// What follows a deadline, if all up to an instant are missed.
    func next(after deadline: UInt64, skippingTo now: UInt64, on clock: TimerClock) -> Answer {
        var answer = Answer(next: next(after: deadline, on: clock), latest: deadline)
        while let late = answer.next, late <= now {
            answer.missed += 1
            answer.latest = answer.missed < Self.mostMissed ? late : now
            answer.next = next(after: answer.latest, on: clock)
        }
        return answer
    }

    /// How many missed deadlines are counted, at most: the clock of a machine may start in 1970.
    static var mostMissed: UInt64 { 10_000 }

    /// The instant after which the next deadline is computed anew, at a new time. A clock that was set back by up to a
    /// minute repeats no deadline up to the latest one that had a tick or was missed.
    func origin(at now: UInt64, latest: UInt64) -> UInt64 {
        latest > now && latest - now <= 60_000_000_000 ? latest : now
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
