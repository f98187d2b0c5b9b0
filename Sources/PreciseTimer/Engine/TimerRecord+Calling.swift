internal import Synchronization
internal import TimerAlarms
internal import TimerCore

/// Calling the handler of a decided tick, outside any lock.
extension TimerRecord {
    /// Calls the handler. Returns nil, without a call, if the target was released.
    final func call(_ due: Due, woke: TimerInstant, _ alarm: any TimerAlarm) -> Served? {
        #if DEBUG
        MainActorCheck.begin { self.warningOfMainActor }
        defer { MainActorCheck.end() }
        #endif
        var lateness: UInt64?
        // The clock is read last, when all else is ready for the call.
        let hasTarget = deliver {
            let tick = PreciseTimer.Tick(due, woke: woke, delivered: alarm.now(notBefore: woke))
            lateness = tick.nanosecondsLate
            return tick
        }
        return hasTarget ? lateness.map { Served(due: due, lateness: $0) } : nil
    }

    /// Calls the handler on its actor. Returns nil, without a call, if the target was released.
    final func call(
        _ due: Due,
        woke: TimerInstant,
        _ alarm: any TimerAlarm,
        on actor: isolated any Actor,
        as identity: TaskDelivery
    ) async -> Served? {
        let tick = PreciseTimer.Tick(due, woke: woke, delivered: alarm.now)
        let hasTarget = await TaskDelivery.$current.withValue(identity) { await deliver(tick, on: actor) }
        return hasTarget ? Served(due: due, lateness: tick.nanosecondsLate).handled(by: alarm.now) : nil
    }
}

extension PreciseTimer.Tick {
    /// A tick that was found due at one moment and is delivered at another.
    init(_ due: Due, woke: TimerInstant, delivered: TimerInstant) {
        index = due.index
        deadline = TimerInstant(nanoseconds: due.deadline, clock: woke.clock)
        self.woke = max(woke, deadline)
        // A wall clock may have been set back in between.
        self.delivered = max(delivered, self.woke)
        missed = due.missed
    }

    /// ``lateness`` in nanoseconds.
    var nanosecondsLate: UInt64 { delivered.nanoseconds - deadline.nanoseconds }
}

/// The thread or task that runs a handler, as one word. It tells whether a call comes from inside the handler.
struct Runner: Hashable, Sendable {
    /// An even number: the address of a thread's own data. An odd one: twice a task's number, plus one.
    /// Zero: no runner.
    private let word: UInt

    static let nobody = Runner(word: 0)

    /// The calling thread. A synchronous handler stays on one thread.
    static var thisThread: Runner { Runner(word: ThreadID.current.number) }

    /// A task for which ``TaskDelivery/current`` is this delivery.
    static func task(_ delivery: TaskDelivery) -> Runner { Runner(word: delivery.number << 1 | 1) }

    /// Whether it is a task.
    var isTask: Bool { word & 1 == 1 }

    /// Whether the caller is inside the handler.
    var isCaller: Bool {
        self == .thisThread || TaskDelivery.current.map { self == .task($0) } ?? false
    }
}

/// The handler call that a task is part of.
struct TaskDelivery: Hashable, Sendable {
    @TaskLocal static var current: TaskDelivery?

    /// Relaxed: the numbers must differ, and they order nothing.
    private static let count = Atomic<UInt>(0)

    fileprivate let number: UInt

    /// A delivery with a new number.
    init() { number = Self.count.add(1, ordering: .relaxed).newValue }
}
