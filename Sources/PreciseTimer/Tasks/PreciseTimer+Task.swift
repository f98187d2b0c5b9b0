/// Timers whose handler runs in a task: it awaits, or is isolated to a global actor.
extension PreciseTimer {
    /// Schedules a timer whose handler awaits, and may throw or be isolated to the main actor or another global actor.
    ///
    /// ```swift
    /// try PreciseTimer.schedule(.every(.seconds(5)), target: peer, onError: { log($1) }) { peer, _ in
    ///     log(try await peer.ask())
    /// }
    /// ```
    ///
    /// A handler with an annotation, `{ @MainActor model, tick in await model.load() }`, runs on that actor. Without
    /// one, it runs on the shared thread pool, and not on the service's thread. A handler that throws but does not
    /// await stays on that thread, unless its `onError` awaits. There is no `deliver`: the tick goes to the handler's
    /// actor by itself. Ticks on the main actor come only if the program runs the main thread's loop: an `async` main,
    /// `dispatchMain()` and a main run loop do.
    ///
    /// While a handler awaits, only its own timer's next tick is held back; deadlines that pass in the meantime are
    /// merged into that tick and counted. If the timer ends while its handler is running, the handler's task is
    /// cancelled, unless the handler ended it itself. Otherwise like the form with a target, which describes the other
    /// parameters.
    ///
    /// `onError` is called with the target and an error of the handler; the timer then goes on. If it throws, or is
    /// nil, the timer ends, and the reason is ``EndReason/failed(_:)``. It is also called for an error after the
    /// timer's end, but not for the `CancellationError` of a task that was cancelled because the timer had ended.
    @discardableResult public static func schedule<Target: AnyObject & Sendable>(
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
        onError: (@isolated(any) @Sendable (Target, any Error) async throws -> Void)? = nil,
        handler: @escaping @isolated(any) @Sendable (Target, Tick) async throws -> Void
    ) throws(TimerError) -> PreciseTimer {
        let request = try TimerRequest(tolerance, missedTicks, paused, file, line)
        return try request.start(schedule, target: target, inTask: handler, onError: onError, on: service, label, onEnd)
    }

    /// Schedules a timer whose handle is its target, and whose handler awaits, and may throw or be isolated to a global
    /// actor: `{ @MainActor timer, tick in await lamp.toggle() }`. Keep the handle: the timer ends when it is released.
    /// Otherwise like the form with a target and such a handler.
    public static func schedule(
        _ schedule: Schedule,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        missedTicks: MissedTickPolicy = .skip,
        label: String? = nil,
        paused: Bool = false,
        file: StaticString = #fileID,
        line: UInt = #line,
        onEnd: (@isolated(any) @Sendable (EndReason) -> Void)? = nil,
        onError: (@isolated(any) @Sendable (PreciseTimer, any Error) async throws -> Void)? = nil,
        handler: @escaping @isolated(any) @Sendable (PreciseTimer, Tick) async throws -> Void
    ) throws(TimerError) -> PreciseTimer {
        let request = try TimerRequest(tolerance, missedTicks, paused, file, line)
        return try request.start(schedule, target: nil, inTask: handler, onError: onError, on: service, label, onEnd)
    }

    // Isolation does not count when the compiler chooses a form. Without this form it would choose the one for ordinary
    // handlers if an isolated handler does not await, and refuse the handler. It prefers this one because it has a
    // parameter less; `onError` has the same type in both.
    /// Schedules a timer whose handler is isolated to the main actor, or to another global actor, and does not await:
    /// `{ @MainActor model, tick in model.refresh() }`. A function value of type `@isolated(any)` that is isolated to
    /// no actor is called on the service's thread. Otherwise like the form with a handler that awaits.
    @discardableResult public static func schedule<Target: AnyObject & Sendable>(
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
        onError: (@isolated(any) @Sendable (Target, any Error) throws -> Void)? = nil,
        handler: @escaping @isolated(any) @Sendable (Target, Tick) throws -> Void
    ) throws(TimerError) -> PreciseTimer {
        let request = try TimerRequest(tolerance, missedTicks, paused, file, line)
        if let handler = calledInPlace(handler) {
            let handler = Handler(handler)
            return try request.start(schedule, .inline, target: target, handler, onError, on: service, label, onEnd)
        }
        return try request.start(schedule, target: target, inTask: handler, onError: onError, on: service, label, onEnd)
    }
}

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
