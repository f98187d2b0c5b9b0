/// Timers of the main actor, for view models: the compiler knows where their handlers run.
extension PreciseTimer {
    /// Schedules a timer whose handler, `onEnd` and `onError` run on the main actor and are isolated to it.
    ///
    /// ```swift
    /// try PreciseTimer.schedule(.every(.seconds(1)), deliver: .mainActor, target: model) { model, tick in
    ///     model.seconds += 1 + tick.missed
    /// }
    /// ```
    ///
    /// The handler may await and throw. Otherwise like the form with a target and a handler that awaits.
    ///
    /// `onEnd` is called once, with the target and the reason the timer ended; the target is nil if it was released. It
    /// runs in a task of its own, soon after the timer has ended. `onError` is called with the target and an error of
    /// the handler; the timer then goes on. If it throws, or is nil, the timer ends, and the reason is
    /// ``EndReason/failed(_:)``.
    @discardableResult public static func schedule<Target: AnyObject & Sendable>(
        _ schedule: Schedule,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        missedTicks: MissedTickPolicy = .skip,
        deliver: MainActorDelivery,
        label: String? = nil,
        paused: Bool = false,
        file: StaticString = #fileID,
        line: UInt = #line,
        target: Target,
        onEnd: (@MainActor @Sendable (Target?, EndReason) -> Void)? = nil,
        onError: (@MainActor @Sendable (Target, any Error) async throws -> Void)? = nil,
        handler: @escaping @MainActor @Sendable (Target, Tick) async throws -> Void
    ) throws(TimerError) -> PreciseTimer {
        let request = try TimerRequest(tolerance, missedTicks, paused, file, line)
        let onEnd = ending(target, onEnd)
        return try request.start(schedule, target: target, inTask: handler, onError: onError, on: service, label, onEnd)
    }

    // Without this form, the compiler would take the handler for one that awaits, where a lock or
    // `MainActor.assumeIsolated` may not be used.
    /// The same for a handler that does not await: `{ model, tick in model.lock.withLock { model.ticks += 1 } }`.
    @discardableResult public static func schedule<Target: AnyObject & Sendable>(
        _ schedule: Schedule,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        missedTicks: MissedTickPolicy = .skip,
        deliver: MainActorDelivery,
        label: String? = nil,
        paused: Bool = false,
        file: StaticString = #fileID,
        line: UInt = #line,
        target: Target,
        onEnd: (@MainActor @Sendable (Target?, EndReason) -> Void)? = nil,
        onError: (@MainActor @Sendable (Target, any Error) async throws -> Void)? = nil,
        handler: @escaping @MainActor @Sendable (Target, Tick) throws -> Void
    ) throws(TimerError) -> PreciseTimer {
        let request = try TimerRequest(tolerance, missedTicks, paused, file, line)
        let onEnd = ending(target, onEnd)
        return try request.start(schedule, target: target, inTask: handler, onError: onError, on: service, label, onEnd)
    }

    /// Schedules a timer whose handle is its target, and whose handler and `onEnd` run on the main actor and are
    /// isolated to it: `{ timer, tick in label.text = "\(tick.index)" }`. Keep the handle: the timer ends when it is
    /// released. Otherwise like the form with a target.
    public static func schedule(
        _ schedule: Schedule,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        missedTicks: MissedTickPolicy = .skip,
        deliver: MainActorDelivery,
        label: String? = nil,
        paused: Bool = false,
        file: StaticString = #fileID,
        line: UInt = #line,
        onEnd: (@MainActor @Sendable (EndReason) -> Void)? = nil,
        onError: (@MainActor @Sendable (PreciseTimer, any Error) async throws -> Void)? = nil,
        handler: @escaping @MainActor @Sendable (PreciseTimer, Tick) async throws -> Void
    ) throws(TimerError) -> PreciseTimer {
        let request = try TimerRequest(tolerance, missedTicks, paused, file, line)
        let onEnd = ending(onEnd)
        return try request.start(schedule, target: nil, inTask: handler, onError: onError, on: service, label, onEnd)
    }

    /// An `onEnd` that is called in a task of the main actor.
    private static func ending(
        _ onEnd: (@MainActor @Sendable (EndReason) -> Void)?
    ) -> (@Sendable (EndReason) -> Void)? {
        onEnd.map { onEnd in { @Sendable (reason: EndReason) in _ = Task.detached { @MainActor in onEnd(reason) } } }
    }

    /// The same for an `onEnd` that gets the target.
    private static func ending<Target: AnyObject & Sendable>(
        _ target: Target,
        _ onEnd: (@MainActor @Sendable (Target?, EndReason) -> Void)?
    ) -> (@Sendable (EndReason) -> Void)? {
        ending(onEnd.map { onEnd in { @MainActor [weak target] (reason: EndReason) in onEnd(target, reason) } })
    }
}
