/// The timerfd alarm: its thread, a thread that sets it, and a thread that stops it. They share atomics and a timerfd,
/// and no lock protects these. Steps are single operations, in a sequentially consistent order.
///
/// `TimerFDAlarm` is mirrored, because its system calls cannot be held up one by one. A minute, after which its thread
/// looks again in any case, never passes here, and the descriptor works.
final class SleeperWorld: World {
    let plan: SleeperPlan
    private(set) var memory: SleeperMemory
    private(set) var thread = SleeperMove.loadStopped
    /// The setter; nil if it is idle. Inside a firing the alarm's own thread sets the alarm.
    private(set) var setter: SetterMove?
    private(set) var inner: SetterMove?
    private(set) var stopper: StopperMove?
    private var settingsLeft: Int
    private var innerLeft: Int
    private var margins = 0
    /// The deadline that a naive reader of the contract expects: the last one that was set, until it has fired.
    private var wanted = UInt64.max
    private(set) var fault: String?

    init(_ plan: SleeperPlan) {
        self.plan = plan
        memory = SleeperMemory(lastMargin: plan.margins.first ?? 0)
        (settingsLeft, innerLeft) = (plan.settings, plan.settingsInside)
    }

    private var lead: UInt64 { plan.margins.isEmpty ? 0 : 1 }

    // MARK: The next steps

    var steps: [SleeperStep] {
        var steps: [SleeperStep] = []
        if isReady { steps.append(.threadGoesOn) }
        if let setter, isReady(setter) { steps.append(.setterGoesOn) }
        if setter == nil, settingsLeft > 0 { steps += plan.deadlines.map { .sets($0, inFiring: false) } }
        if case .inFiring = thread, inner == nil {
            steps.append(.returnsFromFiring)
            if innerLeft > 0 { steps += plan.deadlines.map { .sets($0, inFiring: true) } }
        }
        if stopper == nil { steps.append(.stops) }
        if let stopper, stopper != .hasReturned { steps.append(.stopperGoesOn) }
        if memory.now < plan.time { steps.append(.timePasses) }
        return steps
    }

    private var isReady: Bool {
        switch thread {
        case .inFiring: inner.map(isReady) ?? false
        case .read: memory.expiry.map { $0 <= memory.now } ?? false
        // The same reading of the clock again would change nothing.
        case .spinAtDeadline(let sleep, let woke):
            memory.now != woke || memory.deadline != sleep.next || memory.isStopped
        case .hasEnded: false
        default: true
        }
    }

    private func isReady(_ move: SetterMove) -> Bool { if case .lock = move { !memory.isLocked } else { true } }

    func take(_ step: SleeperStep) {
        switch step {
        case .threadGoesOn:
            if let move = inner { inner = perform(move) } else { thread = perform(thread) }
        case .setterGoesOn: setter = setter.flatMap(perform)
        case .sets(let deadline, let isInFiring):
            if isInFiring {
                (inner, innerLeft) = (.lock(deadline ?? .max), innerLeft - 1)
            } else {
                (setter, settingsLeft) = (.lock(deadline ?? .max), settingsLeft - 1)
            }
        case .returnsFromFiring:
            guard case .inFiring(let sleep, let woke) = thread else { return }
            thread = sleep.map { .spinAtDeadline($0, woke: woke) } ?? .loadStopped
        case .stops: stopper = .store
        case .stopperGoesOn:
            if stopper == .store { memory.isStopped = true } else { memory.expiry = 0 }
            stopper = stopper == .store ? .wake : .hasReturned
        case .timePasses: memory.now += 1
        }
    }

    // MARK: The alarm's thread

    private func perform(_ move: SleeperMove) -> SleeperMove {
        switch move {
        case .loadStopped: return memory.isStopped ? .hasEnded : .loadDeadline
        case .loadDeadline: return .readClock(next: memory.deadline)
        case .readClock(let next):
            return memory.now >= next ? .useUp(next: next) : .decideMargin(next: next, woke: memory.now)
        case .decideMargin(let next, let woke):
            let sleep = SleeperMove.Sleep(next: next, margin: decideMargin(before: next))
            return woke < sleep.alarm ? beginSleep(sleep) : .lookBeforeSpin(sleep, woke: woke)
        case .arm, .publish, .lookAtDeadline, .lookAtStop, .read, .unpublish: return performSleep(move)
        case .readClockAgain(let sleep):
            return memory.now >= sleep.alarm ? .lookBeforeSpin(sleep, woke: memory.now) : .loadStopped
        case .lookBeforeSpin(let sleep, let woke):
            if woke >= sleep.next { return .useUp(next: sleep.next) }
            return isStillWaiting(sleep) ? .inFiring(sleep, woke: woke) : .spinAtDeadline(sleep, woke: woke)
        case .spinAtDeadline(let sleep, let woke):
            if woke >= sleep.next - min(lead, sleep.margin) { return .useUp(next: sleep.next) }
            return memory.deadline == sleep.next ? .spinAtStop(sleep, woke: woke) : .loadStopped
        case .spinAtStop(let sleep, _):
            return memory.isStopped ? .loadStopped : .spinAtDeadline(sleep, woke: memory.now)
        case .useUp(let next):
            if memory.deadline != next, plan.plant != .usesUpAnyDeadline { return .loadStopped }
            memory.deadline = .max
            if wanted == next { wanted = .max }
            return .lookAtStopBeforeFiring
        case .lookAtStopBeforeFiring: return memory.isStopped ? .loadStopped : .inFiring(nil, woke: 0)
        case .inFiring, .hasEnded: return move
        }
    }

