import PreciseTimer

/// A service with one or two timers, an alarm, a queue, and the threads that call.
///
/// Thread 0 is the alarm's of the first epoch, thread 1 the queue's, threads 2 and 3 call, and the threads from 4 on
/// are the alarms' of later epochs. Each thread has a stack of moves, and its last move is its next step.
final class SmallWorld: World {
    let plan: Plan
    var engine: SmallEngine
    var timers: [SmallTimer] {
        get { engine.timers }
        set { engine.timers = newValue }
    }
    var threads: [[Move]]
    /// The hops on their way to the queue.
    var queue: [Int] = []
    var callsLeft: Int
    var earlyLeft: Int
    var refusalsLeft: Int
    var mailbox = SmallMailbox()
    /// The thread that starts the service.
    var starting: Int?
    var fault: String?

    init(_ plan: Plan) {
        self.plan = plan
        engine = SmallEngine(
            plan.timers.enumerated().map { SmallTimer($1, $0) },
            isShared: plan.isShared,
            alarmRepeats: plan.alarmRepeats,
            lead: plan.lead,
            plant: plan.plant
        )
        threads = Array(repeating: [], count: 4)
        (callsLeft, earlyLeft, refusalsLeft) = (plan.calls, plan.earlyFirings, plan.refusals)
        _ = engine.beginStart()
        _ = engine.finishStart()
        for timer in timers where timer.plan.isThere { _ = engine.register(timer, by: 2) }
        if let order = engine.owed.take() { engine.carryOut(order) }
        if let timer = timers.first(where: \.plan.isConsumed) { threads[1] = [.next(timer.number)] }
    }

    // MARK: The next steps

    var steps: [WorldStep] {
        var steps = threads.indices.filter(isReady).map(WorldStep.goesOn)
        for epoch in 1..<engine.alarms.count where isIdle(alarmThread(epoch)) && !engine.alarms[epoch].isStopped {
            guard let deadline = engine.alarms[epoch].deadline else { continue }
            if deadline <= max(engine.now, min(engine.now + plan.lead, plan.time)) {
                steps.append(.alarmFires(epoch))
            } else if earlyLeft > 0 {
                steps.append(.alarmFiresEarly(epoch))
            }
        }
        if callsLeft > 0 {
            for thread in (caller.map { [$0] } ?? []) + handlers { steps += calls.map { .calls(thread, $0) } }
        }
        if refusalsLeft > 0, engine.hasAlarm { steps.append(.alarmBreaks(engine.epoch)) }
        if engine.now < plan.time || threads.contains(where: isAwake) { steps.append(.timePasses) }
        return steps
    }

    /// The first idle caller. The second one calls only while the first one is busy: the orders are the same otherwise.
    private var caller: Int? { (2..<2 + plan.callers).first { threads[$0].isEmpty } }

    private var handlers: [Int] {
        guard plan.handlersCall else { return [] }
        return threads.indices.filter { if case .handler = threads[$0].last { true } else { false } }
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
        case .shutDown: timer.number == 0 && engine.phase != .ended && (engine.phase != .idle || !plan.isShared)
        case .schedule: !timer.isAdded && engine.phase != .ended && !isBeingScheduled(timer)
        case .cancelAndWait: timer.isAdded && (!timer.hasEnded || timer.runner != nil)
        case .resume: timer.isAdded && !timer.hasEnded && timer.isPaused
        case .pause: timer.isAdded && !timer.hasEnded && !timer.isPaused
        case .releaseTarget: timer.isAdded && !timer.hasEnded && !timer.targetIsGone
        default: timer.isAdded && !timer.hasEnded
        }
    }

    private func isBeingScheduled(_ timer: SmallTimer) -> Bool {
        threads.contains { $0.contains(.register(timer.number)) || $0.contains(.beginStart(timer.number)) }
    }

    func alarmThread(_ epoch: Int) -> Int { epoch == 1 ? 0 : epoch + 2 }

    private func isIdle(_ thread: Int) -> Bool { thread >= threads.count || threads[thread].isEmpty }

    func isReady(_ thread: Int) -> Bool {
        switch threads[thread].last {
        case nil: thread == 1 && !queue.isEmpty
        case .wait, .waitForNews: false
        case .beginStart: starting == nil || starting == thread
        default: !isAwake(threads[thread])
        }
    }

    /// Whether a thread waits awake for the end of a lead.
    private func isAwake(_ moves: [Move]) -> Bool {
        switch moves.last {
        case .call(_, let delivery): delivery.instant > engine.now
        case .send(_, let instant): instant > engine.now
        default: false
        }
    }

    // MARK: A step

    func take(_ step: WorldStep) {
        switch step {
        case .timePasses: engine.now += 1
        case .alarmBreaks(let epoch):
            refusalsLeft -= 1
            engine.alarms[epoch].isBroken = true
        case .alarmFires(let epoch): fire(epoch)
        case .alarmFiresEarly(let epoch):
            earlyLeft -= 1
            fire(epoch)
        case .calls(let thread, let call):
            callsLeft -= 1
            begin(call, by: thread)
            performTeardown(by: thread)
        case .goesOn(let thread):
            let move = threads[thread].popLast() ?? .arrive(queue.removeFirst())
            perform(move, by: thread)
            performTeardown(by: thread)
        }
    }

    private func fire(_ epoch: Int) {
        engine.alarms[epoch].fire(at: engine.now + plan.lead)
        while threads.count <= alarmThread(epoch) { threads.append([]) }
        threads[alarmThread(epoch)].append(.round(epoch: epoch))
    }

    private func begin(_ call: Call, by thread: Int) {
        let timer = timers[call.timer]
        switch call.kind {
        case .schedule: perform(.register(call.timer), by: thread)
        case .cancel, .cancelAndWait:
            _ = engine.end(timer, .cancelled, by: thread)
            if call.kind == .cancelAndWait {
                let isLate = plan.plant == .waitsInAnotherHold
                isLate ? threads[thread].append(.awaitReturn(call.timer)) : awaitReturn(call.timer, by: thread)
            }
        case .pause: engine.pause(timer, by: thread)
        case .resume: engine.resume(timer, by: thread)
        case .reschedule: engine.reschedule(timer, after: 1, by: thread)
        case .postpone: engine.reschedule(timer, after: 3, by: thread)
        case .fire: engine.fire(timer, by: thread)
        case .releaseTarget: timer.targetIsGone = true
        case .shutDown: close(epoch: nil, .serviceShutDown, by: thread)
        }
    }

    func close(epoch: Int?, _ ending: TimerEnding, by thread: Int) {
        guard engine.close(epoch: epoch, by: thread) else { return }
        threads[thread].append(.endBatch(ending))
        for timer in timers where timer.isAdded { timer.isClosed = true }
    }
}
