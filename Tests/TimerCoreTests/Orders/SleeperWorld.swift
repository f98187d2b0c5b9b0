import PreciseTimer
import TimerAlarms

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
    /// With a spinner, the alarm fires one nanosecond early on purpose.
    var lead: UInt64 { margins.isEmpty ? 0 : 1 }
    /// Whether the thread sleeps by a time-out of its own, and others wake it by a signal.
    var isRealTime = false
}

/// The next step of a thread: one operation on a shared number, one system call, or one reading of the clock. The
/// thread is about to call the service, or its firing, in `fire`.
enum SleeperMove: Error, Hashable {
    case readDeadline, readWakesBy, readIsStopped, storeIsStopped, readLastMargin, readClock, wake, fire
    case storeDeadline(UInt64)
    case useUp(UInt64)
    case storeWakesBy(UInt64)
    case setTimer(UInt64)
    case sleep(until: UInt64)
    case shortenSleep(to: UInt64)
    case decideMargin(before: UInt64)
}

/// The steps of a thread's call so far, with their answers. The alarm's own code runs from the beginning of the call,
/// and is stopped before its next step.
final class SleeperReplay: SleeperSteps {
    private let plan: SleeperPlan
    private var answers: ArraySlice<UInt64>
    /// The last reading of the clock, since which nothing was stored.
    private(set) var reading: UInt64?

    init(_ plan: SleeperPlan, _ answers: [UInt64]) {
        self.plan = plan
        self.answers = answers[...]
    }

    @discardableResult func answer(to move: SleeperMove) throws(SleeperMove) -> UInt64 {
        guard let answer = answers.popFirst() else { throw move }
        switch move {
        case .readClock: reading = answer
        case .readDeadline, .readIsStopped: break
        default: reading = nil
        }
        return answer
    }

    func readDeadline() throws(SleeperMove) -> UInt64 { try answer(to: .readDeadline) }
    func store(deadline: UInt64) throws(SleeperMove) { try answer(to: .storeDeadline(deadline)) }
    func useUp(_ deadline: UInt64) throws(SleeperMove) -> Bool { try answer(to: .useUp(deadline)) == 1 }
    func readWakesBy() throws(SleeperMove) -> UInt64 { try answer(to: .readWakesBy) }
    func store(wakesBy: UInt64) throws(SleeperMove) { try answer(to: .storeWakesBy(wakesBy)) }
    func readIsStopped() throws(SleeperMove) -> Bool { try answer(to: .readIsStopped) == 1 }
    func storeIsStopped() throws(SleeperMove) { try answer(to: .storeIsStopped) }

    func readClock() throws(SleeperMove) -> UInt64 { try answer(to: .readClock) }
    func setTimer(_ instant: UInt64) throws(SleeperMove) {
        if !plan.isRealTime { try answer(to: .setTimer(instant)) }
    }
    func sleepInKernel(until instant: UInt64) throws(SleeperMove) { try answer(to: .sleep(until: instant)) }
    func shortenSleep(to instant: UInt64) throws(SleeperMove) { try answer(to: .shortenSleep(to: instant)) }
    func wake() throws(SleeperMove) { try answer(to: .wake) }

    func decideMargin(before deadline: UInt64) throws(SleeperMove) -> UInt64 {
        plan.margins.isEmpty ? 0 : try answer(to: .decideMargin(before: deadline))
    }
    func readLastMargin() throws(SleeperMove) -> UInt64 { plan.margins.isEmpty ? 0 : try answer(to: .readLastMargin) }
    var lead: UInt64 { plan.lead }
    func fires(for deadline: UInt64, at now: UInt64) {}
    func learn(from wait: SpinPlan.Wait) {}
}

/// A call of a thread, before one of its steps.
struct SleeperCall: Hashable {
    enum Kind: Hashable {
        case waitAndFire, stop
        case set(UInt64)
    }

    let kind: Kind
    private(set) var answers: [UInt64] = []
    /// The next step; nil if the call returns.
    private(set) var move: SleeperMove?
    /// The last reading of the clock, if the next step is another one in a spin.
    private(set) var reading: UInt64?
    /// Whether the alarm's thread begins anew after its return.
    private(set) var goesOn = true

    init(_ kind: Kind, _ plan: SleeperPlan) {
        self.kind = kind
        run(plan)
    }

    mutating func add(answer: UInt64, _ plan: SleeperPlan) {
        answers.append(answer)
        run(plan)
    }

