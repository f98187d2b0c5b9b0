internal import TimerAlarms
public import TimerKernel

extension PreciseTimer {
    /// Which calls of a burst call the handler.
    public enum Edge: Hashable, Sendable {
        /// The first call, at once.
        case leading
        /// The last call, at the end.
        case trailing
        /// The first call at once and, if more calls follow, the last one at the end.
        case both
    }

    /// Calls a handler once for a burst of calls: when no call has come for a time, or at the first one.
    ///
    /// ```swift
    /// let save = try PreciseTimer.debounce(.milliseconds(300), deliver: .queue(queue), target: model) { $0.save() }
    /// save()                                          // with each change
    /// ```
    ///
    /// The last call of a burst is never lost with ``Edge/trailing`` and ``Edge/both``. The handler is never called
    /// twice at once, wherever it runs. The timer does not retain the target. It ends if the target or the trigger is
    /// released.
    ///
    /// - Parameters:
    ///   - quiet: how long no call must come before the burst is over. Not negative.
    ///   - edge: which calls of the burst call the handler.
    ///   - service: the running backend to use.
    ///   - tolerance: how late the handler may be called on purpose. Not negative.
    ///   - deliver: where the handler runs. A call at the leading edge runs there, too, as soon as possible.
    ///   - label: a name for ``TimerService/activeTimers``.
    ///   - file: the file that ``TimerService/activeTimers`` names.
    ///   - line: the line that ``TimerService/activeTimers`` names.
    ///   - target: the object that the handler receives.
    ///   - handler: called with the target.
    /// - Returns: the trigger. Keep it, and call it.
    /// - Throws: `TimerError` for a negative time, or if the system refuses a thread or descriptor.
    public static func debounce<Target: AnyObject & Sendable>(
        _ quiet: Duration,
        edge: Edge = .trailing,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        deliver: Delivery = .inline,
        label: String? = nil,
        file: StaticString = #fileID,
        line: UInt = #line,
        target: Target,
        handler: @escaping @Sendable (Target) -> Void
    ) throws(TimerError) -> Trigger {
        let trigger = try Trigger(CallLimit(quiet, edge, isDebounce: true))
        return try trigger.start(service, tolerance, deliver, label, file, line, target, handler)
    }

    /// The same for a handler that is isolated to the main actor, and runs there:
    /// `debounce(.milliseconds(300), deliver: .mainActor, target: model) { model in model.search() }`.
    public static func debounce<Target: AnyObject & Sendable>(
        _ quiet: Duration,
        edge: Edge = .trailing,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        deliver: MainActorDelivery,
        label: String? = nil,
        file: StaticString = #fileID,
        line: UInt = #line,
        target: Target,
        handler: @escaping @MainActor @Sendable (Target) -> Void
    ) throws(TimerError) -> Trigger {
        let trigger = try Trigger(CallLimit(quiet, edge, isDebounce: true))
        return try trigger.start(service, tolerance, deliver, label, file, line, target, handler)
    }

    /// Calls a handler at most once in a period, however often it is triggered.
    ///
    /// ```swift
    /// let draw = try PreciseTimer.throttle(.milliseconds(16), target: model) { model in model.refresh() }
    /// draw()                                          // with each change
    /// ```
    ///
    /// With ``Edge/leading`` the first call goes through at once, and further calls in the period after it are dropped.
    /// With ``Edge/trailing`` one call goes through a period after the first one. ``Edge/both`` does the first, and the
    /// last call of a period goes through at its end, which begins the next period.
    ///
    /// Otherwise like `debounce`, which describes the
    /// other parameters.
    ///
    /// - Parameters:
    ///   - period: the least time between two calls of the handler. Not negative.
    ///   - edge: which calls in a period call the handler.
    ///   - service: the running backend to use.
    ///   - tolerance: how late the handler may be called on purpose. Not negative.
    ///   - deliver: where the handler runs.
    ///   - label: a name for ``TimerService/activeTimers``.
    ///   - file: the file that ``TimerService/activeTimers`` names.
    ///   - line: the line that ``TimerService/activeTimers`` names.
    ///   - target: the object that the handler receives.
    ///   - handler: called with the target.
    /// - Returns: the trigger. Keep it, and call it.
    /// - Throws: `TimerError` for a negative time, or if the system refuses a thread or descriptor.
    public static func throttle<Target: AnyObject & Sendable>(
        _ period: Duration,
        edge: Edge = .both,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        deliver: Delivery = .inline,
        label: String? = nil,
        file: StaticString = #fileID,
        line: UInt = #line,
        target: Target,
        handler: @escaping @Sendable (Target) -> Void
    ) throws(TimerError) -> Trigger {
        let trigger = try Trigger(CallLimit(period, edge, isDebounce: false))
        return try trigger.start(service, tolerance, deliver, label, file, line, target, handler)
    }

    /// The same for a handler that is isolated to the main actor, and runs there.
    public static func throttle<Target: AnyObject & Sendable>(
        _ period: Duration,
        edge: Edge = .both,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        deliver: MainActorDelivery,
        label: String? = nil,
        file: StaticString = #fileID,
        line: UInt = #line,
        target: Target,
        handler: @escaping @MainActor @Sendable (Target) -> Void
    ) throws(TimerError) -> Trigger {
        let trigger = try Trigger(CallLimit(period, edge, isDebounce: false))
        return try trigger.start(service, tolerance, deliver, label, file, line, target, handler)
    }
}
