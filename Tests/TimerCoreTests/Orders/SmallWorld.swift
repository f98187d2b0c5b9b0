import PreciseTimer

/// A fault that a search must find: a wrong variant of the engine.
enum Plant: Sendable {
    /// The alarm is set after the lock was released, so two threads may set it in the wrong order.
    case setsTheAlarmWithoutTheLock
    /// The order for the alarm at the end of a hop's delivery is not carried out.
    case forgetsTheOrderAfterAHop
    /// The order at the end of a round is not carried out if a timer was added during it.
    case forgetsTimersAddedDuringARound
    /// A timer is finalized while its handler is running.
    case finalizesARunningTimer
    /// A mailbox that gets a hop does not check whether its timer has ended.
    case keepsAHopAfterTheEnd
    /// A task does not check the mailbox again when it begins to wait.
    case waitsWithoutACheck
    /// A call that ends a timer and waits for its handler lets go of the lock in between.
    case waitsInAnotherHold
}

/// What a world consists of, and how much may happen in it.
struct Plan: Sendable {
    var name: String
    var timers: [TimerPlan]
    /// The number of threads that call, besides the alarm's thread and, if a timer hops, the thread of a queue.
    var callers = 1
    /// Whether handlers call, too.
    var handlersCall = false
    /// The number of calls. In each order they are other calls.
    var calls: Int
    var kinds: Set<Call.Kind> = [.schedule, .cancel, .pause, .resume, .reschedule, .fire]
    /// How many nanoseconds pass.
    var time: UInt64
    /// How many alarms begin to refuse.
    var refusals = 0
    /// How many times an alarm fires too early.
    var earlyFirings = 0
    var alarmRepeats = false
    /// How much earlier than its deadline the alarm fires on purpose.
    var lead: UInt64 = 0
    var isShared = false
    var plant: Plant?
    /// Whether only worlds whose schedulers have had the same calls are taken for equal: slow, but hard to get wrong.
    var mergesByCalls = false
}

/// A call of the library.
struct Call: Hashable, Sendable {
    enum Kind: Hashable, Sendable, CaseIterable {
        case schedule, cancel, cancelAndWait, pause, resume, reschedule, postpone, fire, releaseTarget, shutDown
    }

    let kind: Kind
    let timer: Int
}

/// A step of a small world.
enum WorldStep: Hashable, Sendable {
    case goesOn(Int)
    case calls(Int, Call)
    case timePasses
    case alarmBreaks(Int)
    case alarmFires(Int)
    case alarmFiresEarly(Int)
}

/// The delivery of a tick that was decided on as of an instant.
struct Delivery: Hashable {
    let instant: UInt64
    /// The epoch of the round that calls the handler itself; nil for a hop.
    var epoch: Int?
}

/// What a thread does next, in one step.
enum Move: Hashable {
    // The alarm's thread: `ServiceCore.fired`.
    case round(epoch: Int)
    case step(epoch: Int, woke: UInt64)
    case send(Int, woke: UInt64)
    // A hop: `Hop.deliver`.
    case arrive(Int)
    case begin(Int, at: UInt64)
    // Both.
    case call(Int, Delivery)
    case handler(Int, Delivery)
    case finish(Int, Delivery, wasDelivered: Bool)
    // What a decision has left: `ServiceCore.perform`.
    case stopAlarm(Int)
    case finalize(Int)
    case fail(epoch: Int)
    // Calls: `ServiceCore.end`, `close`, `register`, `startAlarm`.
    case wait(Int)
    case waited(Int)
    case endBatch(TimerEnding)
    case beginStart(Int)
    case finishStart(Int)
    case register(Int)
    // A mailbox and the task that waits for it: `TickMailbox`.
    case put(Int)
    case checkForEnd(Int)
    case letGo(Int)
    case endMailbox(Int)
    case resume
    case next(Int)
    case news(Int)
    case waitForNews(Int)
    // Planted faults.
    case carryOut(SmallEngine.Order)
    case awaitReturn(Int)
}
