internal import TimerAlarms
@_spi(Engine) internal import TimerCore

/// The steps from a firing of the alarm to the handlers that need the lock.
extension ServiceState {
    /// The next step of a look, to be done without the lock.
    enum Turn {
        /// Call a handler here.
        case call(TimerRecord, Due)
        /// Send a tick to its destination.
        case send(TimerRecord)
        /// Say the farewell of a timer.
        case bid(TimerRecord, TimerService?)
        /// Ask again: much work remains, and other threads may need the lock.
        case askAgain
        /// The look is over. The alarm is set, or the failure says why it could not be set.
        case done(Failure?)
    }

    /// The state of a timer after a delivery.
    enum Outcome {
        /// It waits for its next deadline, or rests. The failure is there if the alarm could not be set.
        case waits(Failure?)
        /// The same hop must deliver another late tick.
        case again
        /// It has ended, and its farewell must be said. The service is there if this was its last timer.
        case ended(TimerService?)
    }

    /// Begins a look. Returns nil if an earlier run's alarm has fired.
    mutating func look(_ run: Int) -> (alarm: any TimerAlarm, woke: TimerInstant)? {
        guard run == self.run, let alarm else { return nil }
        var woke = alarm.now
        // An alarm that fires early on purpose leaves time for the decision, which is made as of the deadline. The wait
        // for it comes at the end: `now(notBefore:)`.
        if let next = scheduler.nextLook, next > woke.nanoseconds, next - woke.nanoseconds <= alarm.lead {
            woke = TimerInstant(nanoseconds: next, clock: clock)
        }
        scheduler.beginLook(at: woke.nanoseconds)
        return (alarm, woke)
    }

    /// The next step of a look.
    mutating func nextTurn(_ run: Int, lookedAt woke: TimerInstant) -> Turn {
        guard run == self.run else { return .done(nil) }
        switch scheduler.next() {
        case .notFound:
            closeHandlerTime()
            return .askAgain
        case .none:
            closeHandlerTime()
            return .done(arm(scheduler.endLook()))
        case .of(let timer):
            let record = TimerRecord.of(timer)
            guard case .inline = record.destination, let due = scheduler.begin(record, at: woke.nanoseconds) else {
                closeHandlerTime()
                return .send(record)
            }
            record.runner = .thisThread
            return .call(record, due)
        }
    }

    /// Decides the tick of a hop that has arrived. No tick if the timer has ended, is paused, or was rescheduled to a
    /// later deadline; a timer that goes on is then back in its queue.
    mutating func begin(_ record: TimerRecord, lookedAt look: TimerInstant, by runner: Runner) -> (Due?, Failure?) {
        if let due = scheduler.begin(record, at: look.nanoseconds) {
            record.runner = runner
            return (due, nil)
        }
        switch scheduler.finish(record, lookedAt: look.nanoseconds, now: look.nanoseconds) {
        case .waits(let order): return (nil, arm(order))
        case .again, .completes, .hasEnded: return (nil, nil)
        }
    }

    /// Ends a delivery: the timer waits for its next deadline, ends, or has another late tick to deliver. Nothing was
    /// served if the target was released.
    mutating func finish(
        _ record: TimerRecord,
        lookedAt look: TimerInstant,
        _ served: Served?,
        byHop: Bool
    ) -> Outcome {
        record.runner = .nobody
        if let served {
            count(served, of: record, isInline: !byHop)
        } else {
            _ = end(record, record.endingIfTargetIsGone)
        }
        // The clock is read only for a timer whose next deadline depends on it.
        let now = record.awaitsReturn ? self.now ?? look : look
        switch scheduler.finish(record, lookedAt: look.nanoseconds, byHop: byHop, now: now.nanoseconds) {
        case .waits(let order): return .waits(arm(order))
        case .again: return .again
        case .completes, .hasEnded:
            if !byHop {
                closeHandlerTime()
                // Without an alarm there is no reading, and the timer's object may not live until the next one.
                handlers.forget(record)
            }
            return .ended(takeServiceIfIdle())
        }
    }
}

/// The steps from a firing of the alarm to the handlers that run without the lock.
extension ServiceCore {
    /// Called when the alarm fires: delivers the due ticks, then sets the alarm for the next deadline.
    func deliverDue(_ run: Int) {
        guard let (alarm, woke) = locked(inForkedChild: nil, { $0.look(run) }) else { return }
        var turn = ServiceState.Turn.askAgain
        while true {
            switch turn {
            case .call(let record, let due):
                let served = record.call(due, woke: woke, alarm)
                turn = locked(inForkedChild: .done(nil)) { state in
                    // The farewell comes before the next decision, because `onEnd` may change the next timer.
                    if case .ended(let service) = state.finish(record, lookedAt: woke, served, byHop: false) {
                        return .bid(record, service)
                    }
                    return state.nextTurn(run, lookedAt: woke)
                }
                continue
            case .send(let record):
                _ = alarm.now(notBefore: woke)
                setup.asOrdinaryThread {
                    record.destination.send(Hop(core: self, record: record, woke: woke, alarm: alarm))
                }
            case .bid(let record, _): setup.asOrdinaryThread { record.sayFarewell() }
            case .askAgain: break
            case .done(let failure):
                if let failure { fail(failure) }
                reportSlowHandlers()
                return
            }
            turn = locked(inForkedChild: .done(nil)) { $0.nextTurn(run, lookedAt: woke) }
        }
    }

    /// Decides the tick of a hop that has arrived; nil if the timer must not tick.
    func begin(_ hop: Hop, lookedAt look: TimerInstant, by runner: Runner) -> Due? {
        let (due, failure) = locked(inForkedChild: (nil, nil)) { $0.begin(hop.record, lookedAt: look, by: runner) }
        if let failure { fail(failure) }
        return due
    }

    /// Ends the delivery of a hop. Returns true if the same hop must deliver another late tick.
    func finish(_ hop: Hop, lookedAt look: TimerInstant, _ served: Served?) -> Bool {
        let outcome = locked(inForkedChild: .waits(nil)) { state in
            state.finish(hop.record, lookedAt: look, served, byHop: true)
        }
        reportSlowHandlers()
        switch outcome {
        case .again: return true
        case .ended: hop.record.sayFarewell()
        case .waits(let failure): if let failure { fail(failure) }
        }
        return false
    }

    /// In a debug build, warns about handlers that were found to be slow.
    private func reportSlowHandlers() {
        #if DEBUG
        for place in locked(inForkedChild: [], { $0.handlers.takeUnreported() }) { place.warn() }
        #endif
    }
}
