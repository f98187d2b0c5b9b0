internal import TimerKernel

extension PreciseTimer {
    /// The facts of one call to a handler. A plain value.
    public struct Tick: Hashable, Sendable {
        /// The number of this tick's deadline, from 0. It grows by 1 + ``missed`` from tick to tick. That of an extra
        /// tick is the number of the next deadline.
        public let index: Int
        /// When the tick was due: the oldest deadline that had not had a tick. That of an extra tick is the instant at
        /// which it was asked for.
        public let deadline: TimerInstant
        /// The newest deadline that the tick stands for: ``deadline`` itself, or the last one of the ``missed``. After
        /// three days off, the one tick of a nightly job has the oldest date as its ``deadline``, and this morning's
        /// here.
        public let latestDeadline: TimerInstant
        /// Whether the tick was asked for with ``PreciseTimer/fire()`` or ``PreciseTimer/finish(within:)``, and stands
        /// for no deadline. Over all other ticks, the sum of 1 + ``missed`` is the number of deadlines, exactly.
        public let isExtra: Bool
        /// When the alarm's thread read the clock and found the tick due.
        public let woke: TimerInstant
        /// When the handler was called.
        public let delivered: TimerInstant
        /// How many later deadlines had passed as well and get no tick.
        public let missed: Int

        /// How long after its deadline the tick was delivered. Never negative.
        public var lateness: Duration { deadline.duration(to: delivered) }
        /// The part of ``lateness`` before the alarm's thread woke.
        public var wakeLateness: Duration { deadline.duration(to: woke) }
        /// The part of ``lateness`` between the wake-up and the handler.
        public var hopLateness: Duration { woke.duration(to: delivered) }

        /// The facts of a tick, for tests of code that receives ticks.
        ///
        /// Negative counts, and instants in another order, or of different clocks, are a programming error.
        ///
        /// - Parameters:
        ///   - index: the number of the deadline.
        ///   - deadline: when the tick was due.
        ///   - latestDeadline: the newest deadline that it stands for, not before the deadline; nil for the deadline
        ///     itself.
        ///   - woke: when the tick was found due, not before the deadline; nil for the deadline itself.
        ///   - delivered: when the handler was called, not before the others; nil for the latest of them.
        ///   - missed: how many later deadlines had passed as well.
        ///   - isExtra: whether the tick stands for no deadline.
        public init(
            index: Int = 0,
            deadline: TimerInstant,
            latestDeadline: TimerInstant? = nil,
            woke: TimerInstant? = nil,
            delivered: TimerInstant? = nil,
            missed: Int = 0,
            isExtra: Bool = false
        ) {
            let (latest, woke) = (latestDeadline ?? deadline, woke ?? deadline)
            let delivered = delivered ?? max(latest, woke)
            precondition(index >= 0 && missed >= 0, "a tick's counts are not negative")
            precondition(deadline <= latest && deadline <= woke, "a tick comes after its oldest deadline")
            precondition(latest <= delivered && woke <= delivered, "a tick is delivered after all its deadlines")
            self.index = index
            self.deadline = deadline
            self.latestDeadline = latest
            self.woke = woke
            self.delivered = delivered
            self.missed = missed
            self.isExtra = isExtra
        }
    }
}

extension PreciseTimer {
    /// One call of a timer's handler. A plain value.
    public struct HandlerRun: Equatable, Sendable {
        /// When the handler was called.
        public let start: TimerInstant
        /// How long it ran. For a handler that awaits, this includes the waiting. If the wall clock is set while it
        /// runs, the length includes the step.
        public let duration: Duration
        /// The description of the error that it threw, also if `onError` handled it; nil if it threw no error.
        public let error: String?

        init(start: TimerInstant, end: TimerInstant, error: String? = nil) {
            self.start = start
            // A wall clock may have been set back.
            duration = start.duration(to: max(start, end))
            self.error = error
        }
    }

    /// The instant at which the running handler was called; nil if no handler runs. For an inline handler, the instant
    /// at which its service's thread woke for it, so the clock is not read again. From any thread, in constant time.
    public var runningSince: TimerInstant? {
        core.locked(inForkedChild: nil) { $0.scheduler.runningSince(record) }.flatMap(core.instant)
    }

    /// The latest call of the handler that has returned; nil if no call has. Only calls in a task (a handler that
    /// awaits, or is isolated to an actor) and calls of a timer that collects ``statistics`` are timed: other calls do
    /// not read the clock. From any thread, in constant time.
    public var lastRun: HandlerRun? { core.locked(inForkedChild: nil) { _ in record.lastRun } }
}
