extension PreciseTimer {
    /// The rule that yields a timer's deadlines.
    ///
    /// Durations are rounded up to whole nanoseconds; a duration of more than 292 years becomes never. Scheduling
    /// throws a `TimerError` for a negative delay, and for a period, rate or delay that makes no sense.
    public struct Schedule: Equatable, Sendable {
        /// What few schedules have. An object, so that the others pay for a word only.
        final class Modifiers: Equatable, Sendable {
            /// The number of ticks after which the schedule ends; nil for no limit.
            let count: Int?
            /// How much later the first deadline may be, at random.
            let spread: Duration?
            /// How much later each deadline may be, at random.
            let jitter: Duration?
            /// The time from now to the last possible deadline; nil for no limit.
            let span: Duration?
            /// Computes the deadlines, if they are no grid.
            let rule: ScheduleRule?

            init(_ count: Int?, _ spread: Duration?, _ jitter: Duration?, _ span: Duration?, _ rule: ScheduleRule?) {
                (self.count, self.spread, self.jitter, self.span, self.rule) = (count, spread, jitter, span, rule)
            }

            static func == (left: Modifiers, right: Modifiers) -> Bool {
                left.count == right.count && left.spread == right.spread && left.jitter == right.jitter
                    && left.span == right.span && left.rule === right.rule
            }
        }

        let start: ScheduleStart<Duration, TimerInstant>
        let repetition: Repetition<Duration>
        let modifiers: Modifiers?

        package init(
            _ start: ScheduleStart<Duration, TimerInstant>,
            _ repetition: Repetition<Duration>,
            count: Int? = nil,
            spread: Duration? = nil,
            jitter: Duration? = nil,
            span: Duration? = nil,
            rule: ScheduleRule? = nil
        ) {
            (self.start, self.repetition) = (start, repetition)
            let isPlain = count == nil && spread == nil && jitter == nil && span == nil && rule == nil
            modifiers = isPlain ? nil : Modifiers(count, spread, jitter, span, rule)
        }

        /// One deadline, a delay from now. A delay of zero is due now; a negative one is refused.
        ///
        /// - Parameters:
        ///   - delay: the time from now to the deadline.
        ///   - spread: the deadline is later by a random length from zero up to this one, for the delays of retries.
        ///     Nil for no spread; negative lengths are refused.
        /// - Returns: the schedule.
        public static func once(after delay: Duration, spread: Duration? = nil) -> Schedule {
            Schedule(.after(delay), .once, spread: spread)
        }

        /// One deadline, at an instant of the service's clock. An instant in the past is due now.
        public static func once(at instant: TimerInstant) -> Schedule {
            Schedule(.at(instant), .once)
        }

        /// A deadline every `period`; the first after `delay`, or after one period if no delay is given.
        ///
        /// Deadline k is the first one plus k periods, exactly. A period of zero or less is refused.
        ///
        /// ```swift
        /// .every(.seconds(30), spread: .seconds(30))       // a thousand heartbeats do not beat together
        /// .every(.milliseconds(200), count: 6)             // a lamp blinks three times
        /// .every(.milliseconds(200), for: .seconds(10))    // it blinks for ten seconds, however late its ticks are
        /// ```
        ///
        /// - Parameters:
        ///   - period: the time from each deadline to the next.
        ///   - delay: the time from now to the first deadline.
        ///   - count: the number of ticks after which the timer ends, or rests if it is on demand; nil for no limit.
        ///     A late tick is one tick, however many deadlines it missed. Extra ticks (``PreciseTimer/fire()``) do not
        ///     count. Less than 1 is refused.
        ///   - spread: all deadlines are later by a random length from zero up to this one. Each call that schedules
        ///     or reschedules a timer draws its own. Nil for no spread; negative lengths are refused.
        ///   - jitter: each deadline is later than its place on the grid by a random length from zero up to this one,
        ///     drawn again for each tick, while a spread is drawn once. The grid itself does not move. Nil for no
        ///     jitter; negative lengths, and those longer than the period, are refused.
        ///   - span: the time from now after which there is no deadline; the timer ends with its last one, or rests if
        ///     it is on demand. A bound in time, while `count` is one of ticks: after a stall, one late tick stands for
        ///     all deadlines that remained. Nil for no limit; a span that is over before the first deadline is refused.
        /// - Returns: the schedule.
        public static func every(
            _ period: Duration,
            after delay: Duration? = nil,
            count: Int? = nil,
            spread: Duration? = nil,
            jitter: Duration? = nil,
            for span: Duration? = nil
        ) -> Schedule {
            let start = ScheduleStart<Duration, TimerInstant>.after(delay ?? period)
            return Schedule(start, .every(period), count: count, spread: spread, jitter: jitter, span: span)
        }