    private mutating func run(_ plan: SleeperPlan) {
        let replay = SleeperReplay(plan, answers)
        (move, reading) = (nil, nil)
        do throws(SleeperMove) {
            switch kind {
            case .waitAndFire:
                var gaps = ShortGaps.none
                goesOn = try replay.waitAndFire(&gaps) { () throws(SleeperMove) in try replay.answer(to: .fire) }
            case .set(let deadline): try replay.set(to: deadline)
            case .stop: try replay.stopAndWake()
            }
        } catch {
            move = error
            if error == .readClock { reading = replay.reading }
        }
    }
}

enum SleeperStep: Hashable, Sendable {
    case threadGoesOn, setterGoesOn, stopperGoesOn, returnsFromFiring, timePasses
    case sets(UInt64?, inFiring: Bool)
}

/// The memory that the alarm's threads share, and the kernel.
struct SleeperMemory: Hashable {
    var deadline = UInt64.max
    var wakesBy: UInt64 = 0
    var isStopped = false
    /// `Spinner.lastMargin`, and how many margins were decided on.
    var lastMargin: UInt64
    var margins = 0
    /// When the timer expires; nil if it is disarmed, or if its expiry was read.
    var expiry: UInt64?
    /// Whether a real-time thread was told to wake.
    var isSignalled = false
    var now: UInt64 = 0
}

/// The timerfd alarm: its thread, a thread that sets it, and a thread that stops it. The threads' code is the library's
/// own (``SleeperSteps``). The memory and the kernel are a model. Steps come in a sequentially consistent order. A
/// minute, after which the thread looks again in any case, never passes here, and the descriptors work.
final class SleeperWorld: World {
    private let plan: SleeperPlan
    private var memory: SleeperMemory
    /// The alarm's thread; nil if it has ended.
    private var thread: SleeperCall?
    /// The setter, which holds the service's lock; nil if it is idle. Inside a firing the alarm's own thread sets it.
    private var setter: SleeperCall?
    private var inner: SleeperCall?
    /// The stopper; nil if it has returned.
    private var stopper: SleeperCall?
    private var settingsLeft: Int
    private var innerLeft: Int
    /// The deadline that a naive reader of the contract expects: the last one that was set, until it has fired.
    private var wanted = UInt64.max
    private(set) var fault: String?

    init(_ plan: SleeperPlan) {
        self.plan = plan
        memory = SleeperMemory(lastMargin: plan.margins.first ?? 0)
        (settingsLeft, innerLeft) = (plan.settings, plan.settingsInside)
        (thread, stopper) = (SleeperCall(.waitAndFire, plan), SleeperCall(.stop, plan))
    }

    private init(_ other: SleeperWorld) {
        (plan, memory, wanted, fault) = (other.plan, other.memory, other.wanted, other.fault)
        (thread, setter, inner, stopper) = (other.thread, other.setter, other.inner, other.stopper)
        (settingsLeft, innerLeft) = (other.settingsLeft, other.innerLeft)
    }

    func copy() -> SleeperWorld? { SleeperWorld(self) }

    static let kept = 500_000

    // MARK: The next steps

    var steps: [SleeperStep] {
        var steps: [SleeperStep] = []
        let isInFiring = thread?.move == .fire
        if inner != nil || !isInFiring && thread.map(isReady) ?? false { steps.append(.threadGoesOn) }
        if setter != nil { steps.append(.setterGoesOn) }
        let isLocked = setter != nil || inner != nil
        if !isLocked, settingsLeft > 0 { steps += plan.deadlines.map { .sets($0, inFiring: false) } }
        if isInFiring, inner == nil {
            steps.append(.returnsFromFiring)
            if !isLocked, innerLeft > 0 { steps += plan.deadlines.map { .sets($0, inFiring: true) } }
        }
        if stopper != nil { steps.append(.stopperGoesOn) }
        if memory.now < plan.time { steps.append(.timePasses) }
        return steps
    }

    /// Whether a step of the alarm's thread would change anything.
    private func isReady(_ call: SleeperCall) -> Bool {
        switch call.move {
        case .sleep(let instant): return wakes(sleepingUntil: instant) <= memory.now
        // The same reading again, unless the deadline was replaced or the alarm stopped meanwhile.
        case .readClock: return call.reading != memory.now || memory.isStopped || memory.deadline != call.answers[1]
        default: return true
        }
    }

