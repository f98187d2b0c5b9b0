import PreciseTimer
import PreciseTimerTestKit

/// From a firing of the alarm to the ticks.
extension Model {
    mutating func round() {
        let woke = now
        isFiring = true
        var claims: [Claim] = []
        for id in pending {
            guard let timer = timers[id], timer.isWaiting, let next = timer.next,
                timer.wakeTime.map({ $0 <= woke }) == true
            else { continue }
            claims.append(Claim(id: id, deadline: next, order: timer.order))
            timers[id]?.claim()
        }
        if claims.isEmpty { seen.insert("spare round") }
        while difference == nil,
            let first = claims.indices.min(by: {
                (claims[$0].deadline, claims[$0].order) < (claims[$1].deadline, claims[$1].order)
            })
        {
            let claim = claims.remove(at: first)
            deliver(claim, decidedAt: woke)
            guard let timer = timers[claim.id], !timer.hasEnded else { continue }
            // A rescheduled timer starts anew in the next round.
            let isOfSameSchedule = timer.order == claim.order
            if isOfSameSchedule, timer.mayCatchUp, !timer.isPaused, let next = timer.next, next <= woke {
                claims.append(Claim(id: claim.id, deadline: next, order: claim.order))
                seen.insert("again")
                continue
            }
            timers[claim.id]?.isInDelivery = false
            guard timer.next == nil else { continue }
            if timer.isSpent { seen.insert(timer.isOnDemand ? "rests after its count" : "ends after its count") }
            if timer.isOnDemand { seen.insert("rests") } else { end(claim.id, .completed) }
        }
        isFiring = false
        setAlarm()
    }

    /// The turn of a timer in a round.
    mutating func deliver(_ claim: Claim, decidedAt instant: UInt64) {
        let id = claim.id
        defer {
            let now = now
            timers[id]?.handlerReturned(at: now)
        }
        guard let timer = timers[id], !timer.hasEnded, !timer.isPaused, timer.hasTurn, timer.order == claim.order,
            let tick = timers[id]?.takeTick(at: instant)
        else {
            seen.insert("void")
            return
        }
        if isDead(timer) {
            end(id, .targetReleased)
            return
        }
        if tick.missed > 0 { seen.insert("missed") }
        if timer.extra != nil, timers[id]?.extra == nil { seen.insert("extra") }
        let woke = max(instant, tick.deadline)
        let delivered = max(now, woke)
        let facts = TickFacts(
            index: tick.index,
            deadline: tick.deadline,
            woke: woke,
            delivered: delivered,
            missed: tick.missed
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
        while let id = endOfTarget, let timer = timers[id], !timer.hasEnded, isDead(timer) {
            timers[id]?.ending = .targetReleased
            pending.removeAll { $0 == id }
            expectEnd(of: id, .targetReleased)
            seen.insert("\(PreciseTimer.EndReason.targetReleased)")
        }
    }

    /// The timer whose end for a dead target comes next among the events.
    var endOfTarget: Int? {
        guard case .ended(let id, .targetReleased) = events.prefix(2).last, events.first == .released(id) else {
            return nil
        }
        return id
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
