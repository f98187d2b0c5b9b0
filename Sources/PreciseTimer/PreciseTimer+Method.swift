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
    /// holds nothing: that is why this form takes both. Methods of another shape, and those of an actor, are called from
    /// a handler: `{ controller, _ in controller.step() }`.
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
}
