import PreciseTimer

/// A fault that a search must find: a wrong variant of the timerfd alarm.
enum SleeperPlant: Hashable, Sendable {
    /// The thread looks at the deadline, then says when it will wake.
    case looksBeforePublishing
    /// The thread says when it will wake and looks at the deadline, then arms the timerfd.
    case armsAfterLooking
    /// A setter reads when the thread will wake, then stores the deadline.
    case storesAfterReading
    /// A firing uses the deadline up even if it was replaced.
    case usesUpAnyDeadline
    /// A setter does not look whether the alarm was stopped meanwhile.
    case forgetsTheStop
}

/// What may happen to an alarm.
struct SleeperPlan: Sendable {
    /// The deadlines that the setter may choose; nil disarms.
    var deadlines: [UInt64?]
    /// How many times the alarm is set by another thread, and from inside a firing.
    var settings = 1
    var settingsInside = 1
    /// How many nanoseconds pass.
    var time: UInt64
    /// The margins that a spinner decides on, one after the other; empty for an alarm that only sleeps.
    var margins: [UInt64] = []
    var plant: SleeperPlant?
}

/// The variables that the alarm's threads share. `TimerFDAlarm` has the same ones, besides those of the timerfd itself.
struct SleeperMemory: Hashable {
    var deadline = UInt64.max
    var wakesBy: UInt64 = 0
    var isStopped = false
    /// `Spinner.lastMargin`.
    var lastMargin: UInt64
    /// When the timerfd expires; nil if it is disarmed, or if its expiry was read.
    var expiry: UInt64?
    /// The service's lock, which is held while the alarm is set.
    var isLocked = false
    var now: UInt64 = 0
}

/// The next step of the alarm's thread: one operation on a shared variable, one system call, or one reading of the
/// clock. The steps are those of `TimerFDAlarm.run`, `wait`, `sleep` and `spin`, in their order.
enum SleeperMove: Hashable {
    case loadStopped
    case loadDeadline
    case readClock(next: UInt64)
    case decideMargin(next: UInt64, woke: UInt64)
    /// A step of `sleep`, by its position there.
    case sleep(Sleep, Int)
    case unpublish(Sleep, hasSlept: Bool)
    case readClockAgain(Sleep)
    case lookBeforeSpin(Sleep, woke: UInt64)
    /// `isStillWaiting(for:)` in `spin`, then the clock.
    case spinAtDeadline(Sleep, woke: UInt64)
    case spinAtStop(Sleep)
    case useUp(next: UInt64)
    case lookAtStopBeforeFiring
    /// Inside a firing, after which the thread looks again, or spins: the service may set the alarm.
    case inFiring(Sleep?, woke: UInt64)
    case hasEnded

    /// The numbers of a wait.
    struct Sleep: Hashable {
        let next: UInt64
        let margin: UInt64
        /// When the thread must wake, in time for the margin.
        var alarm: UInt64 { next == .max ? .max : next - margin }
    }

    enum SleepStep { case arm, publish, lookAtDeadline, lookAtStop, read }
}

/// The next step of a thread that sets or stops the alarm, as in `TimerFDAlarm.set` and `stop`. What a setter has read
/// too early is of a planted fault.
enum SetterMove: Hashable {
    case lock(UInt64)
    case store(UInt64, hasRead: UInt64?)
    case loadWakesBy(UInt64, hasStored: Bool)
    case arm(UInt64, wakesBy: UInt64)
    case loadWakesByAgain(wakesBy: UInt64)
    case loadStopped, wake, unlock
}

enum StopperMove: Hashable { case store, wake, hasReturned }

enum SleeperStep: Hashable, Sendable {
    case threadGoesOn, setterGoesOn, stopperGoesOn, returnsFromFiring, timePasses
    case sets(UInt64?, inFiring: Bool)
}

