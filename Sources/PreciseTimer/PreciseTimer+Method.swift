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

    /// Schedules a timer that calls, on the main actor, a method of its target that is isolated to the main actor. It
    /// never retains the target: `schedule(.every(.seconds(1)), calling: ViewModel.step, target: model)`. Otherwise
    /// like the form whose handler is isolated to the main actor.
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
        let request = try TimerRequest(tolerance, missedTicks, label, paused, file, line, onEnd)
        return try request.start(schedule, .mainActorTask, target: target, Handler(onMainActor: method), on: service)
    }

    // Without this form, the compiler would choose the first one if `deliver` is given, and forget the isolation.
    /// Schedules a timer that calls a method isolated to the main actor, for callers that also pass `deliver`.
    /// Such a method needs no `deliver`: the only value accepted is `.mainActor`, and any other is refused with
    /// a `TimerError`.
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
                "scheduling a method of the main actor with `deliver: \(deliver.name)` (leave it out: the method runs "
                    + "on the main actor)"
            )
        }
        let request = try TimerRequest(tolerance, missedTicks, label, paused, file, line, onEnd)
        return try request.start(schedule, .mainActorTask, target: target, Handler(onMainActor: method), on: service)
    }
}

extension Handler {
    /// A method that is isolated to the main actor.
    fileprivate init<Target: AnyObject & Sendable>(
        onMainActor method: @escaping @Sendable (Target) -> @MainActor (PreciseTimer.Tick) -> Void
    ) {
        let call: @MainActor @Sendable (Target, PreciseTimer.Tick) -> Void = { method($0)($1) }
        self.init(call)
    }
}