    /// When a thread that sleeps in the kernel wakes.
    private func wakes(sleepingUntil instant: UInt64) -> UInt64 {
        if plan.isRealTime { return memory.isSignalled ? 0 : instant }
        return memory.expiry ?? .max
    }

    func take(_ step: SleeperStep) {
        switch step {
        case .threadGoesOn: if inner != nil { inner = goOn(inner) } else { thread = goOn(thread) }
        case .setterGoesOn: setter = goOn(setter)
        case .stopperGoesOn: stopper = goOn(stopper)
        case .returnsFromFiring: thread = thread.flatMap { answer($0, 0) }
        case .sets(let deadline, inFiring: true):
            (inner, innerLeft) = (SleeperCall(.set(deadline ?? .max), plan), innerLeft - 1)
        case .sets(let deadline, inFiring: false):
            (setter, settingsLeft) = (SleeperCall(.set(deadline ?? .max), plan), settingsLeft - 1)
        case .timePasses: memory.now += 1
        }
    }

    private func goOn(_ call: SleeperCall?) -> SleeperCall? {
        guard let call, let move = call.move else { return nil }
        return answer(call, perform(move))
    }

    /// The call after an answer; nil if it has returned.
    private func answer(_ call: SleeperCall, _ answer: UInt64) -> SleeperCall? {
        var call = call
        call.add(answer: answer, plan)
        if call.move != nil { return call }
        return call.kind == .waitAndFire && call.goesOn ? SleeperCall(.waitAndFire, plan) : nil
    }

    private func perform(_ move: SleeperMove) -> UInt64 {
        switch move {
        case .readDeadline: return memory.deadline
        case .readWakesBy: return memory.wakesBy
        case .readIsStopped: return memory.isStopped ? 1 : 0
        case .storeIsStopped: memory.isStopped = true
        case .readLastMargin: return memory.lastMargin
        case .readClock: return memory.now
        case .storeDeadline(let deadline): (memory.deadline, wanted) = (deadline, deadline)
        case .useUp(let deadline):
            if memory.deadline != deadline { return 0 }
            if deadline > memory.now + plan.lead { fault = "it fires early for \(deadline)" }
            memory.deadline = .max
            if wanted == deadline { wanted = .max }
            return 1
        case .storeWakesBy(let instant): memory.wakesBy = instant
        case .setTimer(let instant): memory.expiry = instant
        case .sleep: (memory.expiry, memory.isSignalled) = (nil, false)
        case .shortenSleep, .wake: shortenSleep(to: move)
        case .decideMargin:
            memory.lastMargin = plan.margins[memory.margins]
            memory.margins = (memory.margins + 1) % plan.margins.count
            return memory.lastMargin
        case .fire: break
        }
        return 0
    }

    private func shortenSleep(to move: SleeperMove) {
        if plan.isRealTime {
            memory.isSignalled = true
        } else if case .shortenSleep(let instant) = move {
            memory.expiry = instant
        } else {
            memory.expiry = 0
        }
    }

    // MARK: What must hold

    func check() {
        if setter == nil, inner == nil, wanted != memory.deadline { fault = "the deadline \(wanted) was lost" }
        guard case .sleep(let instant) = thread?.move, setter == nil, stopper?.move != .wake else { return }
        let wakes = wakes(sleepingUntil: instant)
        if stopper == nil, wakes > memory.now {
            fault = "the thread sleeps, though it was stopped"
        } else if wakes > wanted {
            fault = "the thread sleeps past the deadline \(wanted)"
        }
    }

    func end() { if let thread { fault = "the thread does not end, but waits: \(text(thread))" } }

    private func text(_ call: SleeperCall?) -> String { call?.move.map { "\($0)" } ?? "" }

    var fingerprint: Int {
        var hasher = Hasher()
        hasher.combine(memory)
        hasher.combine([thread, setter, inner, stopper])
        hasher.combine([settingsLeft, innerLeft])
        hasher.combine(wanted)
        return hasher.finalize()
    }

    func text(of step: SleeperStep) -> String {
        switch step {
        case .threadGoesOn: "the thread: " + (inner == nil ? text(thread) : "\(text(inner)), inside a firing")
        case .setterGoesOn: "the setter: \(text(setter))"
        case .stopperGoesOn: "the stopper: \(text(stopper))"
        default: "\(step)"
        }
    }
}
