import Testing

/// Every order of the single operations of three threads on a timerfd alarm: its own, one that sets it, and one that
/// stops it.
@Suite(.timeLimit(.minutes(60))) struct SleeperTests {
    private static let isLong = SmallWorldTests.isLong

    private static let plans: [SleeperPlan] = [
        SleeperPlan(
            name: "an alarm that sleeps",
            deadlines: isLong ? [2, 3, nil] : [2],
            settings: isLong ? 2 : 1,
            time: isLong ? 4 : 2
        ),
        SleeperPlan(
            name: "an alarm that spins",
            deadlines: isLong ? [2, 3] : [2],
            settings: isLong ? 2 : 1,
            time: isLong ? 3 : 2,
            margins: [2, 0, 1]
        ),
    ]

    @Test(arguments: plans)
    func noOrderLosesAWakeUp(of plan: SleeperPlan) {
        let all = Exploration { SleeperWorld(plan) }
        #expect(all.fault == nil, "\(all)")
        #expect(all.orders > 100_000, "\(all)")
        if Self.isLong { print("\(plan.name): \(all)") }
    }

    // MARK: Planted faults

    @Test(arguments: isLong ? [false, true] : [true])
    func aThreadThatLooksAtTheDeadlineBeforeItPublishesItsSleepIsFound(spins: Bool) {
        expect(.looksBeforePublishing, spins: spins, breaks: "the thread sleeps past the deadline 1", after: 13)
    }

    @Test(arguments: isLong ? [false, true] : [true])
    func aThreadThatArmsAfterItHasLookedIsFound(spins: Bool) {
        expect(.armsAfterLooking, spins: spins, breaks: "the thread sleeps, though it was stopped", after: 11)
    }

    @Test(arguments: isLong ? [false, true] : [true])
    func aSetterThatStoresTheDeadlineTooLateIsFound(spins: Bool) {
        expect(.storesAfterReading, spins: spins, breaks: "the thread sleeps past the deadline 1", after: 13)
    }

    @Test(arguments: isLong ? [false, true] : [true])
    func aFiringThatUsesUpANewDeadlineIsFound(spins: Bool) {
        expect(.usesUpAnyDeadline, settings: 2, spins: spins, breaks: "the deadline 2 was lost", after: 15)
    }

    @Test(arguments: isLong ? [false, true] : [true])
    func aSetterThatUndoesAStopIsFound(spins: Bool) {
        expect(.forgetsTheStop, spins: spins, breaks: "the thread sleeps, though it was stopped", after: 18)
    }

    private func expect(
        _ plant: SleeperPlant,
        settings: Int = 1,
        spins: Bool,
        breaks fault: String,
        after steps: Int
    ) {
        let plan = SleeperPlan(
            name: "planted",
            deadlines: [1, 2],
            settings: settings,
            settingsInside: 0,
            time: 3,
            margins: spins ? [1, 2] : [],
            plant: plant
        )
        let found = Exploration { SleeperWorld(plan) }
        #expect(found.fault == fault, "\(found)")
        #expect(found.trace.count == steps, "\(found)")
    }
}

extension SleeperPlan: CustomTestStringConvertible {
    var testDescription: String { name }
}

/// A fault that a search must find: a wrong variant of the timerfd alarm.
enum SleeperPlant: Hashable, Sendable {
    /// The thread looks at the deadline, then says when it will wake.
    case looksBeforePublishing
    /// The thread says when it will wake and looks at the deadline, then arms the timerfd.
    case armsAfterLooking
    /// A setter reads when the thread will wake, then stores the deadline.
    case storesAfterReading
    /// A firing uses the deadline up even if it was replaced.
    case usesUpAnyDeadline
    /// A setter does not look whether the alarm was stopped meanwhile.
    case forgetsTheStop
}

/// What may happen to an alarm.
struct SleeperPlan: Sendable {
    var name: String
    /// The deadlines that the setter may choose; nil disarms.
    var deadlines: [UInt64?]
    /// How many times the alarm is set by another thread, and from inside a firing.
    var settings = 2
    var settingsInside = 1
    /// How many nanoseconds pass.
    var time: UInt64 = 4
    /// The margins that a spinner decides on, one after the other; empty for an alarm that only sleeps.
    var margins: [UInt64] = []
    var plant: SleeperPlant?
}

/// The variables that the alarm's threads share. `TimerFDAlarm` has the same ones, besides those of the timerfd itself.
struct SleeperMemory: Hashable {
    var deadline = UInt64.max
    var wakesBy: UInt64 = 0
    var isStopped = false
    /// `Spinner.lastMargin`.
    var lastMargin: UInt64
    /// When the timerfd expires; nil if it is disarmed, or if its expiry was read.
    var expiry: UInt64?
    /// The service's lock, which is held while the alarm is set.
    var isLocked = false
    var now: UInt64 = 0
}

/// The next step of the alarm's thread: one operation on a shared variable, one system call, or one reading of the
/// clock. The steps are those of `TimerFDAlarm.run`, `wait`, `sleep` and `spin`, in their order.
enum SleeperMove: Hashable {
    case loadStopped
    case loadDeadline
    case readClock(next: UInt64)
    case decideMargin(next: UInt64, woke: UInt64)
    case arm(Sleep)
    case publish(Sleep)
    /// `isStillWaiting(for:)` in `sleep`: two loads.
    case lookAtDeadline(Sleep)
    case lookAtStop(Sleep)
    case read(Sleep)
    case unpublish(Sleep, hasSlept: Bool)
    case readClockAgain(Sleep)
    case lookBeforeSpin(Sleep, woke: UInt64)
    /// `isStillWaiting(for:)` in `spin`, then the clock.
    case spinAtDeadline(Sleep, woke: UInt64)
    case spinAtStop(Sleep, woke: UInt64)
    case useUp(next: UInt64)
    case lookAtStopBeforeFiring
    /// Inside a firing, after which the thread looks again, or spins: the service may set the alarm.
    case inFiring(Sleep?, woke: UInt64)
    case hasEnded

    /// The numbers of a wait.
    struct Sleep: Hashable, CustomStringConvertible {
        let next: UInt64
        let margin: UInt64
        /// When the thread must wake, in time for the margin.
        var alarm: UInt64 { next == .max ? .max : next - margin }

        var description: String { margin == 0 ? "for \(next)" : "for \(next), from \(alarm) on" }
    }
}

/// The next step of a thread that sets or stops the alarm, as in `TimerFDAlarm.set` and `stop`.
enum SetterMove: Hashable {
    case lock(UInt64)
    case store(UInt64)
    case loadWakesBy(UInt64)
    case arm(UInt64, wakesBy: UInt64)
    case loadWakesByAgain(wakesBy: UInt64)
    case loadStopped
    case wake
    case unlock
    // The wrong order.
    case loadWakesByFirst(UInt64)
    case storeLast(UInt64, wakesBy: UInt64)
}

enum StopperMove: Hashable {
    case store, wake, hasReturned
}

enum SleeperStep: Hashable, Sendable {
    case threadGoesOn
    case setterGoesOn
    case stopperGoesOn
    case sets(UInt64?, inFiring: Bool)
    case returnsFromFiring
    case stops
    case timePasses
}
