/// Scheduling: the two forms, and the rules that yield the deadlines.
extension PreciseTimer {
    /// When the deadlines of a timer are.
    public struct Schedule: Hashable, Sendable {
        /// Where deadline 0 lies.
        enum Start: Hashable {
            case after(Duration)
            case at(TimerInstant)
        }

        let start: Start
        let period: Duration?

        /// One deadline, a delay from now. A delay of zero is due now; a negative one is refused by `schedule`.
        public static func once(after delay: Duration) -> Schedule {
            Schedule(start: .after(delay), period: nil)
        }

        /// One deadline, at an instant. One in the past is due now.
        public static func once(at instant: TimerInstant) -> Schedule {
            Schedule(start: .at(instant), period: nil)
        }

        /// A deadline every `period`, the first after `delay`, or after one period where no delay is given.
        ///
        /// Deadline k is the first one plus k periods, computed and not added up. A period of zero or less, or a
        /// negative delay, is refused by `schedule`.
        public static func every(_ period: Duration, after delay: Duration? = nil) -> Schedule {
            Schedule(start: .after(delay ?? period), period: period)
        }

        /// A deadline every `period`, the first at `instant`. Of those that have passed already, the missed-tick policy
        /// decides at the first look.
        public static func every(_ period: Duration, at instant: TimerInstant) -> Schedule {
            Schedule(start: .at(instant), period: period)
        }
    }

    /// What becomes of deadlines that passed before their tick could be delivered.
    @nonexhaustive
    public enum MissedTickPolicy: Hashable, Sendable {
        /// One tick with the oldest deadline; the later ones are counted in its ``Tick/missed``, and the next tick is
        /// on the first future deadline of the same grid.
        case skip
    }

    /// Where handlers run.
    @nonexhaustive
    public enum Delivery: Hashable, Sendable {
        /// On the alarm's thread: the least lateness. A handler that does not return quickly makes the service's other
        /// timers late.
        case inline
    }

    /// Schedules a timer for a target, which it never retains: it ends when the target is gone.
    ///
    /// ```swift
    /// try PreciseTimer.schedule(.every(.milliseconds(10)), target: controller) { controller, tick in
    ///     controller.step(missed: tick.missed)
    /// }
    /// ```
    ///
    /// The handler is called on the thread that `deliver` says, never twice at once, and never from inside this call.
    /// For the time of a call the target is held, so its `deinit` may run on that thread. That it is gone is noticed at
    /// the next deadline, or when ``PreciseTimer/state`` is read. What the handler captures is the caller's: to capture
    /// the target there would keep it alive. O(log n) for n timers on the service.
    ///
    /// - Parameters:
    ///   - schedule: when to tick.
    ///   - service: the running backend to use.
    ///   - missedTicks: what becomes of deadlines that could not be met.
    ///   - deliver: where the handler runs.
    ///   - target: the object that the ticks are for.
    ///   - handler: called with the target and the facts of the tick.
    /// - Returns: the handle, which may be dropped.
    /// - Throws: `TimerError` for a schedule that makes no sense, and where the system refuses a thread or descriptor.
    @discardableResult
    public static func schedule<Target: AnyObject & Sendable>(
        _ schedule: Schedule,
        on service: TimerService = .default,
        missedTicks: MissedTickPolicy = .skip,
        deliver: Delivery = .inline,
        target: Target,
        handler: @escaping @Sendable (Target, Tick) -> Void
    ) throws(TimerError) -> PreciseTimer {
        let recipient = TargetRecipient(target: target, handler: handler)
        let registration = Registration(recipient, on: service)
        try service.admit(registration, schedule)
        return PreciseTimer(registration, isTarget: false)
    }

    /// Schedules a timer whose handle is its target: keep the handle, for when it is dropped the timer ends.
    ///
    /// ```swift
    /// let blink = try PreciseTimer.schedule(.every(.seconds(1))) { timer, tick in
    ///     if tick.index == 9 { timer.cancel() }
    /// }
    /// ```
    ///
    /// As the form with a target otherwise. A debug build says on standard error when a handle was dropped before its
    /// first tick, with the place of this call.
    ///
    /// - Parameters:
    ///   - schedule: when to tick.
    ///   - service: the running backend to use.
    ///   - missedTicks: what becomes of deadlines that could not be met.
    ///   - deliver: where the handler runs.
    ///   - file: the file named in the warning.
    ///   - line: the line named in the warning.
    ///   - handler: called with the handle and the facts of the tick.
    /// - Returns: the handle, which keeps the timer going.
    /// - Throws: `TimerError` for a schedule that makes no sense, and where the system refuses a thread or descriptor.
    public static func schedule(
        _ schedule: Schedule,
        on service: TimerService = .default,
        missedTicks: MissedTickPolicy = .skip,
        deliver: Delivery = .inline,
        file: StaticString = #fileID,
        line: UInt = #line,
        handler: @escaping @Sendable (PreciseTimer, Tick) -> Void
    ) throws(TimerError) -> PreciseTimer {
        let registration = Registration(nil, on: service, scheduledAt: Registration.Place(file: file, line: line))
        let timer = PreciseTimer(registration, isTarget: true)
        registration.receive(with: TargetRecipient(target: timer, handler: handler))
        try service.admit(registration, schedule)
        return timer
    }
}