/// The timerfd alarm: its thread, a thread that sets it, and a thread that stops it. They share atomics and a timerfd,
/// and no lock protects these. Steps are single operations, in a sequentially consistent order.
///
/// `TimerFDAlarm` is mirrored, because its system calls cannot be held up one by one. A minute, after which its thread
/// looks again in any case, never passes here, and the descriptor works.
final class SleeperWorld: World {
    private let plan: SleeperPlan
    private let sleepSteps: [SleeperMove.SleepStep]
    private var memory: SleeperMemory
    private var thread = SleeperMove.loadStopped
    /// The setter; nil if it is idle. Inside a firing the alarm's own thread sets the alarm.
    private var setter: SetterMove?
    private var inner: SetterMove?
    private var stopper = StopperMove.store
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
        sleepSteps =
            switch plan.plant {
            case .looksBeforePublishing: [.arm, .lookAtDeadline, .lookAtStop, .publish, .read]
            case .armsAfterLooking: [.publish, .lookAtDeadline, .lookAtStop, .arm, .read]
            default: [.arm, .publish, .lookAtDeadline, .lookAtStop, .read]
            }
    }

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
        if stopper != .hasReturned { steps.append(.stopperGoesOn) }
        if memory.now < plan.time { steps.append(.timePasses) }
        return steps
    }

    private var isReady: Bool {
        switch thread {
        case .inFiring: inner.map(isReady) ?? false
        case .sleep(_, 4): memory.expiry.map { $0 <= memory.now } ?? false
        // The same reading of the clock again would change nothing.
        case .spinAtDeadline(let sleep, let woke): memory.now != woke || !isStillWaiting(sleep)
        case .hasEnded: false
        default: true
        }
    }

    private func isReady(_ move: SetterMove) -> Bool { if case .lock = move { !memory.isLocked } else { true } }

    func take(_ step: SleeperStep) {
        switch step {
        case .threadGoesOn: if let move = inner { inner = perform(move) } else { thread = perform(thread) }
        case .setterGoesOn: setter = setter.flatMap(perform)
        case .sets(let deadline, inFiring: true): (inner, innerLeft) = (.lock(deadline ?? .max), innerLeft - 1)
        case .sets(let deadline, inFiring: false): (setter, settingsLeft) = (.lock(deadline ?? .max), settingsLeft - 1)
        case .returnsFromFiring:
            guard case .inFiring(let sleep, let woke) = thread else { return }
            thread = sleep.map { .spinAtDeadline($0, woke: woke) } ?? .loadStopped
        case .stopperGoesOn:
            if stopper == .store { memory.isStopped = true } else { memory.expiry = 0 }
            stopper = stopper == .store ? .wake : .hasReturned
        case .timePasses: memory.now += 1
        }
    }

    // MARK: The threads

    private func perform(_ move: SleeperMove) -> SleeperMove {
        switch move {
        case .loadStopped: return memory.isStopped ? .hasEnded : .loadDeadline
        case .loadDeadline: return .readClock(next: memory.deadline)
        case .readClock(let next):
            return memory.now >= next ? .useUp(next: next) : .decideMargin(next: next, woke: memory.now)
        case .decideMargin(let next, let woke):
            let sleep = SleeperMove.Sleep(next: next, margin: decideMargin(before: next))
            return woke < sleep.alarm ? .sleep(sleep, 0) : .lookBeforeSpin(sleep, woke: woke)
        case .sleep(let sleep, let position):
            switch sleepSteps[position] {
            case .arm: memory.expiry = sleep.alarm == .max ? nil : sleep.alarm
            case .publish: memory.wakesBy = sleep.alarm
            case .lookAtDeadline: if memory.deadline != sleep.next { return .unpublish(sleep, hasSlept: false) }
            case .lookAtStop: if memory.isStopped { return .unpublish(sleep, hasSlept: false) }
            case .read:
                memory.expiry = nil
                return .unpublish(sleep, hasSlept: true)
            }
            return .sleep(sleep, position + 1)
        case .unpublish(let sleep, let hasSlept):
            memory.wakesBy = 0
            return hasSlept ? .readClockAgain(sleep) : .loadStopped
        case .readClockAgain(let sleep):
            return memory.now >= sleep.alarm ? .lookBeforeSpin(sleep, woke: memory.now) : .loadStopped
        case .lookBeforeSpin(let sleep, let woke):
            if woke >= sleep.next { return .useUp(next: sleep.next) }
            return isStillWaiting(sleep) ? .inFiring(sleep, woke: woke) : .spinAtDeadline(sleep, woke: woke)
        case .spinAtDeadline(let sleep, let woke):
            // With a spinner, the alarm fires one nanosecond early on purpose.
            if woke >= sleep.next - min(plan.margins.isEmpty ? 0 : 1, sleep.margin) { return .useUp(next: sleep.next) }
            return memory.deadline == sleep.next ? .spinAtStop(sleep) : .loadStopped
        case .spinAtStop(let sleep):
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

    private func perform(_ move: SetterMove) -> SetterMove? {
        switch move {
        case .lock(let next):
            memory.isLocked = true
            let isWrong = plan.plant == .storesAfterReading
            return isWrong ? .loadWakesBy(next, hasStored: false) : .store(next, hasRead: nil)
        case .store(let next, let read):
            (memory.deadline, wanted) = (next, next)
            return read.map { armIfEarlier(next, $0) } ?? .loadWakesBy(next, hasStored: true)
        case .loadWakesBy(let next, let hasStored):
            return hasStored ? armIfEarlier(next, memory.wakesBy) : .store(next, hasRead: memory.wakesBy)
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
        guard case .sleep(_, 4) = thread, setter == nil, stopper != .wake else { return }
        let wakes = memory.expiry ?? .max
        if stopper == .hasReturned, wakes > memory.now {
            fault = "the thread sleeps, though it was stopped"
        } else if wakes > wanted {
            fault = "the thread sleeps past the deadline \(wanted)"
        }
    }

    func end() { if thread != .hasEnded { fault = "the thread does not end, but waits: \(thread)" } }

    var fingerprint: Int {
        var hasher = Hasher()
        hasher.combine(memory)
        hasher.combine(thread)
        hasher.combine([setter, inner])
        hasher.combine(stopper)
        hasher.combine([settingsLeft, innerLeft, margins % max(1, plan.margins.count)])
        hasher.combine(wanted)
        return hasher.finalize()
    }

    func text(of step: SleeperStep) -> String {
        switch step {
        case .threadGoesOn: "the thread: " + (inner.map { "\($0), inside a firing" } ?? "\(thread)")
        case .setterGoesOn: "the setter: \(setter.map { "\($0)" } ?? "")"
        case .stopperGoesOn: "the stopper: \(stopper)"
        default: "\(step)"
        }
    }
}
