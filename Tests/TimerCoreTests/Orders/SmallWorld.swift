// What happens in a small world, and what must hold there. What the threads do is in SmallWorld+Moves.swift.
import TimerAlarms
import TimerKernel

@testable import PreciseTimer

/// What a world consists of, and how much may happen in it.
struct Plan: Sendable {
    var name: String
    var timers: [TimerPlan]
    var kinds: Set<Call.Kind> = [.schedule, .cancel]
    /// The number of calls. In each order they are other calls.
    var calls = 1
    /// How many nanoseconds pass.
    var time: UInt64 = 2
    /// The number of threads that call, besides the alarms' threads and the thread of a queue.
    var callers = 1
    /// Whether handlers call, too.
    var handlersCall = false
    /// How many alarms begin to refuse.
    var refusals = 0
    /// How many times an alarm fires too early.
    var earlyFirings = 0
    var alarmRepeats = false
    /// How much earlier than its deadline the alarm fires on purpose.
    var lead: UInt64 = 0
    /// Whether only worlds that have had the same decisions are taken for equal: slow, but hard to get wrong.
    var mergesByDecisions = false
}

/// A call of the library.
struct Call: Hashable, Sendable {
    enum Kind: Hashable, Sendable, CaseIterable {
        case schedule, cancel, cancelAndWait, pause, resume, reschedule, postpone, fire, finish, releaseTarget, shutDown
    }

    let kind: Kind
    let timer: Int
}

/// A step of a small world.
enum WorldStep: Hashable, Sendable {
    case goesOn(thread: Int)
    case calls(thread: Int, Call)
    case timePasses
    case alarmBreaks
    case alarmFires(epoch: Int, isEarly: Bool)
}

/// The engine's state with one or two timers, an alarm, a queue or a task at a mailbox, and the threads that call. The
/// state, with its scheduler and records, is the real one. Time and the alarm are models.
///
/// Thread 0 is the alarm's of the first epoch, thread 1 the queue's or the task, threads 2 and 3 call, and the threads
/// from 4 on are the alarms' of later epochs. Each thread has a stack of moves, and its last move is its next step.
final class SmallWorld: World {
    let plan: Plan
    var state = ServiceState(startedOnUse: { preconditionFailure("the world makes its alarms") }, on: .suspending)
    private(set) var timers: [SmallTimer]
    /// The alarms of all epochs so far.
    var alarms: [SmallAlarm] = []
    /// Kept by the engine while a timer is pending.
    weak var service: AnyObject?
    var threads: [[Move]] = [[], [], [], []]
    private(set) var now: UInt64 = 0
    /// The hops on their way to the queue.
    var queue: [Int] = []
    var mailbox = SmallMailbox()
    /// The wait of each caller that waits for a handler.
    var waits: [Int: HandlerWait] = [:]
    /// The thread that starts the service, and the epoch that it starts.
    var starting: [Int]?
    private var callsLeft: Int
    private var earlyLeft: Int
    private var refusalsLeft: Int
    /// The decisions so far, as one number.
    private var history = 0
    private(set) var fault: String?

    init(_ plan: Plan) {
        self.plan = plan
        timers = plan.timers.enumerated().map { SmallTimer($1, $0) }
        state.isSupervised = true
        (callsLeft, earlyLeft, refusalsLeft) = (plan.calls, plan.earlyFirings, plan.refusals)
        for move in [.beginStart, .finishStart] + timers.filter(\.plan.isThere).map({ Move.register($0.number) }) {
            perform(move, by: 2)
        }
        threads = [[], plan.timers[0].way == .task ? [.next] : [], [], []]
    }

    func breaks(_ promise: String?) { fault = fault ?? promise }

    // MARK: The next steps

    var steps: [WorldStep] {
        var steps = threads.indices.filter(isReady).map { WorldStep.goesOn(thread: $0) }
        for alarm in alarms where !alarm.state.isStopped && threads[thread(of: alarm.epoch)].isEmpty {
            guard let deadline = alarm.state.deadline else { continue }
            let isEarly = deadline > max(now, min(now + plan.lead, plan.time))
            if !isEarly || earlyLeft > 0 { steps.append(.alarmFires(epoch: alarm.epoch, isEarly: isEarly)) }
        }
        if callsLeft > 0 { steps += callers.flatMap { thread in calls.map { .calls(thread: thread, $0) } } }
        if refusalsLeft > 0, state.alarm != nil { steps.append(.alarmBreaks) }
        if now < plan.time || threads.contains(where: isAwake) { steps.append(.timePasses) }
        return steps
    }

