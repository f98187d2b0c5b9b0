// The method comes before the target. As the last parameter it would be a candidate for every trailing closure, and
// the compiler would report a mistake inside such a closure as a closure with the wrong number of parameters.
extension PreciseTimer {
    /// Schedules a timer that calls a method of its target, which it never retains:
    /// `schedule(.every(.milliseconds(10)), calling: Controller.step, target: controller)`. A method named through
    /// its type, not through the object, retains nothing: that is why this form takes both. Call methods of another
    /// shape, and methods of an actor, from a handler. Do not pass a method that is isolated to a global actor other
    /// than the main actor: the compiler accepts it and forgets the isolation. Write a handler instead,
    /// `{ @MyActor controller, tick in controller.step(tick) }`. Otherwise like the form with a target and a handler,
    /// which describes the parameters.
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
        let request = try TimerRequest(tolerance, missedTicks, label, paused, file, line, onEnd)
        let handler = Handler { (target: Target, tick) in method(target)(tick) }
        return try request.start(schedule, deliver.destination, target: target, handler, on: service)
    }

    /// The same for a method without parameters. Of two methods of that name, the one with a tick is called.
    @discardableResult
    @_disfavoredOverload
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
        calling method: @escaping @Sendable (Target) -> () -> Void,
        target: Target,
        onEnd: (@Sendable (EndReason) -> Void)? = nil
    ) throws(TimerError) -> PreciseTimer {
        let request = try TimerRequest(tolerance, missedTicks, label, paused, file, line, onEnd)
        let handler = Handler { (target: Target, _) in method(target)() }
        return try request.start(schedule, deliver.destination, target: target, handler, on: service)
    }

    /// Schedules a timer that calls, on the main actor, a method of its target that is isolated to the main actor. It
    /// never retains the target: `schedule(.every(.seconds(1)), calling: ViewModel.step, target: model)`. Otherwise
    /// like the form whose handler is isolated to the main actor.
    @discardableResult
    public static func schedule<Target: AnyObject & Sendable>(
        _ schedule: Schedule,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        missedTicks: MissedTickPolicy = .skip,
        deliver: MainActorDelivery = .mainActor,
        label: String? = nil,
        paused: Bool = false,
        file: StaticString = #fileID,
        line: UInt = #line,
        calling method: @escaping @Sendable (Target) -> @MainActor (Tick) -> Void,
        target: Target,
        onEnd: (@Sendable (EndReason) -> Void)? = nil
    ) throws(TimerError) -> PreciseTimer {
        let request = try TimerRequest(tolerance, missedTicks, label, paused, file, line, onEnd)
        let handler = Handler(onMainActor: { method($0)($1) })
        return try request.start(
            schedule,
            .task(TaskDestination(MainActor.shared)),
            target: target,
            handler,
            on: service
        )
    }

    /// The same for a method without parameters. Of two methods of that name, the one with a tick is called.
    @discardableResult
    @_disfavoredOverload
    public static func schedule<Target: AnyObject & Sendable>(
        _ schedule: Schedule,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        missedTicks: MissedTickPolicy = .skip,
        deliver: MainActorDelivery = .mainActor,
        label: String? = nil,
        paused: Bool = false,
        file: StaticString = #fileID,
        line: UInt = #line,
        calling method: @escaping @Sendable (Target) -> @MainActor () -> Void,
        target: Target,
        onEnd: (@Sendable (EndReason) -> Void)? = nil
    ) throws(TimerError) -> PreciseTimer {
        let request = try TimerRequest(tolerance, missedTicks, label, paused, file, line, onEnd)
        let handler = Handler(onMainActor: { (target: Target, _) in method(target)() })
        return try request.start(
            schedule,
            .task(TaskDestination(MainActor.shared)),
            target: target,
            handler,
            on: service
        )
    }
}

extension Handler {
    /// A call that is isolated to the main actor.
    fileprivate init<Target: AnyObject & Sendable>(
        onMainActor call: @escaping @MainActor @Sendable (Target, PreciseTimer.Tick) -> Void
    ) { self.init(inTask: call, onError: nil) }
}
