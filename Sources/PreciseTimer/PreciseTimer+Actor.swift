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
        let request = try TimerRequest(tolerance, missedTicks, label, paused, file, line, onEnd)
        return try request.start(schedule, .targetActor, target: target, Handler(handler), on: service)
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
        let request = try TimerRequest(tolerance, missedTicks, label, paused, file, line, onEnd)
        let handler = Handler { (target: isolated Target, tick) async in handler(target, tick) }
        return try request.start(schedule, .targetActor, target: target, handler, on: service)
    }
}

/// Timers whose handler is isolated to the main actor, or to another global actor.
extension PreciseTimer {
    /// Schedules a timer whose handler is isolated to the main actor, or to another global actor, and runs there:
    /// `{ @MainActor model, tick in model.refresh() }`. The annotation chooses this form. Without it the closure
    /// is an ordinary handler, and the compiler refuses access to the main actor's state. There is no `deliver`:
    /// the tick goes to the handler's actor by itself. Ticks on the main actor come only if the program runs the
    /// main thread's loop: an `async` main, `dispatchMain()` and a main run loop do. A function value that is
    /// isolated to no actor is refused with a `TimerError`. Otherwise like the form with a target, which describes
    /// the parameters.
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
        target: Target,
        onEnd: (@Sendable (EndReason) -> Void)? = nil,
        handler: @escaping @isolated(any) @Sendable (Target, Tick) -> Void
    ) throws(TimerError) -> PreciseTimer {
        let isolation = try actor(of: handler.isolation)
        let request = try TimerRequest(tolerance, missedTicks, label, paused, file, line, onEnd)
        return try request.start(schedule, .isolated(to: isolation), target: target, Handler(handler), on: service)
    }

    /// Schedules a timer whose handle is its target, and whose handler is isolated to the main actor, or to another
    /// global actor, and runs there: `{ @MainActor timer, tick in lamp.isOn.toggle() }`. Keep the handle: the timer
    /// ends when it is released. Otherwise like the form with a target and an isolated handler.
    public static func schedule(
        _ schedule: Schedule,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        missedTicks: MissedTickPolicy = .skip,
        label: String? = nil,
        paused: Bool = false,
        file: StaticString = #fileID,
        line: UInt = #line,
        onEnd: (@Sendable (EndReason) -> Void)? = nil,
        handler: @escaping @isolated(any) @Sendable (PreciseTimer, Tick) -> Void
    ) throws(TimerError) -> PreciseTimer {
        let isolation = try actor(of: handler.isolation)
        let request = try TimerRequest(tolerance, missedTicks, label, paused, file, line, onEnd)
        return try request.start(schedule, .isolated(to: isolation), target: nil, Handler(handler), on: service)
    }

    /// The actor of a handler. Refuses a function value of type `@isolated(any)` without an actor.
    private static func actor(of isolation: (any Actor)?) throws(TimerError) -> any Actor {
        if let isolation { return isolation }
        throw TimerError(
            .invalidDelivery,
            "scheduling an @isolated(any) handler that is isolated to no actor (pass it as an ordinary function)"
        )
    }
}
