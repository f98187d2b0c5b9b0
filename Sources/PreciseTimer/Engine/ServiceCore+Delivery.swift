internal import TimerAlarms
internal import TimerCore

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
