import PreciseTimer
import PreciseTimerTestKit
import TimerAlarms
import TimerKernel

/// Performs steps with the library, through its public interface, and records the observed events.
final class LibraryRun: Sendable {
    private struct State {
        var virtual: VirtualTime
        var handles: [Int: PreciseTimer] = [:]
        var targets: [Int: Witness] = [:]
        var targetsMade = 0
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
        let virtual = VirtualTime(clock: clock)
        (self.clock, start, state) = (clock, virtual.now, Lock(State(virtual: virtual)))
    }

    /// The instant at which virtual time begins.
    let start: TimerInstant

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
        for id in state.withLock({ $0.handles.keys }) { _ = letGo { $0.handles.removeValue(forKey: id) } }
        for id in state.withLock({ $0.targets.keys.sorted() }) { _ = letGo { $0.targets.removeValue(forKey: id) } }
        return takeEvents()
    }

    private func takeEvents() -> [Event] {
        state.withLock { state in
            defer { state.events = [] }
            return state.events
        }
    }

    fileprivate func note(_ event: Event) { state.withLock { $0.events.append(event) } }

    private var virtual: VirtualTime { state.withLock { $0.virtual } }

    private var standing: Standing {
        let (virtual, handles) = state.withLock { state in
            (state.virtual, state.handles.filter { !state.ended.contains($0.key) })
        }
        return Standing(
            now: virtual.now.nanoseconds,
            pendingCount: virtual.pendingCount,
            nextWakeTime: virtual.nextDeadline?.nanoseconds.notBeyond(start),
            nextDeadlines: handles.mapValues { $0.nextDeadline?.nanoseconds.notBeyond(start) },
            remaining: handles.mapValues { $0.remaining.map { min($0, .nanoseconds(Rule.farAway / 2)) } },
            periods: handles.mapValues(\.period)
        )
    }

    // MARK: Steps

    private func perform(_ step: Step) { note(effect(of: step)) }

    private func effect(of step: Step) -> Event {
        switch step {
        case .schedule(let plan): return schedule(plan)
        case .cancel(let id): return control(id) { .returned($0.cancel()) }
        case .cancelAndWait(let id): return control(id) { .returned($0.cancelAndWait()) }
        case .pause(let id, let keepsGrid):
            return control(id) { .returned($0.pause(keeping: keepsGrid ? .grid : .remaining)) }
        case .resume(let id): return control(id) { .returned($0.resume()) }
        case .fire(let id): return control(id) { .returned($0.fire()) }
        case .reschedule(let id, let rule, let keepsPhase):
            let schedule = rule.schedule(at: virtual.now)
            return control(id) { timer in
                Self.result { () throws(TimerError) in
                    if keepsPhase {
                        try timer.reschedule(schedule, keeping: .phase)
                    } else {
                        try timer.reschedule(schedule)
                    }
                }
            }
        case .restart(let id): return control(id) { .returned($0.restart()) }
        case .readState(let id): return control(id) { .state($0.state) }
        case .drop(let id): return mayDrop(id) ? letGo { $0.handles.removeValue(forKey: id) } : .skipped
        case .release(let target): return letGo { $0.targets.removeValue(forKey: target) }
        case .readActiveTimers: return .activeTimers(activeTimers)
        case .shutDown:
            state.withLock { $0.isShutDown = true }
            virtual.service.shutdown()
        case .renew:
            let new = VirtualTime(clock: clock)
            let isRenewed = state.withLock { state in
                defer { if state.isShutDown { (state.virtual, state.isShutDown) = (new, false) } }
                return state.isShutDown
            }
            if !isRenewed { return .skipped }
        case .advance(let length): virtual.advance(by: .nanoseconds(length))
        case .jump(let length): virtual.jump(by: .nanoseconds(length))
        case .inject(let fault, let delay): virtual.inject(fault, after: .nanoseconds(delay))
        }
        return .done
    }

    private static func result(_ call: () throws(TimerError) -> Void) -> Event {
        do throws(TimerError) { try call() } catch { return .refused(error.code) }
        return .done
    }

    private func control(_ id: Int, _ body: (PreciseTimer) -> Event) -> Event {
        state.withLock { $0.handles[id] }.map(body) ?? .skipped
    }

    private func schedule(_ plan: Plan) -> Event {
        let virtual = virtual
        // This keeps the ticks of a round below a batch, and the run fast.
        guard virtual.pendingCount < 12 else { return .skipped }
        // The captures of a refused timer are released when `makeTimer` returns.
        return Self.result { () throws(TimerError) in
            let timer = try makeTimer(plan, on: virtual)
            state.withLock { $0.handles[plan.id] = timer }
        }
    }

    private func makeTimer(_ plan: Plan, on virtual: VirtualTime) throws(TimerError) -> PreciseTimer {
        let capture = Witness(self, .released(plan.id))
        let schedule = plan.rule.schedule(at: virtual.now)
        let end = { @Sendable [self] (reason: PreciseTimer.EndReason) in ended(plan, reason) }
        if let number = plan.target {
            return try PreciseTimer.schedule(
                schedule,
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
            schedule,
            on: virtual.service,
            tolerance: .nanoseconds(plan.tolerance),
            missedTicks: plan.policy,
            label: "\(plan.id)",
            paused: plan.isPaused,
            onEnd: end
        ) { _, tick in capture.run.ticked(plan, tick) }
    }

    /// The target of a number, created on first use.
    private func target(_ number: Int, of timer: Int) -> Witness {
        state.withLock { state in
            state.targeted.insert(timer)
            if let target = state.targets[number] { return target }
            let target = Witness(self, .died(state.targetsMade))
            state.targetsMade += 1
            state.targets[number] = target
            return target
        }
    }

    /// A debug build reports a handle that is dropped before its first tick.
    private func mayDrop(_ id: Int) -> Bool {
        #if DEBUG
        state.withLock { $0.targeted.contains(id) || ($0.calls[id] ?? 0) > 0 || $0.ended.contains(id) }
        #else
        true
        #endif
    }

    /// Releases what the body takes out of the state, without the lock.
    private func letGo<Object: Sendable>(_ take: (inout sending State) -> sending Object?) -> Event {
        state.withLock(take) == nil ? .skipped : .done
    }

    private var activeTimers: [Seen] {
        virtual.service.activeTimers.filter(\.isTargetAlive)
            .map { snapshot in
                Seen(
                    id: snapshot.label.flatMap { Int($0) } ?? -1,
                    nextDeadline: snapshot.nextDeadline?.nanoseconds.notBeyond(start),
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
            state.events.append(.tick(plan.id, tick))
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

/// An object that a handler captures, or that a timer has as its target. It tells of its release.
private final class Witness: Sendable {
    let run: LibraryRun
    private let release: Event

    init(_ run: LibraryRun, _ release: Event) { (self.run, self.release) = (run, release) }

    deinit { run.note(release) }
}
