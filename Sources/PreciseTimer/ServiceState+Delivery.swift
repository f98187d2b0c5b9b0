internal import TimerAlarms
internal import TimerCore

/// From a firing of the alarm to the handlers: what happens under the lock.
extension ServiceState {
    /// What was due at one look at the clock, and how far its delivery has come.
    struct Round {
        /// Which run of the service it is of.
        let run: Int
        let alarm: any TimerAlarm
        let woke: TimerInstant
        /// In the order of delivery.
        var claims: [Claim]
        /// How many of them have had their turn.
        var position = 0
        /// Those of timers that catch up, and have had their turn before.
        var again = DeadlineQueue()
        /// How many more of those there may be: then the clock is looked at again, and other timers that are due by then get
        /// their turn.
        var repeats = 64

        /// Another late tick of a timer gets its turn where it belongs by its deadline. O(log n).
        mutating func insert(_ claim: Claim) {
            repeats -= 1
            again.push(claim.timer.slot, at: claim.deadline.nanoseconds, sequence: claim.sequence)
        }

        /// Takes out whose turn it is.
        mutating func next(of scheduler: Scheduler) -> Claim? {
            let claim = position < claims.count ? claims[position] : nil
            if let late = again.first, let timer = scheduler[late.slot]?.id {
                let deadline = TimerInstant(nanoseconds: late.nanoseconds, clock: scheduler.clock)
                let other = Claim(timer: timer, sequence: late.sequence, deadline: deadline)
                if claim.map({ other.precedes($0) }) ?? true {
                    _ = again.popFirst()
                    return other
                }
            }
            position += 1
            return claim
        }
    }

    /// The next thing to be done in a round, outside of the lock.
    enum Step {
        /// Call a handler here.
        case deliver(Call)
        /// Send a tick to where its handler is called.
        case send(Hop, Road)
        /// A timer has ended.
        case bid(FarewellBox)
        /// Nothing more.
        case done
    }

    /// Takes out what is due now. Nil for a firing of an earlier run.
    mutating func look(_ run: Int) -> Round? {
        guard run == self.run, let alarm else { return nil }
        let now = alarm.now
        return Round(run: run, alarm: alarm, woke: now, claims: claimDue(at: now))
    }

    /// Ends the delivery that was the last step of a round, if it was one, and finds the next.
    mutating func advance(_ round: inout Round, after called: Called?, of core: ServiceCore) -> Step {
        if let called {
            let (farewell, again) = finish(called, mayRepeat: round.repeats > 0)
            if let again { round.insert(again) }
            // Before anything else is decided: what the user does on hearing it may concern the next timer.
            if let farewell { return .bid(FarewellBox(farewell)) }
        }
        while let claim = round.next(of: scheduler) {
            if let road = record(of: claim.timer).destination?.road {
                return .send(Hop(core: core, claim: claim, woke: round.woke, alarm: round.alarm), road)
            }
            if let delivery = begin(claim, woke: round.woke, lookedAt: round.woke, by: .thread(.current)) {
                return .deliver(delivery)
            }
        }
        recycle(&round.claims)
        // Unless the run has ended meanwhile.
        if round.run == run { carryOut(scheduler.finishFiring()) }
        return .done
    }

    /// Decides on a tick that is about to be delivered. Nil where the timer must not tick any more, or not now: then it
    /// goes back to wait.
    mutating func begin(
        _ claim: Claim,
        woke: TimerInstant,
        lookedAt look: TimerInstant,
        by runner: Runner?
    ) -> Call? {
        guard let due = scheduler.begin(claim, at: look) else {
            let (farewell, _) = goOn(after: claim, lookedAt: look)
            assert(farewell?.isEmpty ?? true, "what ended while no handler ran has had its farewell")
            return nil
        }
        let record = record(of: claim.timer)
        record.runner = runner
        return Call(
            claim: claim,
            due: due,
            woke: woke,
            look: look,
            recipient: record.destination?.recipient,
            isolated: record.destination?.isolatedRecipient
        )
    }

    /// Ends a delivery: the timer waits for its next deadline, or ends; or another of its late ticks is to be delivered.
    mutating func finish(_ delivered: Called, mayRepeat: Bool = true) -> (farewell: Farewell?, again: Claim?) {
        let timer = delivered.claim.timer
        let record = record(of: timer)
        record.runner = nil
        var farewell: Farewell?
        if let lateness = delivered.lateness {
            record.ticks += 1
            record.lastLateness = lateness
        } else {
            farewell = end(timer, record.reasonWhenTargetIsGone)
        }
        let (otherFarewell, again) = goOn(after: delivered.claim, lookedAt: delivered.look, mayRepeat)
        return (farewell ?? otherFarewell, again)
    }

    /// After a delivery, or where there was none: what the timer does now.
    private mutating func goOn(
        after claim: Claim,
        lookedAt look: TimerInstant,
        _ mayRepeat: Bool = true
    ) -> (farewell: Farewell?, again: Claim?) {
        let alarm = alarm
        switch scheduler.finish(claim, lookedAt: look, mayRepeat: mayRepeat, now: alarm?.now ?? look) {
        case .waits(let order):
            carryOut(order)
            return (nil, nil)
        case .again(let claim): return (nil, claim)
        case .completes: return (ended(claim.timer, .completed), nil)
        case .hasEnded:
            let farewell = record(of: claim.timer).farewellAfterHandler()
            forgetIfOver(claim.timer)
            return (farewell, nil)
        }
    }
}
