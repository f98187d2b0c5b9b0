import PreciseTimer
import PreciseTimerTestKit

/// The effect of each step on the timers.
extension Model {
    mutating func perform(_ step: Step) {
        if !step.movesTime { adoptEnds() }
        guard difference == nil else { return }
        if events.first == .skipped {
            events.removeFirst()
            return
        }
        switch step {
        case .schedule(let plan): schedule(plan)
        case .cancel(let id), .cancelAndWait(let id): expect(.returned(end(id, .cancelled)))
        case .pause(let id):
            let isChanging = timers[id].map { !$0.hasEnded && !$0.isOrphan && !$0.isPaused } ?? false
            if isChanging { timers[id]?.pause(at: now) }
            expect(.returned(isChanging))
        case .resume(let id):
            let isChanging = timers[id].map { !$0.hasEnded && !$0.isOrphan && $0.isPaused } ?? false
            if isChanging { timers[id]?.resume(at: now) }
            setAlarm()
            expect(.returned(isChanging))
        case .fire(let id):
            let isPending = timers[id].map { !$0.hasEnded && !$0.isOrphan } ?? false
            let extra = min(timers[id]?.extra ?? now, now)
            if isPending { timers[id]?.extra = extra }
            setAlarm()
            expect(.returned(isPending))
        case .reschedule(let id, let rule): reschedule(id, rule)
        case .readState(let id): readState(of: id)
        case .drop(let id): drop(id)
        case .release(let number):
            if let target = targets.removeValue(forKey: number), !isHeldByHandler(target) { die(target) }
            expect(.done)
        case .readActiveTimers: expect(.activeTimers(activeTimers))
        case .shutDown:
            shutDown()
            expect(.done)
        case .renew: renew()
        case .advance(let length):
            advance(by: UInt64(length))
            findDeadTargets()
            expect(.done)
        case .jump(let length):
            pass(UInt64(length))
            if !isFiring { advance(by: 0) }
            findDeadTargets()
            expect(.done)
        case .inject(let fault, let delay):
            let at = elapsed + UInt64(delay)
            faults.insert(Fault(at: at, fault: fault), at: faults.firstIndex { $0.at > at } ?? faults.endIndex)
            expect(.done)
        }
    }

    mutating func schedule(_ plan: Plan) {
        var target: Int?
        if let number = plan.target {
            if targets[number] == nil {
                targets[number] = targetsMade
                targetsMade += 1
            }
            target = targets[number]
        }
        guard plan.isValid, !isShutDown else {
            seen.insert("refused")
            expect(.released(plan.id))
            return expect(.refused(plan.isValid ? .shutDown : .invalidSchedule))
        }
        timers[plan.id] = ModelTimer(
            plan: plan,
            order: takeOrder(),
            grid: ModelGrid(plan.rule, at: now),
            isPaused: plan.isPaused,
            heldSince: plan.isPaused ? now : nil,
            isOnDemand: plan.rule == .onDemand,
            target: target
        )
        pending.append(plan.id)
        setAlarm()
        expect(.done)
    }

    mutating func reschedule(_ id: Int, _ rule: Rule) {
        guard rule.isValid else { return expect(.refused(.invalidSchedule)) }
        guard let timer = timers[id], !timer.hasEnded, !timer.isOrphan else { return expect(.refused(.timerEnded)) }
        if timers[id]?.isInDelivery == true { seen.insert("rescheduled in delivery") }
        let order = takeOrder()
        timers[id]?.reschedule(rule, at: now, order: order)
        setAlarm()
        expect(.done)
    }

    mutating func readState(of id: Int) {
        if let timer = timers[id], !timer.hasEnded, isDead(timer) {
            timers[id]?.isOrphan = true
            return expect(.state(.ended(.targetReleased)))
        }
        guard let timer = timers[id] else { return differ("there is no timer \(id)") }
        expect(.state(timer.ending.map { .ended($0) } ?? (timer.isPaused ? .paused : .scheduled)))
    }

    mutating func drop(_ id: Int) {
        timers[id]?.hasHandle = false
        // The delivery holds the handle, too.
        if let timer = timers[id], timer.plan.target == nil, !timer.isRunning { end(id, .handleReleased) }
        expect(.done)
    }

    mutating func shutDown() {
        isShutDown = true
        armed = nil
        // These events come in no particular order.
        var expected: Set<Event> = []
        for id in pending {
            let reason: PreciseTimer.EndReason = timers[id]?.isOrphan == true ? .targetReleased : .serviceShutDown
            timers[id]?.ending = reason
            if timers[id]?.isRunning == false {
                expected.formUnion([.released(id), .ended(id, reason)])
                seen.insert("shut down")
            }
        }
        pending = []
        while let event = events.first, expected.remove(event) != nil { events.removeFirst() }
        if let event = expected.first { differ("\(event) is missing at a shutdown") }
    }

    mutating func renew() {
        (now, elapsed, nextSweep, armed, wakeError, faults) = (start, 0, 1_000_000_000, nil, 0, [])
        isShutDown = false
        expect(.done)
    }

    var activeTimers: [Seen] {
        pending.sorted().compactMap { timers[$0] }.filter { !isDead($0) }
            .map { timer in
                Seen(
                    id: timer.plan.id,
                    nextDeadline: timer.nextForReader,
                    isPaused: timer.isPaused,
                    ticks: timer.ticks,
                    lastLateness: timer.lastLateness
                )
            }
    }
}
