import PreciseTimer
import PreciseTimerTestKit

/// The effect of each step on the timers.
extension Model {
    mutating func perform(_ step: Step) {
        switch step {
        case .advance, .jump: break
        default: adoptEnds()
        }
        guard difference == nil else { return }
        if events.first == .skipped {
            events.removeFirst()
            return
        }
        switch step {
        case .schedule(let plan): return schedule(plan)
        case .cancel(let id), .cancelAndWait(let id): return expect(.returned(end(id, .cancelled)))
        case .pause(let id, let keepsGrid):
            return change(id, ifPaused: false) { $0.pause(keepsGrid: keepsGrid, at: $1) }
        case .resume(let id): return change(id, ifPaused: true) { $0.resume(at: $1) }
        case .fire(let id): return change(id) { $0.askForExtra(at: $1) }
        case .reschedule(let id, let rule, let keepsPhase): return reschedule(id, rule, keepsPhase: keepsPhase)
        case .restart(let id): return restart(id)
        case .readState(let id): return readState(of: id)
        case .readActiveTimers: return expect(.activeTimers(activeTimers))
        case .drop(let id):
            timers[id]?.hasHandle = false
            // The delivery holds the handle, too.
            if let timer = timers[id], timer.plan.target == nil, !timer.isRunning { end(id, .handleReleased) }
        case .release(let number):
            if let target = targets.removeValue(forKey: number), !isHeldByHandler(target) { die(target) }
        case .shutDown: shutDown()
        case .renew:
            (now, elapsed, nextSweep, armed, stepsSinceArmed) = (start.nanoseconds, 0, 1_000_000_000, nil, 0)
            (wakeError, faults, isShutDown) = (0, [], false)
        case .advance(let length):
            advance(by: UInt64(length))
            findDeadTargets()
        case .jump(let length):
            pass(UInt64(length))
            if !isFiring { advance(by: 0) }
            findDeadTargets()
        case .inject(let fault, let delay):
            let at = elapsed + UInt64(delay)
            faults.insert((at, fault), at: faults.firstIndex { $0.at > at } ?? faults.endIndex)
        }
        expect(.done)
    }

    /// A call that changes a timer, and tells whether it has.
    mutating func change(
        _ id: Int,
        ifPaused: Bool? = nil,
        answering answer: Event = .returned(true),
        _ change: (inout ModelTimer, _ now: UInt64) -> Void
    ) {
        guard var timer = timers[id], timer.isOpen, ifPaused ?? timer.isPaused == timer.isPaused else {
            return expect(.returned(false))
        }
        let keepsTurn = hasTurn(id)
        change(&timer, now)
        timers[id] = timer
        queue(id, keepsTurn: keepsTurn)
        setAlarm(for: id)
        expect(answer)
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
            heldSince: plan.isPaused && !plan.rule.isComputed ? now : nil,
            isOnDemand: plan.rule == .onDemand,
            target: target
        )
        pending.append(plan.id)
        queue(plan.id)
        setAlarm(for: plan.id)
        expect(.done)
    }

    mutating func reschedule(_ id: Int, _ rule: Rule, keepsPhase: Bool) {
        guard var timer = timers[id] else { return differ("there is no timer \(id)") }
        // Only a timer that began with computed deadlines takes such, and none has a phase.
        let isPossible =
            keepsPhase
            ? rule.hasPhase && !(timer.isOpen && timer.grid.rule.isComputed)
            : !rule.isComputed || timer.plan.rule.isComputed
        guard rule.isValid, isPossible else { return expect(.refused(.invalidSchedule)) }
        guard timer.isOpen else { return expect(.refused(.timerEnded)) }
        if timer.isInDelivery { seen.insert("rescheduled in delivery") }
        if keepsPhase, timer.changeSteps(to: rule, at: now) {
            seen.insert("in phase")
            return change(id, answering: .done) { current, _ in current = timer }
        }
        begin(rule, id)
        expect(.done)
    }

    mutating func restart(_ id: Int) {
        guard let timer = timers[id], timer.isOpen, let rule = timer.grid.rule.restarted else {
            return expect(.returned(false))
        }
        seen.insert("restarted")
        begin(rule, id)
        expect(.returned(true))
    }

    private mutating func begin(_ rule: Rule, _ id: Int) {
        let order = takeOrder()
        timers[id]?.reschedule(rule, at: now, order: order)
        queue(id)
        setAlarm(for: id)
    }

    mutating func readState(of id: Int) {
        if let timer = timers[id], !timer.hasEnded, isDead(timer) {
            timers[id]?.isOrphan = true
            return expect(.state(.ended(.targetReleased)))
        }
        guard let timer = timers[id] else { return differ("there is no timer \(id)") }
        expect(.state(timer.ending.map { .ended($0) } ?? (timer.isPaused ? .paused : .scheduled)))
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

    var activeTimers: [Seen] {
        pending.sorted().compactMap { timers[$0] }.filter { !isDead($0) }
            .map { timer in
                Seen(
                    id: timer.plan.id,
                    nextDeadline: timer.nextForReader?.notBeyond(start),
                    isPaused: timer.isPaused,
                    ticks: timer.ticks,
                    lastLateness: timer.lastLateness
                )
            }
    }
}