    func thread(of epoch: Int) -> Int { epoch == 1 ? 0 : epoch + 2 }

    /// The first idle caller, and the handlers that call. The second caller calls only while the first one is busy: the
    /// orders are the same otherwise.
    private var callers: [Int] {
        let idle = (2..<2 + plan.callers).first { threads[$0].isEmpty }
        let handlers = threads.indices.filter { if case .handler = threads[$0].last { true } else { false } }
        return (idle.map { [$0] } ?? []) + (plan.handlersCall ? handlers : [])
    }

    /// The calls that can change something now.
    private var calls: [Call] {
        timers.flatMap { timer in
            Call.Kind.allCases.filter { plan.kinds.contains($0) && changes(timer, $0) }
                .map { Call(kind: $0, timer: timer.number) }
        }
    }

    private func changes(_ timer: SmallTimer, _ kind: Call.Kind) -> Bool {
        switch kind {
        case .shutDown: timer.number == 0 && (state.alarm != nil || starting?.last == state.epoch)
        case .schedule: !timer.isAdded && !threads.contains { $0.contains(.register(timer.number)) }
        case .cancelAndWait: timer.isAdded && (timer.goesOn || timer.record.user.runner != .nobody)
        case .resume: timer.goesOn && timer.record.timing.isPaused
        case .pause, .finish: timer.goesOn && timer.record.takesOrders && !timer.record.timing.isPaused
        case .releaseTarget: timer.goesOn && timer.record.user.target != nil
        default: timer.goesOn
        }
    }

    private func isReady(_ thread: Int) -> Bool {
        switch threads[thread].last {
        case nil: thread == 1 && !queue.isEmpty
        case .waited: waits[thread]?.isNeeded != true
        case .waitForNews: false
        case .beginStart: starting == nil || starting?.first == thread
        default: !isAwake(threads[thread])
        }
    }

    /// Whether a thread waits awake for the end of a lead.
    private func isAwake(_ moves: [Move]) -> Bool {
        switch moves.last {
        case .call(_, let delivery): delivery.instant > now
        case .send(_, let instant): instant > now
        default: false
        }
    }

    func take(_ step: WorldStep) {
        switch step {
        case .timePasses: now += 1
        case .alarmBreaks:
            refusalsLeft -= 1
            alarms.last?.state.isBroken = true
        case .alarmFires(let epoch, let isEarly):
            if isEarly { earlyLeft -= 1 }
            alarms.first { $0.epoch == epoch }?.fire(at: now + plan.lead)
            threads[thread(of: epoch)].append(.beginRound(epoch: epoch))
        case .calls(let thread, let call):
            callsLeft -= 1
            note(call, thread)
            begin(call, by: thread)
            leave(state.teardown.take(), to: thread)
        case .goesOn(let thread):
            let move = threads[thread].popLast() ?? .arrive(queue.removeFirst())
            if move.isDecision { note(move, thread) }
            perform(move, by: thread)
            leave(state.teardown.take(), to: thread)
        }
    }

    // MARK: What must hold

    func check() { breaks(brokenPromise) }

    private var brokenPromise: String? {
        if let broken = state.scheduler.brokenInvariant { return broken }
        for timer in timers where timer.goesOn && timer.record.timing.nextDeadline != timer.due ?? .max {
            return "the next deadline of timer \(timer.name) is \(timer.record.timing.nextDeadline)"
        }
        if (service == nil) != (state.scheduler.count == 0) { return "the service is not held by its timers" }
        let isBusy = threads.contains { moves in
            if case .fail = moves.last { return true }
            return moves.contains(.beginRound(epoch: state.epoch))
        }
        guard state.alarm != nil, state.scheduler.round == nil, !isBusy else { return nil }
        let waiting = timers.filter {
            $0.goesOn && !$0.isClosed && !$0.record.timing.isPaused && !$0.record.isInDelivery
        }
        guard let next = waiting.map({ $0.record.timing.lastInstant }).min(), next != .max else { return nil }
        guard let alarm = alarms.last?.state.deadline else { return "the alarm for \(next) was lost" }
        // An alarm that is set to an instant that has passed fires at once.
        return alarm <= max(next, now) ? nil : "the alarm for \(next) is set to \(alarm)"
    }

