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

    /// Calls the handler of an actor.
    func deliverOnActor() async {
        let look = alarm.now
        if let actor = record.actor {
            await deliver(on: actor)
        } else if core.begin(self, lookedAt: look, by: .thisThread) != nil {
            // The actor was released. This thread says the farewell, and a cancel that waits must wait for it.
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
    /// On the main actor, for an ordinary handler.
    case mainActor
    /// On the main actor, for a handler that is isolated to it.
    case mainActorTask
    /// On an actor that the handler is isolated to.
    indirect case actor(any Actor)
    /// On the target, an actor that the handler is isolated to.
    case targetActor
    /// In a mailbox, for a task that asks for the ticks.
    case mailbox(TickMailbox)

    /// Where a handler runs that is isolated to an actor.
    static func isolated(to actor: any Actor) -> Destination { actor is MainActor ? .mainActorTask : .actor(actor) }

    /// Whether an ordinary handler is called there.
    var isPlain: Bool {
        switch self {
        case .inline, .queue, .mainActor: true
        case .mainActorTask, .actor, .targetActor, .mailbox: false
        }
    }

    /// Sends a hop on its way.
    func send(_ hop: Hop) {
        switch self {
        case .inline: hop.deliver()
        case .queue(let queue): queue.async { hop.deliver() }
        // The main actor's jobs run on the main queue, and a block there costs less than a task.
        case .mainActor: DispatchQueue.main.async { hop.deliver() }
        // A task that starts on the main actor avoids the shared thread pool, which other tasks may keep busy.
        case .mainActorTask: Task { @MainActor in await hop.deliver(on: MainActor.shared) }
        case .actor, .targetActor: Task { await hop.deliverOnActor() }
        case .mailbox(let mailbox): mailbox.receive(hop)
        }
    }
}
