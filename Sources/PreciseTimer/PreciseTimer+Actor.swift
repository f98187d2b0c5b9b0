/// Timers whose target is an actor.
extension PreciseTimer {
    /// Schedules a timer for an actor, which it never retains. The handler runs isolated to the actor and may await:
    /// `{ meter, tick in await meter.report(tick.missed) }`. While a handler awaits, only its own timer's next tick
    /// is held back; deadlines that pass meanwhile are merged into that tick and counted. Otherwise like the form
    /// with a target, which describes the parameters.
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

    // Without this form, the compiler would choose the form for objects if the handler awaits nothing, and the
    // handler would not be isolated.
    /// Schedules a timer for an actor, which it never retains. The handler runs isolated to the actor and awaits
    /// nothing: `{ meter, tick in meter.missed += tick.missed }`. Otherwise like the form with a target, which
    /// describes the parameters.
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
