internal import Dispatch
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
        let look = alarm.now
        while let due = core.begin(self, lookedAt: look, by: .thisThread) {
            let served = record.call(due, woke: woke, alarm)
            guard core.finish(self, lookedAt: look, served) else { return }
        }
    }

    /// Calls the handler in the present task, on its actor if it has one. The tick is decided, and the delivery ended,
    /// on that actor.
    func deliver(on actor: isolated (any Actor)?) async {
        let look = alarm.now
        var identity = TaskDelivery()
        while let due = core.begin(self, lookedAt: look, by: .task(identity)) {
            let (served, failure) = await record.call(due, woke: woke, alarm, on: actor, as: identity)
            noteRun(served, failure?.thrown)
            switch failure {
            case nil, .taken: break
            case .given(up: _, with: let error): core.end(record, failed: error, isTold: true)
            case .untold(let error): core.end(record, failed: error, isTold: false)
            }
            guard core.finish(self, lookedAt: look, served) else { return }
            identity = TaskDelivery()
        }
    }

    private func noteRun(_ served: Served?, _ error: (any Error)?) {
        guard let served, case .task(let tasks) = record.user.destination else { return }
        let start = TimerInstant(nanoseconds: served.delivered, clock: core.clock)
        tasks.noteRun(PreciseTimer.HandlerRun(start: start, end: alarm.now, error: error))
    }

    /// Ends the delivery of a timer whose target, an actor, was released. This thread says the farewell, and a cancel
    /// that waits must wait for it.
    func deliverToNoActor() {
        let look = alarm.now
        if core.begin(self, lookedAt: look, by: .thisThread) != nil { _ = core.finish(self, lookedAt: look, nil) }
    }

    /// Decides the tick and hands it to a consumer; nil if the timer must not tick. `again` is true if another late
    /// tick is ready.
    func take(isComputed: Bool) -> (tick: PreciseTimer.Tick?, again: Bool) {
        let look = alarm.now
        guard let due = core.begin(self, lookedAt: look, by: .thisThread) else { return (nil, false) }
        var tick = PreciseTimer.Tick(due, woke: woke, delivered: alarm.now)
        if isComputed { tick = core.goOn(record, tick) }
        return (tick, core.finish(self, lookedAt: look, Served(due: due, lateness: tick.nanosecondsLate)))
    }
}

/// A tick that a handler or a consumer has received.
struct Served {
    let due: Due
    /// How late it was, in nanoseconds.
    let lateness: UInt64

    /// When the handler was called, in nanoseconds on the service's clock.
    var delivered: UInt64 { due.deadline + lateness }
}

/// How the ticks of a timer reach its handler.
enum Destination: Sendable {
    /// The handler is called directly, on the alarm's thread.
    case inline
    /// On a Dispatch queue.
    case queue(DispatchQueue)
    /// In a task of its own: the handler is isolated to an actor, or may await.
    case task(TaskDestination)
    /// In a mailbox, for a task that asks for the ticks.
    case mailbox(TickMailbox)

    /// Whether an ordinary handler is called there.
    var isPlain: Bool {
        switch self {
        case .inline, .queue: true
        case .task, .mailbox: false
        }
    }

    /// Sends a hop on its way.
    func send(_ hop: Hop) {
        switch self {
        case .inline: hop.deliver()
        case .queue(let queue): queue.async { hop.deliver() }
        case .task(let tasks): tasks.send(hop)
        case .mailbox(let mailbox): mailbox.receive(hop)
        }
    }
}
