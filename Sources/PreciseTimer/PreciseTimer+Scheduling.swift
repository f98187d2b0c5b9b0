/// The three ways to schedule a timer.
extension PreciseTimer {
    /// Schedules a timer for a target, which it never retains: it ends when the target is gone.
    ///
    /// ```swift
    /// try PreciseTimer.schedule(.every(.milliseconds(10)), target: controller) { controller, tick in
    ///     controller.step(missed: tick.missed)
    /// }
    /// ```
    ///
    /// The handler is called where `deliver` says, never twice at once, and never from inside this call. For the time
    /// of a call the target is held, so its `deinit` may run there. If the target is released the timer ends: with its
    /// next deadline, or within seconds if that is far or the timer is paused. What the handler captures is the
    /// caller's: to capture the target there would keep it alive. O(log n) for n timers on the service.
    ///
    /// - Parameters:
    ///   - schedule: when to tick.
    ///   - service: the running backend to use.
    ///   - tolerance: how late a tick may be on purpose; timers with a tolerance share wake-ups. Not negative.
    ///   - missedTicks: what becomes of deadlines that could not be met.
    ///   - deliver: where the handler runs.
    ///   - label: a name for ``TimerService/activeTimers``.
    ///   - paused: whether the timer waits for ``PreciseTimer/resume()`` before it ticks.
    ///   - file: the file that ``TimerService/activeTimers`` names.
    ///   - line: the line that it names.
    ///   - target: the object that the ticks are for.
    ///   - onEnd: called once, with the reason the timer ended: on the thread that ended it or, if a handler was running,
    ///     on that handler's after its return. For a released target that may be a thread of the library's. Return quickly.
    ///   - handler: called with the target and the facts of the tick.
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
        target: Target,
        onEnd: (@Sendable (EndReason) -> Void)? = nil,
        handler: @escaping @Sendable (Target, Tick) -> Void
    ) throws(TimerError) -> PreciseTimer {
        let request = try TimerRequest(schedule, tolerance, missedTicks, label, paused, file, line, onEnd)
        let record = TargetRecord(request, deliver.destination, target: target, handler: handler)
        return try service.core.admit(record, request, service)
    }

    /// Schedules a timer whose handle is its target: keep the handle, because the timer ends when it is released. The
    /// handler gets the handle; `{ timer, tick in if tick.index == 9 { timer.cancel() } }` ends after ten ticks.
    /// Otherwise like the form with a target, which says what the parameters are. A debug build says on standard error
    /// if the handle was released before the first tick, with the place of this call.
    public static func schedule(
        _ schedule: Schedule,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        missedTicks: MissedTickPolicy = .skip,
        deliver: Delivery = .inline,
        label: String? = nil,
        paused: Bool = false,
        file: StaticString = #fileID,
        line: UInt = #line,
        onEnd: (@Sendable (EndReason) -> Void)? = nil,
        handler: @escaping @Sendable (PreciseTimer, Tick) -> Void
    ) throws(TimerError) -> PreciseTimer {
        let request = try TimerRequest(schedule, tolerance, missedTicks, label, paused, file, line, onEnd)
        return try service.core.admit(HandleRecord(request, deliver.destination, handler: handler), request, service)
    }
}