    func end() {
        breaks(brokenEnd)
        if fault != nil { return }
        // A shutdown after the last step, on its own.
        close(epoch: nil, .serviceShutDown, by: 2)
        while let thread = threads.indices.first(where: isReady) { take(.goesOn(thread: thread)) }
        if !threads.allSatisfy(\.isEmpty) { breaks("a thread does not end") }
        if mailbox.hasHop { breaks("a hop stays in the mailbox") }
        for timer in timers where timer.isAdded && (!timer.record.hasEnded || timer.finals != 1) {
            breaks("timer \(timer.name) is finalized \(timer.finals) times")
        }
        if state.scheduler.count + state.scheduler.runningCount > 0 { breaks("a timer is kept after its end") }
        if service != nil { breaks("the service is held without a timer") }
        let references = timers.map { Reference(record: $0.record) }
        timers = []
        if references.contains(where: { $0.record != nil }) { breaks("a timer is not released") }
    }

    private struct Reference {
        weak var record: Record?
    }

    private var brokenEnd: String? {
        if let thread = threads.firstIndex(where: { ![nil, .waitForNews].contains($0.last) }) {
            return "\(name(of: thread)) waits for ever"
        }
        if threads[1].last != nil, mailbox != SmallMailbox(isAwaited: true) { return "the task sleeps beside news" }
        if state.scheduler.round != nil { return "a round does not end" }
        guard state.alarm != nil else { return nil }
        return timers.first { $0.lacksTick(at: now) }.map { "timer \($0.name) lacks a tick" }
    }

    // MARK: Equal worlds

    private func note(_ decision: some Hashable, _ thread: Int) {
        var hasher = Hasher()
        for number in [history, thread, Int(now)] { hasher.combine(number) }
        hasher.combine(decision)
        history = hasher.finalize()
    }

    /// Everything that later steps depend on, and the promises about them.
    var fingerprint: Int {
        var hasher = Hasher()
        for number in [Int(now), state.epoch, callsLeft, earlyLeft, refusalsLeft] { hasher.combine(number) }
        hasher.combine(alarms.map(\.state))
        hasher.combine(threads)
        hasher.combine(queue)
        hasher.combine(mailbox)
        hasher.combine(starting)
        hasher.combine(threads.indices.map { waits[$0]?.isNeeded == true })
        for timer in timers { timer.combine(into: &hasher) }
        if plan.mergesByDecisions { hasher.combine(history) } else { combineScheduler(into: &hasher) }
        return hasher.finalize()
    }

    /// The order of scheduling matters, but not the numbers that stand for it. The timers' own numbers are those of the
    /// naive reader, which ``check()`` compares with the scheduler's.
    private func combineScheduler(into hasher: inout Hasher) {
        let records = timers.map(\.record)
        let waiting = records.filter { $0.stage == .queued || $0.stage == .firing && $0.position >= 0 }
        let elements = waiting.map { state.scheduler.waiting.element(of: $0) }
        let present = records.filter { !$0.hasEnded }
        let sequences = present.map(\.sequence) + elements.map(\.sequence)
        hasher.combine(sequences.map { sequence in sequences.count { $0 < sequence } })
        hasher.combine(records.map { $0.stage == .deferred })
        hasher.combine(elements.map(\.nanoseconds))
        hasher.combine(present.map { [$0.position, $0.listPosition] })
        hasher.combine(state.scheduler.timers.closing)
        hasher.combine(state.scheduler.deferred.mark)
        hasher.combine(state.scheduler.round)
        hasher.combine(state.scheduler.armed)
    }

    // MARK: In words

    func text(of step: WorldStep) -> String {
        switch step {
        case .goesOn(let thread): "\(name(of: thread)): \(threads[thread].last.map { "\($0)" } ?? "a hop arrives")"
        case .calls(let thread, let call): "\(name(of: thread)) calls \(call.kind) of \(timers[call.timer].name)"
        default: "\(step), now \(now)"
        }
    }

    private func name(of thread: Int) -> String {
        switch thread {
        case 1: plan.timers[0].way == .task ? "the task" : "the queue"
        case 2, 3: "caller \(thread - 1)"
        default: "the thread of alarm \(thread == 0 ? 1 : thread - 2)"
        }
    }
}
