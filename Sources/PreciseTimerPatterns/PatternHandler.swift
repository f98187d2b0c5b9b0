internal import PreciseTimer

/// A handler of a pattern, in whichever form of `PreciseTimer.schedule` it was given.
struct PatternHandler<Value: Sendable>: Sendable {
    /// Where it is called, if it is called in place.
    var deliver = PreciseTimer.Delivery.inline
    /// It, if it can be called in place.
    var plain: (@Sendable (Value) -> Void)?
    /// The actor on which a task calls it; nil for the shared thread pool. A target that is the actor is not retained.
    let actor: @Sendable () -> (any Actor)?
    /// It, as it is called in a task.
    let inTask: @Sendable (isolated (any Actor)?, Value) async -> Void
}

/// What a pattern does with the ticks of its timers: it decides whether the handler is called, and with what. Made once
/// for all its timers, which hand the handler on to `PreciseTimer.schedule`.
enum PatternTicks<Target: AnyObject & Sendable>: Sendable {
    case plain(PreciseTimer.Delivery, @Sendable (Target, PreciseTimer.Tick) -> Void)
    case inTask(@isolated(any) @Sendable (Target, PreciseTimer.Tick) async -> Void)

    /// - Parameters:
    ///   - handler: the handler.
    ///   - value: what it is called with; nil for no call. Asked where the handler runs: what was called there before
    ///     counts.
    ///   - done: called when it has returned.
    init<Value>(
        _ handler: PatternHandler<Value>,
        value: @escaping @Sendable (Target, PreciseTimer.Tick) -> Value?,
        done: @escaping @Sendable (Target) -> Void = { _ in }
    ) {
        if let call = handler.plain {
            self = .plain(handler.deliver) { target, tick in
                guard let value = value(target, tick) else { return }
                call(value)
                done(target)
            }
            return
        }
        let (actor, call) = (handler.actor, handler.inTask)
        let deliver: @Sendable (isolated (any Actor)?, Target, PreciseTimer.Tick) async -> Void = {
            guard let value = value($1, $2) else { return }
            await call($0, value)
            done($1)
        }
        // A task that starts on the main actor does not need the shared thread pool.
        let onMainActor = { @MainActor @Sendable in await deliver(MainActor.shared, $0, $1) }
        self = actor() is MainActor ? .inTask(onMainActor) : .inTask { await deliver(actor(), $0, $1) }
    }

    /// Schedules a timer on demand.
    func schedule(_ options: PatternOptions, _ target: Target) throws(TimerError) -> PreciseTimer {
        let (service, tolerance) = (options.service, options.tolerance)
        let (label, file, line) = (options.label, options.file, options.line)
        switch self {
        case .plain(let deliver, let call):
            return try PreciseTimer.schedule(
                .onDemand,
                on: service,
                tolerance: tolerance,
                deliver: deliver,
                label: label,
                file: file,
                line: line,
                target: target,
                handler: call
            )
        case .inTask(let call):
            return try PreciseTimer.schedule(
                .onDemand,
                on: service,
                tolerance: tolerance,
                label: label,
                file: file,
                line: line,
                target: target,
                handler: call
            )
        }
    }
}

/// What a caller says of the timers of a pattern, besides the handler.
struct PatternOptions: Sendable {
    let service: TimerService
    let tolerance: Duration
    let label: String?
    let file: StaticString
    let line: UInt
}