/// From a firing of the alarm to the ticks.
extension Model {
    mutating func round() {
        let woke = now
        firing = woke
        for id in pending where timers[id]?.isWaiting == true { timers[id]?.beginRound(at: woke) }
        var isSpare = true
        while difference == nil, let id = firstInRound, hasTurn(id) {
            isSpare = false
            let order = timers[id]?.order
            timers[id]?.isInDelivery = true
            deliver(id, decidedAt: woke)
            timers[id]?.isInDelivery = false
            guard let timer = timers[id], !timer.hasEnded else { continue }
            // A rescheduled timer starts anew in the next round.
            if timer.order == order, timer.mayCatchUp, !timer.isPaused, let next = timer.onGrid, next <= woke {
                seen.insert("again")
                continue
            }
            timers[id]?.burst = 0
            queue(id)
            guard timer.next == nil else { continue }
            if timer.isSpent { seen.insert(timer.isOnDemand ? "rests after its count" : "ends after its count") }
            if timer.isOnDemand { seen.insert("rests") } else { end(id, .completed) }
        }
        if isSpare { seen.insert("spare round") }
        firing = nil
        setAlarm(afterRoundAt: woke)
    }

    /// The first of the timers that wait, but for those that came due during the present round.
    var firstInRound: Int? {
        let waiting = pending.filter {
            guard let timer = timers[$0], timer.isWaiting, timer.next ?? .max != .max else { return false }
            return !timer.isDeferred
        }
        return waiting.min { left, right in
            guard let left = timers[left], let right = timers[right] else { return false }
            return left.place < right.place
        }
    }

    /// The turn of a timer in a round.
    mutating func deliver(_ id: Int, decidedAt instant: UInt64) {
        defer {
            let now = now
            timers[id]?.handlerReturned(at: now)
        }
        guard let timer = timers[id], let tick = timers[id]?.takeTick(at: instant, now: now) else { return }
        if isDead(timer) {
            end(id, .targetReleased)
            return
        }
        if tick.missed > 0 { seen.insert("missed") }
        if tick.isExtra { seen.insert("extra") }
        let woke = max(instant, tick.deadline)
        let delivered = max(now, woke)
        let facts = PreciseTimer.Tick(
            index: tick.index,
            deadline: TimerInstant(nanoseconds: tick.deadline, clock: start.clock),
            latestDeadline: TimerInstant(nanoseconds: tick.latest, clock: start.clock),
            woke: TimerInstant(nanoseconds: woke, clock: start.clock),
            delivered: TimerInstant(nanoseconds: delivered, clock: start.clock),
            missed: Int(tick.missed),
            isExtra: tick.isExtra
        )
        expect(.tick(id, facts))
        timers[id]?.isRunning = true
        timers[id]?.calls += 1
        for cue in timer.plan.script where cue.call == timer.calls { perform(cue.step) }
        timers[id]?.isRunning = false
        timers[id]?.ticks += 1
        timers[id]?.lastLateness = delivered - tick.deadline
        handlerReturned(id)
    }

    /// Releases everything that the delivery held.
    mutating func handlerReturned(_ id: Int) {
        guard let timer = timers[id] else { return }
        if let target = timer.target, !targets.values.contains(target) { die(target) }
        if let ending = timer.ending {
            seen.insert("ended inside")
            tellEnd(id, ending)
        } else if timer.target == nil, !timer.hasHandle {
            end(id, .handleReleased)
        }
    }
}

/// The ends of timers, and the calls and releases that come with them.
extension Model {
    /// Ends a timer. Returns false if it had ended.
    @discardableResult
    mutating func end(_ id: Int, _ reason: PreciseTimer.EndReason) -> Bool {
        guard let timer = timers[id], !timer.hasEnded else { return false }
        let reason = timer.isOrphan ? .targetReleased : reason
        timers[id]?.ending = reason
        pending.removeAll { $0 == id }
        if !timer.isRunning { tellEnd(id, reason) }
        return !timer.isOrphan
    }

    /// Expects the events of an end, and performs the steps of `onEnd`.
    mutating func tellEnd(_ id: Int, _ reason: PreciseTimer.EndReason) {
        seen.insert("\(reason)")
        if events.first != .released(id) { adoptEnds() }
        expectEnd(of: id, reason)
    }

    /// Expects the captures to be released and `onEnd` to be called, and performs its steps.
    mutating func expectEnd(of id: Int, _ reason: PreciseTimer.EndReason) {
        expect(.released(id), adopting: false)
        expect(.ended(id, reason), adopting: false)
        if reason.hasMoment { for step in timers[id]?.plan.epilogue ?? [] { perform(step) } }
    }

    func isDead(_ timer: ModelTimer) -> Bool { timer.target.map(dead.contains) ?? false }

    func isHeldByHandler(_ target: Int) -> Bool {
        timers.values.contains { $0.isRunning && $0.target == target }
    }

    mutating func die(_ target: Int) {
        dead.insert(target)
        expect(.died(target))
    }

    /// Accepts the ends of timers whose target is dead, which may be found at any moment. Call this only if the next
    /// event is not the expected one: a round that finds a dead target is modelled as well.
    mutating func adoptEnds() {
        while case .ended(let id, .targetReleased)? = events.prefix(2).last, events.first == .released(id),
            let timer = timers[id], !timer.hasEnded, isDead(timer)
        {
            timers[id]?.ending = .targetReleased
            pending.removeAll { $0 == id }
            expectEnd(of: id, .targetReleased)
            seen.insert("\(PreciseTimer.EndReason.targetReleased)")
        }
    }

    /// If time has moved by a second since the last search, expects that every timer with a dead target has ended.
    mutating func findDeadTargets() {
        guard elapsed >= nextSweep else { return }
        nextSweep = elapsed + 1_000_000_000
        adoptEnds()
        guard let id = pending.first(where: { timers[$0].map(isDead) ?? false }) else { return }
        differ("timer \(id) has not ended, though its target is dead and a second has passed")
    }
}
