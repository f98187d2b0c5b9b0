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

    /// Schedules a timer whose handle is its target: keep the handle, for when it is dropped the timer ends.
    ///
    /// ```swift
    /// let blink = try PreciseTimer.schedule(.every(.seconds(1))) { timer, tick in
    ///     if tick.index == 9 { timer.cancel() }
    /// }
    /// ```
    ///
    /// As the form with a target otherwise. A debug build says on standard error when a handle was dropped before its
    /// first tick, with the place of this call.
    ///
    /// - Parameters:
    ///   - schedule: when to tick.
    ///   - service: the running backend to use.
    ///   - tolerance: how late a tick may be on purpose; timers with a tolerance share wake-ups. Not negative.
    ///   - missedTicks: what becomes of deadlines that could not be met.
    ///   - deliver: where the handler runs.
    ///   - label: a name for ``TimerService/activeTimers``.
    ///   - paused: whether the timer waits for ``PreciseTimer/resume()`` before it ticks.
    ///   - file: the file named in that warning and by ``TimerService/activeTimers``.
    ///   - line: the line named there.
    ///   - onEnd: hears once why the timer ended.
    ///   - handler: called with the handle and the facts of the tick.
    /// - Returns: the handle, which keeps the timer going.
    /// - Throws: `TimerError` for a schedule that makes no sense, and where the system refuses a thread or descriptor.
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
