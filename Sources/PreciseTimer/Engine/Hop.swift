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
        while let call = core.begin(self, lookedAt: look, by: .thisThread) {
            guard core.finish(call, call.perform()) else { return }
        }
    }

    /// Calls the handler of an actor.
    func deliverOnActor() async {
        if let actor = record.actor {
            await deliver(on: actor)
        } else if let call = core.begin(self, lookedAt: alarm.now, by: .nobody) {
            // The actor is gone.
            _ = core.finish(call, nil)
        }
    }

    /// Calls the handler, on its actor. There, too, is decided which tick it is, and the delivery ended.
    func deliver(on actor: isolated any Actor) async {
        let look = alarm.now
        var identity = TaskDelivery()
        while let call = core.begin(self, lookedAt: look, by: .task(identity)) {
            guard core.finish(call, await call.perform(on: actor, as: identity)) else { return }
            identity = TaskDelivery()
        }
    }

    /// The tick, for a consumer who takes it and does with it what they like; nil if there is none any more. The
    /// second value is true if there is another late one to be taken.
    func take() -> (tick: PreciseTimer.Tick?, again: Bool) {
        guard let call = core.begin(self, lookedAt: alarm.now, by: .nobody) else { return (nil, false) }
        let tick = call.tick
        return (tick, core.finish(call, tick.nanosecondsLate))
    }
}
