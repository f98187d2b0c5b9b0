/// Timers whose handler is isolated to the main actor, or to another global actor.
extension PreciseTimer {
    /// Schedules a timer whose handler is isolated to the main actor, or to another global actor, and runs there.
    ///
    /// ```swift
    /// try PreciseTimer.schedule(.every(.seconds(1)), target: model) { @MainActor model, tick in
    ///     model.refresh()
    /// }
    /// ```
    ///
    /// The annotation chooses this form. Without it the closure is an ordinary handler, and the compiler refuses access
    /// to what belongs to the main actor.
    ///
    /// The form takes no `deliver`: the tick goes to the handler's actor by itself. The timer never retains its target,
    /// calls one handler at a time, and never calls it from inside this method. Deadlines that pass while the actor is
    /// busy are merged into one tick and counted in its ``Tick/missed``. The main actor's ticks come only if the program
    /// runs the main thread's loop, as an `async` main, `dispatchMain()` and a main run loop do. O(log n) for n timers on
    /// the service.
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
    ///   - target: the object that the ticks are for.
    ///   - onEnd: called once, with the reason the timer ended, on the thread that ended it; if a handler was running, on
    ///     the handler's actor after its return.
    ///   - handler: called on its actor, with the target and the facts of the tick.
    /// - Returns: the handle, which may be dropped.
    /// - Throws: `TimerError` if the schedule makes no sense, if the handler is a function value that is isolated to no
    ///   actor, or if the system refuses a thread or descriptor.
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
        let request = try TimerRequest(schedule, tolerance, missedTicks, label, paused, file, line, onEnd)
        let record = IsolatedTargetRecord(request, target: target, isolation: isolation, handler: handler)
        return try service.core.admit(record, request, service)
    }

    /// Schedules a timer whose handle is its target, and whose handler is isolated to the main actor, or to another
    /// global actor, and runs there. Keep the handle: the timer ends when the handle is released.
    ///
    /// ```swift
    /// let blink = try PreciseTimer.schedule(.every(.seconds(1))) { @MainActor timer, tick in
    ///     lamp.isOn.toggle()
    ///     if tick.index == 9 { timer.cancel() }
    /// }
    /// ```
    ///
    /// Otherwise like the form with a target. A debug build says on standard error if the handle was released before the
    /// first tick, with the place of this call.
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
    ///   - onEnd: called once, with the reason the timer ended.
    ///   - handler: called on its actor, with the handle and the facts of the tick.
    /// - Returns: the handle, which keeps the timer going.
    /// - Throws: `TimerError` if the schedule makes no sense, if the handler is a function value that is isolated to no
    ///   actor, or if the system refuses a thread or descriptor.
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
        let request = try TimerRequest(schedule, tolerance, missedTicks, label, paused, file, line, onEnd)
        let record = IsolatedHandleRecord(request, target: nil, isolation: isolation, handler: handler)
        return try service.core.admit(record, request, service)
    }

    /// The actor of a handler; refuses a function value of type `@isolated(any)` that has none.
    private static func actor(of isolation: (any Actor)?) throws(TimerError) -> any Actor {
        if let isolation { return isolation }
        throw TimerError(
            .invalidDelivery,
            "scheduling an @isolated(any) handler that is isolated to no actor (pass it as an ordinary function)"
        )
    }
}
