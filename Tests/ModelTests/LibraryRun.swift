import PreciseTimer
import PreciseTimerTestKit
import TimerAlarms
import TimerKernel

/// Performs steps with the library, through its public interface, and records the observed events.
final class LibraryRun: Sendable {
    private struct State {
        var virtual: VirtualTime
        var handles: [Int: PreciseTimer] = [:]
        var targets: [Int: Target] = [:]
        var targetsMade = 0
        var captures = 0
        var events: [Event] = []
        var calls: [Int: Int] = [:]
        var ended: Set<Int> = []
        /// The timers that have a target.
        var targeted: Set<Int> = []
        var isShutDown = false
    }

    private let clock: TimerClock
    private let state: Lock<State>

    init(clock: TimerClock) {
        self.clock = clock
        state = Lock(State(virtual: VirtualTime(clock: clock)))
    }

    /// The current virtual time.
    var now: UInt64 { virtual.now.nanoseconds }

    /// Performs a step, and returns the events observed meanwhile.
    func take(_ step: Step) -> [Event] {
        perform(step)
        note(.standing(standing))
        return takeEvents()
    }

    /// Ends everything, and returns the events observed meanwhile.
    func finish() -> [Event] {
        let virtual = virtual
        virtual.service.shutdown()
        note(.done)
        let (handles, targets) = state.withLock { state in
            defer { (state.handles, state.targets) = ([:], [:]) }
            return (state.handles, state.targets.sorted { $0.key < $1.key }.map(\.value))
        }
        _ = consume handles
        _ = consume targets
        return takeEvents()
    }

    private func takeEvents() -> [Event] {
        state.withLock { state in
            defer { state.events = [] }
            return state.events
        }
    }

    fileprivate func note(_ event: Event) { state.withLock { $0.events.append(event) } }

    /// Records that a handler's captures were released.
    fileprivate func noteRelease(of timer: Int) {
        state.withLock { state in
            state.captures -= 1
            state.events.append(.released(timer))
        }
    }

    /// The number of handlers whose captures have not been released.
    var captures: Int { state.withLock { $0.captures } }

    private var virtual: VirtualTime { state.withLock { $0.virtual } }

    private var standing: Standing {
        let (virtual, handles) = state.withLock { state in
            (state.virtual, state.handles.filter { !state.ended.contains($0.key) })
        }
        return Standing(
            now: virtual.now.nanoseconds,
            pendingCount: virtual.pendingCount,
            nextWakeTime: virtual.nextDeadline?.nanoseconds,
            nextDeadlines: handles.mapValues { $0.nextDeadline?.nanoseconds },
            periods: handles.mapValues(\.period)
        )
    }

    // MARK: Steps

    private func perform(_ step: Step) {
        switch step {
        case .schedule(let plan): schedule(plan)
        case .cancel(let id): control(id) { .returned($0.cancel()) }
        case .cancelAndWait(let id): control(id) { .returned($0.cancelAndWait()) }
        case .pause(let id): control(id) { .returned($0.pause(keeping: ModelTimer.keepsGrid(id) ? .grid : .remaining)) }
        case .resume(let id): control(id) { .returned($0.resume()) }
        case .fire(let id): control(id) { .returned($0.fire()) }
        case .reschedule(let id, let rule): reschedule(id, rule)
        case .readState(let id): control(id) { .state($0.state) }
        case .drop(let id): drop(id)
        case .release(let target): release(target)
        case .readActiveTimers: note(.activeTimers(activeTimers))
        case .shutDown:
            state.withLock { $0.isShutDown = true }
            virtual.service.shutdown()
            note(.done)
        case .renew: renew()
        case .advance(let length):
            virtual.advance(by: .nanoseconds(length))
            note(.done)
        case .jump(let length):
            virtual.jump(by: .nanoseconds(length))
            note(.done)
        case .inject(let fault, let delay): inject(fault, after: .nanoseconds(delay))
        }
    }

    private func control(_ id: Int, _ body: (PreciseTimer) -> Event) {
        guard let timer = state.withLock({ $0.handles[id] }) else { return note(.skipped) }
        note(body(timer))
    }

    private func schedule(_ plan: Plan) {
        let virtual = virtual
        // This keeps the ticks of a round below a batch, and the run fast.
        guard virtual.pendingCount < 12 else { return note(.skipped) }
        // The captures of a refused timer are released when `makeTimer` returns.
        switch Result(catching: { () throws(TimerError) in try makeTimer(plan, on: virtual) }) {
        case .success(let timer):
            state.withLock { $0.handles[plan.id] = timer }
            note(.done)
        case .failure(let error): note(.refused(error.code))
        }
    }

