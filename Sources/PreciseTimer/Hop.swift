internal import TimerAlarms
internal import TimerCore

/// A tick on its way from the alarm's thread to its handler.
struct Hop: Sendable {
    let core: ServiceCore
    let claim: Claim
    /// When the alarm's thread found it due.
    let woke: TimerInstant
    /// Whose clock is read.
    let alarm: any TimerAlarm
}

/// The end of a hop: the handlers on the other side.
extension Hop {
    /// Calls the handler, on this thread.
    func deliver() {
        let look = alarm.now
        // Nothing of the user's is held when a delivery is ended: who waits for that finds it released.
        while let delivered = core.begin(self, lookedAt: look, by: .thread(.current))?
            .perform(of: core, readingClockOf: alarm)
        {
            guard core.finish(delivered) else { return }
        }
    }

    /// Calls the handler of an actor.
    func deliverIsolated() async {
        // The way to an actor that is busy is long. What is held on it is the actor, and not the handler: that is
        // released by a cancel.
        if let actor = core.actor(of: claim.timer) {
            await deliver(on: actor)
        } else if let delivery = core.begin(self, lookedAt: alarm.now, by: nil) {
            // The actor is gone. Where nothing begins, the timer has ended meanwhile and can be forgotten.
            _ = core.finish(delivery.delivered(nil))
        }
    }

    /// Calls the handler, on its actor. There, too, is decided which tick it is, and the delivery ended.
    func deliver(on actor: isolated any Actor) async {
        let look = alarm.now
        var identity = TaskDelivery()
        while let delivered = await core.begin(self, lookedAt: look, by: .task(identity))?
            .perform(readingClockOf: alarm, on: actor, as: identity)
        {
            guard core.finish(delivered) else { return }
            identity = TaskDelivery()
        }
    }

    /// The tick, for a consumer who takes it and does with it what they like; nil where there is none any more. The
    /// second value is true where there is another late one to be taken.
    func take() -> (tick: PreciseTimer.Tick?, again: Bool) {
        guard let delivery = core.begin(self, lookedAt: alarm.now, by: nil) else { return (nil, false) }
        let tick = delivery.tick(at: alarm.now)
        return (tick, core.finish(delivery.delivered(tick)))
    }
}
