// The method comes before the target: as a last parameter it would be a candidate for every trailing closure, and a slip
// inside one would be reported as a closure with the wrong number of parameters.
extension PreciseTimer {
    /// Schedules a timer that calls a method of its target, which it never retains.
    ///
    /// ```swift
    /// try PreciseTimer.schedule(.every(.milliseconds(10)), calling: Controller.step, target: controller)
    ///
    /// final class Controller: Sendable {
    ///     func step(_ tick: PreciseTimer.Tick) { … }
    /// }
    /// ```
    ///
    /// As the form with a target and a handler otherwise. A method reached through the type, not through the object,
    /// holds nothing: that is why this form takes both. Call methods of another shape, and those of an actor, from a
    /// handler: `{ controller, _ in controller.step() }`.
    ///
    /// - Warning: Do not pass a method that is isolated to a global actor other than the main actor. The compiler accepts
    ///   it and forgets the isolation. Write a handler: `{ @MyActor controller, tick in controller.step(tick) }`.
    ///
    /// - Parameters:
    ///   - schedule: when to tick.
    ///   - service: the running backend to use.
    ///   - tolerance: how late a tick may be on purpose; timers with a tolerance share wake-ups. Not negative.
    ///   - missedTicks: what becomes of deadlines that could not be met.
    ///   - deliver: where the method runs.
    ///   - label: a name for ``TimerService/activeTimers``.
    ///   - paused: whether the timer waits for ``PreciseTimer/resume()`` before it ticks.
    ///   - file: the file that ``TimerService/activeTimers`` names.
    ///   - line: the line that it names.
    ///   - method: the method that is called with the facts of the tick.
    ///   - target: the object that it is called on.
    ///   - onEnd: hears once why the timer ended.
    /// - Returns: the handle, which may be dropped.
    /// - Throws: `TimerError` for a schedule that makes no sense, and where the system refuses a thread or descriptor.
    @discardableResult
    public static func schedule<Target: AnyObject & Sendable>(
        _ schedule: Schedule,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        missedTicks: MissedTickPolicy = .skip,
        deliver: Delivery = .inline,
        label: String? = nil,
        paused: Bool = false,
        file: StaticString = #fileID,
        line: UInt = #line,
        calling method: @escaping @Sendable (Target) -> (Tick) -> Void,
        target: Target,
        onEnd: (@Sendable (EndReason) -> Void)? = nil
    ) throws(TimerError) -> PreciseTimer {
        try Self.schedule(
            schedule,
            on: service,
            tolerance: tolerance,
            missedTicks: missedTicks,
            deliver: deliver,
            label: label,
            paused: paused,
            file: file,
            line: line,
            target: target,
            onEnd: onEnd
        ) { target, tick in method(target)(tick) }
    }

    /// Schedules a timer that calls a method of the main actor, there, on its target, which it never retains.
    ///
    /// ```swift
    /// try PreciseTimer.schedule(.every(.seconds(1)), calling: ViewModel.step, target: model)
    ///
    /// @MainActor final class ViewModel {
    ///     func step(_ tick: PreciseTimer.Tick) { … }
    /// }
    /// ```
    ///
    /// Otherwise like the form whose handler is isolated to the main actor. O(log n) for n timers on the service.
    ///
    /// - Parameters:
    ///   - schedule: when to tick.
    ///   - service: the running backend to use.
    ///   - tolerance: how late a tick may be on purpose; timers with a tolerance share wake-ups. Not negative.
    ///   - missedTicks: what happens to deadlines that could not be met.
    ///   - label: a name for ``TimerService/activeTimers``.
    ///   - paused: whether the timer waits for ``PreciseTimer/resume()`` before it ticks.
    ///   - file: the file that ``TimerService/activeTimers`` names.
    ///   - line: the line that it names.
    ///   - method: the method of the main actor that is called with the facts of the tick.
    ///   - target: the object that it is called on.
    ///   - onEnd: called once, with the reason the timer ended.
    /// - Returns: the handle, which may be dropped.
    /// - Throws: `TimerError` if the schedule makes no sense, or if the system refuses a thread or descriptor.
    @discardableResult
    public static func schedule<Target: AnyObject & Sendable>(
        _ schedule: Schedule,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        missedTicks: MissedTickPolicy = .skip,
        label: String? = nil,
        paused: Bool = false,
        file: StaticString = #fileID,
        line: UInt = #line,
        calling method: @escaping @Sendable (Target) -> @MainActor (Tick) -> Void,
        target: Target,
        onEnd: (@Sendable (EndReason) -> Void)? = nil
    ) throws(TimerError) -> PreciseTimer {
        try Self.schedule(
            schedule,
            on: service,
            tolerance: tolerance,
            missedTicks: missedTicks,
            label: label,
            paused: paused,
            file: file,
            line: line,
            target: target,
            onEnd: onEnd
        ) { @MainActor target, tick in method(target)(tick) }
    }

    // Without this form the first one would be taken if `deliver` is given: the compiler forgets the isolation there.
    /// Schedules a timer that calls a method of the main actor, where the caller says that this is: on the main actor.
    ///
    /// A method of the main actor needs no `deliver`. It may be `.mainActor`; anything else is refused.
    ///
    /// - Parameters:
    ///   - schedule: when to tick.
    ///   - service: the running backend to use.
    ///   - tolerance: how late a tick may be on purpose; timers with a tolerance share wake-ups. Not negative.
    ///   - missedTicks: what happens to deadlines that could not be met.
    ///   - deliver: `.mainActor`.
    ///   - label: a name for ``TimerService/activeTimers``.
    ///   - paused: whether the timer waits for ``PreciseTimer/resume()`` before it ticks.
    ///   - file: the file that ``TimerService/activeTimers`` names.
    ///   - line: the line that it names.
    ///   - method: the method of the main actor that is called with the facts of the tick.
    ///   - target: the object that it is called on.
    ///   - onEnd: called once, with the reason the timer ended.
    /// - Returns: the handle, which may be dropped.
    /// - Throws: `TimerError` if the method would run anywhere else, if the schedule makes no sense, or if the system
    ///   refuses a thread or descriptor.
    @discardableResult
    public static func schedule<Target: AnyObject & Sendable>(
        _ schedule: Schedule,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        missedTicks: MissedTickPolicy = .skip,
        deliver: Delivery,
        label: String? = nil,
        paused: Bool = false,
        file: StaticString = #fileID,
        line: UInt = #line,
        calling method: @escaping @Sendable (Target) -> @MainActor (Tick) -> Void,
        target: Target,
        onEnd: (@Sendable (EndReason) -> Void)? = nil
    ) throws(TimerError) -> PreciseTimer {
        guard case .mainActor = deliver else {
            throw TimerError(
                .invalidDelivery,
                "scheduling a method of the main actor with `deliver: \(deliver.name)` (leave it out: the method runs on "
                    + "the main actor)"
            )
        }
        return try Self.schedule(
            schedule,
            on: service,
            tolerance: tolerance,
            missedTicks: missedTicks,
            label: label,
            paused: paused,
            file: file,
            line: line,
            calling: method,
            target: target,
            onEnd: onEnd
        )
    }
}
