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
        let now = alarm.now
        while let expiration = core.begin(self, at: now) {
            let delivered = record.call(expiration, woke: woke, alarm, in: core)
            guard core.conclude(self, decidedAt: now, delivered) else { return }
        }
    }

    /// Calls the handler in the current task, on its actor if it has one. The tick is decided, and the delivery ended,
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
        let delivered = DeliveredTick(expiration, lateness: tick.nanosecondsLate)
        return (tick, core.conclude(self, decidedAt: now, delivered))
    }
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

/// A tick that a handler or a consumer has received.
struct DeliveredTick {
    /// Its deadline, in nanoseconds on the service's clock.
    let deadline: UInt64
    /// How late it was, in nanoseconds.
    let lateness: UInt64
    /// How many later deadlines it stands for.
    let missed: UInt64

    @inline(__always) init(_ expiration: Expiration, lateness: UInt64) {
        (deadline, missed) = (expiration.deadline, expiration.missed)
        self.lateness = lateness
    }

    /// When the handler was called, in nanoseconds on the service's clock.
    var instant: UInt64 { deadline &+ lateness }

    /// How long the handler ran, if it has returned now. A wall clock may have been set back.
    @inline(__always) func handlerTime(_ now: UInt64) -> UInt64 { now &- min(now, instant) }
}

extension PreciseTimer.Tick {
    /// A tick that was found due at one moment and is delivered at another.
    @inline(__always) init(_ expiration: Expiration, woke: TimerInstant, delivered: TimerInstant) {
        let clock = woke.clock
        let woke = max(woke.nanoseconds, expiration.deadline)
        index = Int(clamping: expiration.index)
        deadline = TimerInstant(nanoseconds: expiration.deadline, clock: clock)
        self.woke = TimerInstant(nanoseconds: woke, clock: clock)
        // A wall clock may have been set back in between.
        let latest = expiration.deadline &+ expiration.span
        self.delivered = TimerInstant(nanoseconds: max(max(delivered.nanoseconds, woke), latest), clock: clock)
        latestDeadline = TimerInstant(nanoseconds: latest, clock: clock)
        missed = Int(clamping: expiration.missed)
        isExtra = expiration.isExtra
    }

    /// ``lateness`` in nanoseconds. No tick is delivered before its deadline.
    var nanosecondsLate: UInt64 { delivered.nanoseconds &- deadline.nanoseconds }
}