        /// A deadline every `period`, the first at `instant`. For deadlines that have passed already, the missed-tick
        /// policy decides at once. `count` and `spread` are those of
        /// ``every(_:after:count:spread:jitter:for:)``.
        public static func every(
            _ period: Duration,
            at instant: TimerInstant,
            count: Int? = nil,
            spread: Duration? = nil
        ) -> Schedule {
            Schedule(.at(instant), .every(period), count: count, spread: spread)
        }

        /// A deadline at each instant that is a whole number of periods from `instant`, before or after it. The first
        /// deadline is the first such instant after now.
        ///
        /// Timers that are aligned to the same instant tick together, in other processes, too. On the shared service
        /// of the wall clock, `on: .wall`, this schedule ticks on each whole second:
        ///
        /// ```swift
        /// .every(.seconds(1), alignedTo: .origin(on: .wall))
        /// ```
        ///
        /// The origin of the wall clock is midnight in Greenwich, so a period of hours or of a day is aligned there.
        /// For local days take a calendar, such as `.daily(at:)` of `PreciseTimerFoundation`.
        ///
        /// If the wall clock is set, the deadlines stay where they are on that clock: see ``TimerClock/wall``, and
        /// ``TimerService/clockSteps``. `count` is that of ``every(_:after:count:spread:jitter:for:)``.
        public static func every(_ period: Duration, alignedTo instant: TimerInstant, count: Int? = nil) -> Schedule {
            Schedule(.aligned(to: instant), .every(period), count: count)
        }

        /// `rate` deadlines in each `duration`, evenly spaced, the first one step from now.
        ///
        /// Exact for any numbers, even if the step is not a whole number of nanoseconds: each deadline is its exact
        /// instant rounded up to the nanosecond, so `.rate(30_000, per: .seconds(1_001))` never drifts. A rate or a
        /// duration of zero or less is refused, and so are more than one deadline per nanosecond, and several in a
        /// duration of more than 292 years.
        ///
        /// - Parameters:
        ///   - rate: the number of deadlines in the duration.
        ///   - duration: the time that they take.
        ///   - count: as in ``every(_:after:count:spread:jitter:for:)``.
        ///   - spread: as in ``every(_:after:count:spread:jitter:for:)``.
        /// - Returns: the schedule.
        public static func rate(
            _ rate: Int,
            per duration: Duration,
            count: Int? = nil,
            spread: Duration? = nil
        ) -> Schedule {
            Schedule(.afterOneStep, .rate(rate, per: duration), count: count, spread: spread)
        }

        /// `rate` deadlines in each `duration`, evenly spaced and exact, the first at `instant`. The other parameters
        /// are those of ``rate(_:per:count:spread:)``. For deadlines that have passed already, the missed-tick policy
        /// decides.
        public static func rate(
            _ rate: Int,
            per duration: Duration,
            at instant: TimerInstant,
            count: Int? = nil,
            spread: Duration? = nil
        ) -> Schedule {
            Schedule(.at(instant), .rate(rate, per: duration), count: count, spread: spread)
        }

        /// A deadline `delay` after the previous tick's handler has returned; the first after `firstDelay`, or after
        /// `delay` if `firstDelay` is not given.
        ///
        /// Such a timer misses nothing, because it has no deadline while its handler runs. A delay of zero or less is
        /// refused. `count` is that of ``every(_:after:count:spread:jitter:for:)``; `spread` delays the first deadline.
        public static func fixedDelay(
            _ delay: Duration,
            after firstDelay: Duration? = nil,
            count: Int? = nil,
            spread: Duration? = nil
        ) -> Schedule {
            Schedule(.after(firstDelay ?? delay), .fixedDelay(delay), count: count, spread: spread)
        }

