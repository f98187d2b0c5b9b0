internal import TimerKernel

/// Sends the ticks of one timer to a handler that runs in a task, and cancels that task if the timer ends meanwhile.
final class TaskDestination: Sendable {
    /// What the handler is isolated to.
    enum Isolation: Sendable {
        /// An actor.
        case actor(any Actor)
        /// The target, which is an actor.
        case target
        /// No actor: the handler runs on the shared thread pool.
        case none
    }

    private struct State {
        /// The task of the latest tick.
        var task: Task<Void, Never>?
        /// Whether the timer has ended.
        var isCancelled = false
        /// The latest call that has returned.
        var lastRun: PreciseTimer.HandlerRun?
    }

    private let isolation: Isolation
    private let state = Lock(State())

    init(_ isolation: Isolation) { self.isolation = isolation }

    /// The destination of a handler that is isolated to this actor, or to no actor.
    convenience init(_ actor: (any Actor)?) { self.init(actor.map(Isolation.actor) ?? .none) }

    /// Whether the handler runs on the shared thread pool.
    var isOnThreadPool: Bool { if case .none = isolation { true } else { false } }

    /// Sends a hop on its way.
    func send(_ hop: Hop) {
        let task = task(for: hop)
        let (former, isCancelled) = state.withLock { state in
            defer { state.task = task }
            return (state.task, state.isCancelled)
        }
        // The former task is released without the lock.
        withExtendedLifetime(former) {}
        if isCancelled { task.cancel() }
    }

    /// The actor of a timer's handler; nil if there is none, or if it was released.
    func actor(for record: Record) -> (any Actor)? {
        switch isolation {
        case .actor(let actor): actor
        case .target: record.user.target as? any Actor
        case .none: nil
        }
    }

    /// Cancels the task and lets it go, because the timer has ended.
    func cancel() {
        let task: Task<Void, Never>? = state.withLock(inForkedChild: nil) { state in
            state.isCancelled = true
            return state.task.take()
        }
        task?.cancel()
    }

    /// The latest call of the handler that has returned.
    var lastRun: PreciseTimer.HandlerRun? { state.withLock { $0.lastRun } }

    /// Notes that a call of the handler has returned, or thrown an error.
    func noteRun(_ run: PreciseTimer.HandlerRun) { state.withLock(inForkedChild: ()) { $0.lastRun = run } }

    /// The task of a tick. It is detached: whoever lets a tick come due, such as the caller of `process()` or of a
    /// test's `advance(by:)`, gives the handler neither task-local values nor a priority.
    private func task(for hop: Hop) -> Task<Void, Never> {
        switch isolation {
        // A task that starts on the main actor avoids the shared thread pool, which other tasks may keep busy.
        case .actor(let actor) where actor is MainActor:
            if isDebugBuild { MainLoopWarning.expectTick() }
            let deliver: @MainActor @Sendable () async -> Void = { await hop.deliver(on: MainActor.shared) }
            return Task.detached(operation: deliver)
        case .actor(let actor): return Task.detached { await hop.deliver(on: actor) }
        case .target:
            return Task.detached {
                guard let actor = hop.record.user.target as? any Actor else { return hop.deliverToNoActor() }
                await hop.deliver(on: actor)
            }
        case .none: return Task.detached { await hop.deliver(on: nil) }
        }
    }
}