    private func makeTimer(_ plan: Plan, on virtual: VirtualTime) throws(TimerError) -> PreciseTimer {
        state.withLock { $0.captures += 1 }
        let capture = Capture(plan.id, self)
        let end = { @Sendable [self] (reason: PreciseTimer.EndReason) in ended(plan, reason) }
        if let number = plan.target {
            return try PreciseTimer.schedule(
                plan.rule.schedule(at: virtual.now),
                on: virtual.service,
                tolerance: .nanoseconds(plan.tolerance),
                missedTicks: plan.policy,
                label: "\(plan.id)",
                paused: plan.isPaused,
                target: target(number, of: plan.id),
                onEnd: end
            ) { _, tick in capture.run.ticked(plan, tick) }
        }
        return try PreciseTimer.schedule(
            plan.rule.schedule(at: virtual.now),
            on: virtual.service,
            tolerance: .nanoseconds(plan.tolerance),
            missedTicks: plan.policy,
            label: "\(plan.id)",
            paused: plan.isPaused,
            onEnd: end
        ) { _, tick in capture.run.ticked(plan, tick) }
    }

    /// The target of a number, created on first use.
    private func target(_ number: Int, of timer: Int) -> Target {
        state.withLock { state in
            state.targeted.insert(timer)
            if let target = state.targets[number] { return target }
            let target = Target(state.targetsMade, self)
            state.targetsMade += 1
            state.targets[number] = target
            return target
        }
    }

    private func reschedule(_ id: Int, _ rule: Rule) {
        let now = virtual.now
        control(id) { timer in
            do throws(TimerError) {
                try timer.reschedule(rule.schedule(at: now))
                return .done
            } catch {
                return .refused(error.code)
            }
        }
    }

    private func drop(_ id: Int) {
        // A debug build reports a handle that is dropped before its first tick.
        #if DEBUG
        let mayBeDropped = state.withLock {
            $0.targeted.contains(id) || ($0.calls[id] ?? 0) > 0 || $0.ended.contains(id)
        }
        guard mayBeDropped else { return note(.skipped) }
        #endif
        let dropped = state.withLock { $0.handles.removeValue(forKey: id) }
        guard dropped != nil else { return note(.skipped) }
        _ = consume dropped
        note(.done)
    }

    private func release(_ number: Int) {
        let released = state.withLock { $0.targets.removeValue(forKey: number) }
        guard released != nil else { return note(.skipped) }
        _ = consume released
        note(.done)
    }

    private func renew() {
        let isDone = state.withLock { $0.isShutDown }
        guard isDone else { return note(.skipped) }
        let virtual = VirtualTime(clock: clock)
        state.withLock { state in
            state.virtual = virtual
            state.isShutDown = false
        }
        note(.done)
    }

    private func inject(_ fault: VirtualTime.Fault, after delay: Duration) {
        virtual.inject(fault, after: delay)
        note(.done)
    }

    private var activeTimers: [Seen] {
        virtual.service.activeTimers.filter(\.isTargetAlive)
            .map { snapshot in
                Seen(
                    id: snapshot.label.flatMap { Int($0) } ?? -1,
                    nextDeadline: snapshot.nextDeadline?.nanoseconds,
                    isPaused: snapshot.isPaused,
                    ticks: UInt64(snapshot.ticks),
                    lastLateness: snapshot.lastLateness.map { UInt64($0.wholeNanoseconds) }
                )
            }
            .sorted { $0.id < $1.id }
    }

    // MARK: Calls by the library

    fileprivate func ticked(_ plan: Plan, _ tick: PreciseTimer.Tick) {
        let call = state.withLock { state in
            state.events.append(.tick(plan.id, TickFacts(tick)))
            defer { state.calls[plan.id, default: 0] += 1 }
            return state.calls[plan.id] ?? 0
        }
        for cue in plan.script where cue.call == call { perform(cue.step) }
    }

    private func ended(_ plan: Plan, _ reason: PreciseTimer.EndReason) {
        state.withLock { state in
            state.events.append(.ended(plan.id, reason))
            state.ended.insert(plan.id)
        }
        if reason.hasMoment { plan.epilogue.forEach(perform) }
    }
}

extension PreciseTimer.EndReason {
    /// Whether the contract defines when `onEnd` is called for this reason, and in which order with other events.
    var hasMoment: Bool { self != .targetReleased && self != .serviceShutDown }
}

/// An object that a handler captures.
private final class Capture: Sendable {
    private let id: Int
    let run: LibraryRun

    init(_ id: Int, _ run: LibraryRun) {
        self.id = id
        self.run = run
    }

    deinit { run.noteRelease(of: id) }
}

/// An object that a timer has as its target.
private final class Target: Sendable {
    private let number: Int
    private let run: LibraryRun

    init(_ number: Int, _ run: LibraryRun) {
        self.number = number
        self.run = run
    }

    deinit { run.note(.died(number)) }
}