        /// No deadline until ``PreciseTimer/reschedule(_:)`` gives one: for a timer that is set again and again, such
        /// as a time-out, a watchdog or a debounce.
        ///
        /// ```swift
        /// let timeout = try PreciseTimer.schedule(.onDemand, target: peer) { peer, _ in peer.close() }
        /// try timeout.reschedule(.once(after: .seconds(30)))      // with each byte that arrives
        /// try timeout.reschedule(.onDemand)                       // nothing is expected now
        /// ```
        ///
        /// Any schedule may be given. After the last deadline the timer does not end: it rests, and can be set again.
        /// Rescheduling it to `.onDemand` discards its deadlines, so that it rests at once. Any timer may be
        /// rescheduled to `.onDemand`, and is on demand from then on. It ends if its target or its handle is
        /// released, if it is cancelled, or if its service is shut down.
        ///
        /// A reschedule takes effect even if the tick is on its way or its handler is running: the timer goes on with
        /// the new deadline. The state of a resting timer is ``PreciseTimer/State/scheduled``. It has no next
        /// deadline and no period, and keeps its service alive. ``PreciseTimer/fire()`` gives it one tick.
        ///
        /// Postponing a deadline makes no system call and takes constant time under the service's lock. An earlier
        /// deadline takes O(log n) for n timers on the service, and a system call if it is the service's earliest.
        public static let onDemand = Schedule(.never, .onDemand)
    }

    /// What happens to deadlines that passed before their tick could be delivered.
    ///
    /// If a tick is late by less than a period, no deadline is missed, under every policy.
    @nonexhaustive public enum MissedTickPolicy: Hashable, Sendable {
        /// One tick with the oldest deadline; the later ones are counted in its ``Tick/missed``, and the next tick is
        /// on the first future deadline of the same grid.
        case skip
        /// One tick for each deadline, one after the other, up to `limit` late ticks until the timer has caught up. The
        /// last of them counts the rest in its ``Tick/missed``. Besides the first tick of each timer, a round has up to
        /// 64 of them. After those, timers that catch up wait for the next round, and the others get their turn. A
        /// limit below 1 is refused.
        case catchUp(limit: Int)
        /// One tick with the oldest deadline, which counts the later ones. The grid restarts at the late tick, so the
        /// next tick is a whole period later.
        case delay
    }
}

extension PreciseTimer.Schedule {
    /// Deadlines that a function computes, each from the previous one, for times without a fixed period, such as those
    /// of a calendar.
    ///
    /// ```swift
    /// let start = service.now                                                      // 1, 2, 4, 8 s after the start
    /// let doubling = PreciseTimer.Schedule.computed("doubling") { instant in
    ///     instant.advanced(by: max(.seconds(1), start.duration(to: instant)))
    /// }
    /// ```
    ///
    /// The function is called without any lock: by the call that schedules the timer, with the current instant, and
    /// before each handler, on its thread, once for each deadline that has passed and once for the next one. On the
    /// wall clock it is also called again, on a thread of the library, after each step of the clock and about once a
    /// minute, and a changed answer replaces the deadline. Return quickly. Some limits:
    ///
    /// - One tick counts at most 10,000 missed deadlines, however many have passed.
    /// - After a step back, the deadlines that come again tick again, unless the clock is then at most a minute before
    ///   the latest deadline that had a tick.
    /// - ``PreciseTimer/reschedule(_:)`` accepts such a schedule only for a timer that began with one. It first asks
    ///   the function whether it has the deadline of the latest tick, too: if so, that one does not tick twice.
    ///
    /// Under ``PreciseTimer/MissedTickPolicy/delay``, late ticks are merged as under
    /// ``PreciseTimer/MissedTickPolicy/skip``: there is no grid that could be moved. Schedules are equal if they
    /// are copies of the same value.
    ///
    /// - Parameters:
    ///   - name: what messages and descriptions call it.
    ///   - clock: the clock of the deadlines; nil for the clock of any service.
    ///   - hint: what to do if the function has no deadline at all, for the error.
    ///   - next: the first deadline after an instant of the service's clock; nil if no deadline remains. An instant
    ///     that is not later, or is of another clock, counts as nil. The timer ends after its last deadline.
    /// - Returns: the schedule.
    public static func computed(
        _ name: String = "computed",
        on clock: TimerClock? = nil,
        hint: String = "let the function return an instant after the one that it gets, on the same clock",
        _ next: @escaping @Sendable (_ after: TimerInstant) -> TimerInstant?
    ) -> Self {
        Self(.never, .computed, rule: ScheduleRule({ name }, on: clock, hint: hint) { _, _ in (next, .max) })
    }
}
