internal import TimerAlarms
internal import TimerCore

/// A tick on its way from the alarm's thread to its handler.
struct Hop: Sendable {
    let core: ServiceCore
    let record: TimerRecord
    /// When the alarm's thread found the tick due.
    let woke: TimerInstant
    /// The alarm whose clock is read.
    let alarm: any TimerAlarm

    /// Calls the handler on this thread.
    func deliver() {
        let look = alarm.now
        while let due = core.begin(self, lookedAt: look, by: .thisThread) {
            let served = record.call(due, woke: woke, alarm)?.handled(by: alarm.now)
            guard core.finish(self, lookedAt: look, served) else { return }
        }
    }

    /// Calls the handler of an actor.
    func deliverOnActor() async {
        let look = alarm.now
        if let actor = record.actor {
            await deliver(on: actor)
        } else if core.begin(self, lookedAt: look, by: .nobody) != nil {
            // The actor was released.
            _ = core.finish(self, lookedAt: look, nil)
        }
    }

    /// Calls the handler on its actor. The tick is decided, and the delivery ended, on that actor.
    func deliver(on actor: isolated any Actor) async {
        let look = alarm.now
        var identity = TaskDelivery()
        while let due = core.begin(self, lookedAt: look, by: .task(identity)) {
            let served = await record.call(due, woke: woke, alarm, on: actor, as: identity)
            guard core.finish(self, lookedAt: look, served) else { return }
            identity = TaskDelivery()
        }
    }

    /// Decides the tick and hands it to a consumer; nil if the timer must not tick. `again` is true if another late
    /// tick is ready.
    func take() -> (tick: PreciseTimer.Tick?, again: Bool) {
        let look = alarm.now
        guard let due = core.begin(self, lookedAt: look, by: .nobody) else { return (nil, false) }
        let tick = PreciseTimer.Tick(due, woke: woke, delivered: alarm.now)
        return (tick, core.finish(self, lookedAt: look, Served(due: due, lateness: tick.nanosecondsLate)))
    }
}