    private func decideMargin(before next: UInt64) -> UInt64 {
        if next == .max || plan.margins.isEmpty { return 0 }
        memory.lastMargin = plan.margins[margins % plan.margins.count]
        margins += 1
        return min(memory.lastMargin, next)
    }

    private func isStillWaiting(_ sleep: SleeperMove.Sleep) -> Bool {
        memory.deadline == sleep.next && !memory.isStopped
    }

    private func beginSleep(_ sleep: SleeperMove.Sleep) -> SleeperMove {
        plan.plant == .armsAfterLooking ? .publish(sleep) : .arm(sleep)
    }

    private func performSleep(_ move: SleeperMove) -> SleeperMove {
        switch move {
        case .arm(let sleep):
            memory.expiry = sleep.alarm == .max ? nil : sleep.alarm
            switch plan.plant {
            case .armsAfterLooking: return .read(sleep)
            case .looksBeforePublishing: return .lookAtDeadline(sleep)
            default: return .publish(sleep)
            }
        case .publish(let sleep):
            memory.wakesBy = sleep.alarm
            return plan.plant == .looksBeforePublishing ? .read(sleep) : .lookAtDeadline(sleep)
        case .lookAtDeadline(let sleep):
            return memory.deadline == sleep.next ? .lookAtStop(sleep) : .unpublish(sleep, hasSlept: false)
        case .lookAtStop(let sleep):
            if memory.isStopped { return .unpublish(sleep, hasSlept: false) }
            switch plan.plant {
            case .armsAfterLooking: return .arm(sleep)
            case .looksBeforePublishing: return .publish(sleep)
            default: return .read(sleep)
            }
        case .read(let sleep):
            memory.expiry = nil
            return .unpublish(sleep, hasSlept: true)
        case .unpublish(let sleep, let hasSlept):
            memory.wakesBy = 0
            return hasSlept ? .readClockAgain(sleep) : .loadStopped
        default: return move
        }
    }

    // MARK: The setter

    private func perform(_ move: SetterMove) -> SetterMove? {
        switch move {
        case .lock(let next):
            memory.isLocked = true
            return plan.plant == .storesAfterReading ? .loadWakesByFirst(next) : .store(next)
        case .store(let next):
            (memory.deadline, wanted) = (next, next)
            return .loadWakesBy(next)
        case .loadWakesBy(let next): return armIfEarlier(next, memory.wakesBy)
        case .loadWakesByFirst(let next): return .storeLast(next, wakesBy: memory.wakesBy)
        case .storeLast(let next, let wakesBy):
            (memory.deadline, wanted) = (next, next)
            return armIfEarlier(next, wakesBy)
        case .arm(let alarm, let wakesBy):
            memory.expiry = alarm
            return .loadWakesByAgain(wakesBy: wakesBy)
        case .loadWakesByAgain(let wakesBy):
            if memory.wakesBy != wakesBy { return .wake }
            return plan.plant == .forgetsTheStop ? .unlock : .loadStopped
        case .loadStopped: return memory.isStopped ? .wake : .unlock
        case .wake:
            memory.expiry = 0
            return .unlock
        case .unlock:
            memory.isLocked = false
            return nil
        }
    }

    private func armIfEarlier(_ next: UInt64, _ wakesBy: UInt64) -> SetterMove {
        let alarm = next - min(next, memory.lastMargin)
        return alarm < wakesBy ? .arm(alarm, wakesBy: wakesBy) : .unlock
    }

    // MARK: What must hold

    func check() {
        if setter == nil, inner == nil, wanted != memory.deadline { fault = "the deadline \(wanted) was lost" }
        guard case .read = thread, setter == nil, stopper == nil || stopper == .hasReturned else { return }
        let wakes = memory.expiry ?? .max
        if stopper != nil, wakes > memory.now {
            fault = "the thread sleeps, though it was stopped"
        } else if wakes > wanted {
            fault = "the thread sleeps past the deadline \(wanted)"
        }
    }

    func end() {
        if thread != .hasEnded { fault = "the thread does not end, but waits: \(thread)" }
    }

    var fingerprint: Int {
        var hasher = Hasher()
        hasher.combine(memory)
        hasher.combine(thread)
        for move in [setter, inner] { hasher.combine(move) }
        hasher.combine(stopper)
        for number in [settingsLeft, innerLeft, margins % max(1, plan.margins.count)] { hasher.combine(number) }
        hasher.combine(wanted)
        return hasher.finalize()
    }

    func text(of step: SleeperStep) -> String {
        let text =
            switch step {
            case .threadGoesOn: "the thread: " + (inner.map { "\($0), inside a firing" } ?? "\(thread)")
            case .setterGoesOn: "the setter: \(setter.map { "\($0)" } ?? "")"
            case .sets(let deadline, let isInFiring):
                "\(isInFiring ? "the firing" : "the setter") sets \(deadline.map { "\($0)" } ?? "nothing")"
            case .returnsFromFiring: "the firing returns"
            case .stops: "the stopper stops the alarm"
            case .stopperGoesOn: "the stopper: \(stopper.map { "\($0)" } ?? "")"
            case .timePasses: "time passes: \(memory.now + 1)"
            }
        return text.replacing("\(UInt64.max)", with: "ever")
    }
}
