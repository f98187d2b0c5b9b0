import PreciseTimer

/// A fault that a search must find: a wrong variant of the engine.
enum Plant: Sendable {
    /// The alarm is set after the lock was released, so two threads may set it in the wrong order.
    case setsTheAlarmWithoutTheLock
    /// The order for the alarm at the end of a hop's delivery is not carried out.
    case forgetsTheOrderAfterAHop
    /// The order at the end of a look is not carried out if a timer was added during it.
    case forgetsTimersAddedDuringALook
    /// The farewell does not wait for the running handler.
    case saysFarewellOfARunningTimer
    /// A mailbox that gets a hop does not look whether its timer has ended.
    case keepsAHopAfterTheEnd
    /// A task does not look into the mailbox again when it begins to wait.
    case waitsWithoutALook
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

/// What a thread does next, in one step.
enum Move: Hashable {
    // The alarm's thread: `ServiceCore.fired`.
    case look(run: Int)
    case turn(run: Int, woke: UInt64)
    case send(Int, woke: UInt64)
    // A hop: `Hop.deliver`.
    case arrive(Int)
    case begin(Int, look: UInt64)
    // Both.
    case call(Int, run: Int, look: UInt64, byHop: Bool)
    case handler(Int, run: Int, look: UInt64, byHop: Bool)
    case finish(Int, run: Int, look: UInt64, wasServed: Bool, byHop: Bool)
    case bid(Int)
    // Calls: `ServiceCore.end`, `close`, `admit`, `startAlarm`.
    case wait(Int)
    case waited(Int)
    case fail(run: Int)
    case stopAlarm(Int)
    case endClosing(TimerEnding)
    case beginStart(Int)
    case finishStart(Int)
    case admit(Int)
    // A mailbox and the task that waits for it: `TickMailbox`.
    case put(Int)
    case lookForEnd(Int)
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
