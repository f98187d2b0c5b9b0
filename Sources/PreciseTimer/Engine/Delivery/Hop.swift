internal import TimerAlarms
internal import TimerKernel

/// A tick on its way from the alarm's thread to its handler.
struct Hop: Sendable {
    let core: ServiceCore
    let record: Record
    /// When the alarm's thread found the tick due.
    let woke: TimerInstant
    /// The alarm whose clock is read.
    let alarm: any TimerAlarm

    /// Calls the handler on this thread.
    func deliver() {
        let now = alarm.now
        while let expiration = core.begin(self, at: now) {
            let delivered = record.call(expiration, woke: woke, alarm, in: core)
            guard core.conclude(self, decidedAt: now, delivered) else { return }
        }
    }

    /// Calls the handler in the present task, on its actor if it has one. The tick is decided, and the delivery ended,
    /// on that actor.
    func deliver(on actor: isolated (any Actor)?) async {
        let now = alarm.now
        var identity = TaskDelivery()
        while let expiration = core.begin(self, at: now, in: identity) {
            let (delivered, failure) = await record.call(expiration, woke: woke, alarm, on: actor, as: identity)
            noteRun(delivered, failure?.thrown)
            switch failure {
            case nil, .taken: break
            case .given(up: _, with: let error): core.end(record, failed: error, isTold: true)
            case .untold(let error): core.end(record, failed: error, isTold: false)
            }
            guard core.conclude(self, decidedAt: now, delivered) else { return }
            identity = TaskDelivery()
        }
    }

    private func noteRun(_ delivered: DeliveredTick?, _ error: (any Error)?) {
        guard let delivered, case .task(let tasks) = record.user.destination else { return }
        let start = TimerInstant(nanoseconds: delivered.instant, clock: core.clock)
        tasks.noteRun(PreciseTimer.HandlerRun(start: start, end: alarm.now, error: error.map { "\($0)" }))
    }

    /// Ends the delivery of a timer whose target, an actor, was released. This thread finalizes the timer, and a cancel
    /// that waits must wait for it.
    func deliverToNoActor() {
        let now = alarm.now
        if core.begin(self, at: now) != nil { _ = core.conclude(self, decidedAt: now, nil) }
    }

    /// Decides the tick and hands it to a consumer; nil if the timer must not tick. `again` is true if another late
    /// tick is ready.
    func take() -> (tick: PreciseTimer.Tick?, again: Bool) {
        let now = alarm.now
        guard let expiration = core.begin(self, at: now) else { return (nil, false) }
        let tick = PreciseTimer.Tick(expiration, woke: woke, delivered: alarm.now)
        let delivered = DeliveredTick(expiration: expiration, lateness: tick.nanosecondsLate)
        return (tick, core.conclude(self, decidedAt: now, delivered))
    }
}
