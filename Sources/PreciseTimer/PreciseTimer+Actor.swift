/// Timers whose target is an actor.
extension PreciseTimer {
    /// Schedules a timer for an actor, which it never retains; the handler runs isolated to it.
    ///
    /// ```swift
    /// try PreciseTimer.schedule(.every(.seconds(1)), target: meter) { meter, tick in
    ///     await meter.report(missed: tick.missed)
    /// }
    /// ```
    ///
    /// As the form with a target otherwise. A handler that awaits holds back its own timer's next tick and nothing else:
    /// what comes due meanwhile is merged into that and counted.
    ///
    /// - Parameters:
    ///   - schedule: when to tick.
    ///   - service: the running backend to use.
    ///   - tolerance: how late a tick may be on purpose; timers with a tolerance share wake-ups. Not negative.
    ///   - missedTicks: what becomes of deadlines that could not be met.
    ///   - label: a name for ``TimerService/activeTimers``.
    ///   - paused: whether the timer waits for ``PreciseTimer/resume()`` before it ticks.
    ///   - file: the file that ``TimerService/activeTimers`` names.
    ///   - line: the line that it names.
    ///   - target: the actor that the ticks are for.
    ///   - onEnd: hears once why the timer ended.
    ///   - handler: called on the actor, with it and the facts of the tick.
    /// - Returns: the handle, which may be dropped.
    /// - Throws: `TimerError` for a schedule that makes no sense, and where the system refuses a thread or descriptor.
    @discardableResult
    public static func schedule<Target: Actor>(
        _ schedule: Schedule,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        missedTicks: MissedTickPolicy = .skip,
        label: String? = nil,
        paused: Bool = false,
        file: StaticString = #fileID,
        line: UInt = #line,
        target: Target,
        onEnd: (@Sendable (EndReason) -> Void)? = nil,
        handler: @escaping @Sendable (isolated Target, Tick) async -> Void
    ) throws(TimerError) -> PreciseTimer {
        let request = try TimerRequest(schedule, tolerance, missedTicks, label, paused, file, line, onEnd)
        return try service.core.admit(ActorRecord(request, target: target, handler: handler), request, service)
    }

    // Without this form a handler that awaits nothing would be taken for that of an object, and not be isolated.
    /// Schedules a timer for an actor, which it never retains; the handler runs isolated to it, and awaits nothing.
    ///
    /// ```swift
    /// try PreciseTimer.schedule(.every(.seconds(1)), target: meter) { meter, tick in
    ///     meter.missed += tick.missed
    /// }
    /// ```
    ///
    /// As the form for an actor whose handler awaits otherwise.
    ///
    /// - Parameters:
    ///   - schedule: when to tick.
    ///   - service: the running backend to use.
    ///   - tolerance: how late a tick may be on purpose; timers with a tolerance share wake-ups. Not negative.
    ///   - missedTicks: what becomes of deadlines that could not be met.
    ///   - label: a name for ``TimerService/activeTimers``.
    ///   - paused: whether the timer waits for ``PreciseTimer/resume()`` before it ticks.
    ///   - file: the file that ``TimerService/activeTimers`` names.
    ///   - line: the line that it names.
    ///   - target: the actor that the ticks are for.
    ///   - onEnd: hears once why the timer ended.
    ///   - handler: called on the actor, with it and the facts of the tick.
    /// - Returns: the handle, which may be dropped.
    /// - Throws: `TimerError` for a schedule that makes no sense, and where the system refuses a thread or descriptor.
    @discardableResult
    public static func schedule<Target: Actor>(
        _ schedule: Schedule,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        missedTicks: MissedTickPolicy = .skip,
        label: String? = nil,
        paused: Bool = false,
        file: StaticString = #fileID,
        line: UInt = #line,
        target: Target,
        onEnd: (@Sendable (EndReason) -> Void)? = nil,
        handler: @escaping @Sendable (isolated Target, Tick) -> Void
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
        ) { target, tick async in handler(target, tick) }
    }
}
