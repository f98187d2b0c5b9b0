public import Foundation
public import PreciseTimer

/// Dates are instants of the wall clock.
extension TimerInstant {
    /// The instant of a date on the wall clock, rounded up to the nanosecond.
    ///
    /// ```swift
    /// try PreciseTimer.schedule(.once(at: TimerInstant(date)), on: .wall, target: bell) { bell, _ in bell.ring() }
    /// ```
    ///
    /// A `Date` of our time resolves about 0.1 µs. A date before 1970 becomes the clock's origin; one after 21 July
    /// 2554, 23:34 UTC, and one that is not a number, becomes never.
    public init(_ date: Date) {
        self.init(secondsSince2001: date.timeIntervalSinceReferenceDate)
    }
}

extension Date {
    /// The date of an instant of the wall clock: the first one that is not before it. Never becomes
    /// `Date.distantFuture`. Nil for an instant of another clock: those have no date, since they count from the start
    /// of the system.
    ///
    /// In our time it is at most 0.12 µs later, and from 2035 on 0.24 µs. A deadline at .010 s prints as `.010`, and
    /// `Date(TimerInstant(date))` is the date again: to the nanosecond, that one is not before its instant.
    public init?(_ instant: TimerInstant) {
        guard instant.clock == .wall else { return nil }
        self.init(timeIntervalSinceReferenceDate: instant.secondsSince2001)
        if instant.isNever { self = .distantFuture }
    }
}

extension PreciseTimer.Schedule {
    /// The deadlines after a date, as dates: those of a timer that is scheduled then, on a service of the wall clock.
    ///
    /// ```swift
    /// let nightly = PreciseTimer.Schedule.daily(at: .init(hour: 2, minute: 30))
    /// for date in nightly.deadlines(count: 5) { print(date) }
    /// ```
    ///
    /// Nothing is left to chance: each timer draws its own `spread` and `jitter`, by which its deadlines are later.
    /// `nextDeadline` of `PreciseTimer` is the exact next one of a timer.
    ///
    /// A fixed delay has one deadline here, because the others depend on the handler. There is none for `onDemand`, for
    /// instants of another clock, and for a schedule that `schedule` refuses: its error says why. None is later than
    /// July 2554.
    ///
    /// - Parameters:
    ///   - date: the deadlines are later than this date. One before 1970 counts as 1970.
    ///   - count: how many there are at most.
    /// - Returns: the dates, ascending, each the first one that is not before its deadline. So the deadlines after the
    ///   last date of a page are those of the next page.
    public func deadlines(after date: Date = .now, count: Int = .max) -> Deadlines {
        Deadlines(schedule: self, start: TimerInstant(date), count: count)
    }

    /// The deadlines of a schedule, as dates. The sequence computes each when it is asked for, so that it may be
    /// endless, and it may be read any number of times.
    public struct Deadlines: LazySequenceProtocol, Sendable {
        fileprivate let schedule: PreciseTimer.Schedule
        fileprivate let start: TimerInstant
        fileprivate let count: Int

        /// An iterator over the dates. A step takes as long as the computation of a deadline.
        public func makeIterator() -> AnyIterator<Date> {
            var remaining = count
            let next = schedule.rule.map(computed) ?? steps()
            return AnyIterator {
                guard remaining > 0, let deadline = next() else { return nil }
                remaining -= 1
                return Date(TimerInstant(nanoseconds: deadline, clock: .wall))
            }
        }
    }
}

extension PreciseTimer.Schedule.Deadlines {
    /// The deadlines that a rule computes, one by one.
    private func computed(_ rule: ScheduleRule) -> () -> UInt64? {
        var begun: (rule: DeadlineRule, latest: UInt64, ticks: UInt64)?
        return {
            if let (rule, latest, ticks) = begun {
                guard ticks > 0, let next = rule.next(after: latest, on: .wall) else { return nil }
                begun = (rule, next, ticks - 1)
            } else if let (rule, schedule) = try? rule.begin(at: start, seed: nil), case .at(let first) = schedule.start
            {
                begun = (rule, first, (schedule.modifiers?.count ?? .max) - 1)
            }
            return begun?.latest
        }
    }

    /// The deadlines of a period or a rate, one by one.
    private func steps() -> () -> UInt64? {
        guard var schedule = try? schedule.resolved(on: .wall) else { return { nil } }
        schedule.modifiers?.spread = 0
        schedule.modifiers?.jitter = 0
        var timing = Timing()
        var random = SeededGenerator(seed: 0)
        timing.begin(schedule, at: start.nanoseconds, using: &random)
        // One tick stands for all deadlines that have passed.
        _ = timing.takeTick(at: start.nanoseconds)
        return { timing.takeTick(at: timing.nextDeadline)?.deadline }
    }
}
