/// Timers whose target is an actor.
extension PreciseTimer {
    /// Schedules a timer for an actor, which it never retains. The handler runs isolated to the actor, and may await
    /// and throw: `{ meter, tick in try await meter.report(tick.missed) }`. While a handler awaits, only its own
    /// timer's next tick is held back; deadlines that pass in the meantime are merged into that tick and counted.
    /// Otherwise like the form with a target, which describes the parameters.
    ///
    /// If the timer ends while a handler awaits, the handler's task is cancelled, unless the handler ended it itself.
    ///
    /// `onError` is called on the actor with an error of the handler; the timer then goes on. If it throws, or is nil,
    /// the timer ends, and the reason is ``EndReason/failed(_:)``. It is also called for an error after the timer's
    /// end, but not for the `CancellationError` of a task that was cancelled because the timer had ended.
    @discardableResult public static func schedule<Target: Actor>(
        _ schedule: Schedule,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        missedTicks: MissedTickPolicy = .skip,
        label: String? = nil,
        paused: Bool = false,
        file: StaticString = #fileID,
        line: UInt = #line,
        target: Target,
        onEnd: (@isolated(any) @Sendable (EndReason) -> Void)? = nil,
        onError: (@Sendable (isolated Target, any Error) async throws -> Void)? = nil,
        handler: @escaping @Sendable (isolated Target, Tick) async throws -> Void
    ) throws(TimerError) -> PreciseTimer {
        let request = try TimerRequest(tolerance, missedTicks, paused, file, line)
        let handler = Handler(onTarget: handler, onError: onError)
        let tasks = Destination.task(TaskDestination(.target))
        return try request.start(schedule, tasks, target: target, handler, on: service, label, onEnd)
    }

    // Without this form, the compiler would choose the form for objects if the handler awaits nothing, and the
    // handler would not be isolated. So `onError` awaits nothing here, too.
    /// Schedules a timer for an actor, which it never retains. The handler runs isolated to the actor and awaits
    /// nothing, but may throw: `{ meter, tick in meter.missed += tick.missed }`. Otherwise like the form with a
    /// handler that awaits.
    @discardableResult public static func schedule<Target: Actor>(
        _ schedule: Schedule,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        missedTicks: MissedTickPolicy = .skip,
        label: String? = nil,
        paused: Bool = false,
        file: StaticString = #fileID,
        line: UInt = #line,
        target: Target,
        onEnd: (@isolated(any) @Sendable (EndReason) -> Void)? = nil,
        onError: (@Sendable (isolated Target, any Error) throws -> Void)? = nil,
        handler: @escaping @Sendable (isolated Target, Tick) throws -> Void
    ) throws(TimerError) -> PreciseTimer {
        let request = try TimerRequest(tolerance, missedTicks, paused, file, line)
        let handler = Handler(onTarget: handler, onError: onError)
        let tasks = Destination.task(TaskDestination(.target))
        return try request.start(schedule, tasks, target: target, handler, on: service, label, onEnd)
    }
}
