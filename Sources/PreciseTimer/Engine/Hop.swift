internal import TimerAlarms
internal import TimerCore

/// A tick on its way from the alarm's thread to its handler, and the end of that way.
struct Hop: Sendable {
    let core: ServiceCore
    let record: TimerRecord
    /// When the alarm's thread found it due.
    let woke: TimerInstant
    /// Whose clock is read.
    let alarm: any TimerAlarm

    /// Calls the handler, on this thread.
    func deliver() {
        let look = alarm.now
        while let due = core.begin(self, lookedAt: look, by: .thisThread) {
            guard core.finish(self, lookedAt: look, record.call(due, woke: woke, alarm)) else { return }
        }
    }

    /// Calls the handler of an actor.
    func deliverOnActor() async {
        let look = alarm.now
        if let actor = record.actor {
            await deliver(on: actor)
        } else if core.begin(self, lookedAt: look, by: .nobody) != nil {
            // The actor is gone.
            _ = core.finish(self, lookedAt: look, nil)
        }
    }

    /// Calls the handler, on its actor. There, too, is decided which tick it is, and the delivery ended.
    func deliver(on actor: isolated any Actor) async {
        let look = alarm.now
        var identity = TaskDelivery()
        while let due = core.begin(self, lookedAt: look, by: .task(identity)) {
            let lateness = await record.call(due, woke: woke, alarm, on: actor, as: identity)
            guard core.finish(self, lookedAt: look, lateness) else { return }
            identity = TaskDelivery()
        }
    }

    /// The tick, for a consumer who takes it and does with it what they like; nil if there is none any more. The
    /// second value is true if there is another late one to be taken.
    func take() -> (tick: PreciseTimer.Tick?, again: Bool) {
        let look = alarm.now
        guard let due = core.begin(self, lookedAt: look, by: .nobody) else { return (nil, false) }
        let tick = PreciseTimer.Tick(due, woke: woke, delivered: alarm.now)
        return (tick, core.finish(self, lookedAt: look, tick.nanosecondsLate))
    }
}
