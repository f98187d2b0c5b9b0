internal import TimerAlarms
internal import TimerCore

/// From a firing of the alarm to the handlers: what happens without the lock.
extension ServiceCore {
    /// The alarm has fired: delivers what is due, and sets the alarm for what comes next.
    func deliverDue(_ run: Int) {
        guard let alarm = locked(inForkedChild: nil, { $0.look(run) }) else { return }
        var turn = locked { $0.nextTurn(run, alarm, self) }
        while true {
            switch turn {
            case .call(let call):
                let lateness = call.perform()
                turn = locked { state in
                    // Before anything else is decided: what the user does on hearing of an end may concern the next timer.
                    if case .ended(let service) = state.finish(call, lateness, byHop: false) {
                        return .bid(call.record, service)
                    }
                    return state.nextTurn(run, alarm, self)
                }
                continue
            case .send(let hop): hop.record.destination.send(hop)
            case .bid(let record, _): record.sayFarewell()
            case .askAgain: break
            case .done(let failure):
                if let failure { fail(failure) }
                return
            }
            turn = locked { $0.nextTurn(run, alarm, self) }
        }
    }

    /// Decides on the tick of a hop that has arrived; nil if there is none any more.
    func begin(_ hop: Hop, lookedAt look: TimerInstant, by runner: Runner) -> Call? {
        let (call, failure) = locked(inForkedChild: (nil, nil)) { $0.begin(hop, lookedAt: look, by: runner) }
        if let failure { fail(failure) }
        return call
    }

    /// Ends the delivery of a hop. True if another late tick is to be delivered by it.
    func finish(_ call: Call, _ lateness: UInt64?) -> Bool {
        switch locked(inForkedChild: .waits(nil), { $0.finish(call, lateness, byHop: true) }) {
        case .again: return true
        case .ended: call.record.sayFarewell()
        case .waits(let failure): if let failure { fail(failure) }
        }
        return false
    }
}
