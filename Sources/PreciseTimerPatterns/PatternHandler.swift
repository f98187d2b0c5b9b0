internal import PreciseTimer

/// A handler of a pattern, in whichever form of `PreciseTimer.schedule` it was given.
struct PatternHandler<Value: Sendable>: Sendable {
    /// Where it is called, if it is called in place.
    var place = PreciseTimer.Delivery.inline
    /// The handler, if it can be called in place.
    var plain: (@Sendable (Value) -> Void)?
    /// The actor on which a task calls it; nil for the shared thread pool. A target that is the actor is not retained.
    let actor: @Sendable () -> (any Actor)?
    /// The handler, as a task calls it.
    let inTask: @Sendable (isolated (any Actor)?, Value) async -> Void

    /// What schedules the timers on demand of a pattern, for a target each. Made once for all of them, so that they
    /// share what their ticks do.
    ///
    /// `value` gives what the handler is called with; nil for no call. It is asked where the handler runs: what was
    /// called there before counts. `done` is called when the handler has returned.
    func timers<Target: AnyObject & Sendable>(
        _ options: PatternOptions,
        done: @escaping @Sendable (Target) -> Void = { _ in },
        value: @escaping @Sendable (Target, PreciseTimer.Tick) -> Value?
    ) -> @Sendable (Target) throws(TimerError) -> PreciseTimer {
        let (service, tolerance, label, file, line) = options
        let (place, actor, inTask) = (place, actor, inTask)
        if let plain {
            let call = { @Sendable (target: Target, tick: PreciseTimer.Tick) in
                guard let value = value(target, tick) else { return }
                plain(value)
                done(target)
            }
            return { target throws(TimerError) in
                try PreciseTimer.schedule(
                    .onDemand,
                    on: service,
                    tolerance: tolerance,
                    deliver: place,
                    label: label,
                    file: file,
                    line: line,
                    target: target,
                    handler: call
                )
            }
        }
        let deliver: @Sendable (isolated (any Actor)?, Target, PreciseTimer.Tick) async -> Void = {
            guard let value = value($1, $2) else { return }
            await inTask($0, value)
            done($1)
        }
        // A task that starts on the main actor does not need the shared thread pool.
        let onMainActor = { @MainActor @Sendable in await deliver(MainActor.shared, $0, $1) }
        let call: @isolated(any) @Sendable (Target, PreciseTimer.Tick) async -> Void =
            actor() is MainActor ? onMainActor : { await deliver(actor(), $0, $1) }
        return { target throws(TimerError) in
            try PreciseTimer.schedule(
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
typealias PatternOptions = (service: TimerService, tolerance: Duration, label: String?, file: StaticString, line: UInt)
