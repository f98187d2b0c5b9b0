internal import TimerAlarms
internal import TimerKernel

/// Sends the ticks of one timer to a handler that runs in a task, and cancels that task if the timer ends.
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
        let (previous, isCancelled) = state.withLock { state in
            defer { state.task = task }
            return (state.task, state.isCancelled)
        }
        // The previous task is released without the lock.
        withExtendedLifetime(previous) {}
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

/// A mailbox in which a task waits for ticks. It holds at most one hop; the tick is decided only when the task
/// takes the hop.
final class TickMailbox: Sendable {
    private struct State {
        /// A due tick.
        var hop: Hop?
        /// Why the timer ended, if it has ended.
        var ending: PreciseTimer.EndReason?
        /// The task that waits for a tick or for the end.
        var waiting: CheckedContinuation<Void, Never>?
        /// Whether the task was woken, and has not come yet.
        var isWoken = false
    }

    private let state = Lock(State())

    /// Stores a hop, because a tick is due.
    func receive(_ hop: Hop) {
        wake { $0.hop = hop }
        if ending != nil { letGo() }
    }

    /// Notes that the timer has ended.
    func end(_ reason: PreciseTimer.EndReason) {
        wake { $0.ending = reason }
        letGo()
    }

    /// Takes a stored hop of an ended timer, which yields no tick. Until then the service remembers the timer.
    private func letGo() { _ = state.withLock { $0.hop.take() }?.take() }

    /// The next tick; nil if the timer has ended and no tick is left. Only one task may call it at a time.
    func next() async -> PreciseTimer.Tick? {
        while true {
            let (hop, ending) = state.withLock { state in
                state.isWoken = false
                return (state.hop.take(), state.ending)
            }
            if let hop {
                let (tick, again) = hop.take()
                if again { receive(hop) }
                if let tick { return tick }
            } else if ending != nil {
                return nil
            } else {
                await news()
            }
        }
    }

    /// Whether a task waits for a tick, and whether it was woken and will take one.
    var consumer: (isWaiting: Bool, isWoken: Bool) { state.withLock { ($0.waiting != nil, $0.isWoken) } }

    /// Why the timer ended.
    var ending: PreciseTimer.EndReason? { state.withLock { $0.ending } }

    private func news() async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.hop != nil || state.ending != nil { return true }
                precondition(state.waiting == nil, "an iterator was asked for its next tick by two tasks at once")
                state.waiting = continuation
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    private func wake(_ change: (inout State) -> Void) {
        let waiting = state.withLock { state in
            change(&state)
            state.isWoken = state.isWoken || state.waiting != nil
            return state.waiting.take()
        }
        waiting?.resume()
    }
}
