import TestSupport
import Testing
import TimerKernel

@testable import PreciseTimer

/// Every order of the steps of a small world, whose engine is the real one.
///
/// The ordinary bound takes a few seconds in a debug build. The large one, with `PRECISE_TIMER_THOROUGH=1`, is for a
/// release build.
@Suite(.timeLimit(.minutes(60))) struct SmallWorldTests {
    private static let isLong = Effort.isThorough

    @Test(.alone("every order of the steps is taken"), arguments: Plan.all(isLong: isLong))
    func everyOrderKeepsThePromises(of plan: Plan) async throws {
        let all = try await onOwnThread { Exploration { SmallWorld(plan) } }
        #expect(all.fault == nil && all.orders > 100, "\(all)")
        if Self.isLong { print("\(plan.name): \(all)") }
    }

    /// If a number were forgotten on which later steps depend, the search would lose orders.
    @Test(
        .alone("every order of the steps is taken, twice"),
        arguments: Plan.all(isLong: false).filter { isLong || ["tolerance", "late ticks of a hop"].contains($0.name) }
    )
    func noOrderIsLostBetweenWorldsThatAreTakenForEqual(of plan: Plan) async throws {
        let orders = try await onOwnThread {
            [false, true]
                .map { mergesByDecisions in
                    var plan = plan
                    (plan.time, plan.mergesByDecisions) = (Self.isLong ? 2 : 1, mergesByDecisions)
                    return Exploration { SmallWorld(plan) }.orders
                }
        }
        #expect(orders[0] == orders[1])
    }
}

/// The small worlds that are searched, each in a small bound for every test run and in a large one.
extension Plan: CustomTestStringConvertible {
    var testDescription: String { name }

    fileprivate static func all(isLong: Bool) -> [Plan] {
        let requests: Set<Call.Kind> = [.cancel, .pause, .resume, .reschedule, .postpone, .fire]
        func plan(
            _ name: String,
            _ timers: [TimerPlan],
            _ kinds: Set<Call.Kind>,
            calls: (few: Int, many: Int) = (1, 2),
            time: (short: UInt64, long: UInt64) = (1, 3),
            _ change: (inout Plan) -> Void = { _ in }
        ) -> Plan {
            var plan = Plan(name: name, timers: timers, kinds: kinds)
            (plan.calls, plan.time) = isLong ? (calls.many, time.long) : (calls.few, time.short)
            change(&plan)
            return plan
        }
        let (inline, hop) = (TimerPlan(first: 1, period: 2), TimerPlan(first: 1, period: 2, way: .queue))
        let (single, later) = (TimerPlan(first: 1, way: .queue), TimerPlan(first: 1, way: .queue, isThere: false))
        let every = TimerPlan(first: 1, period: 1)
        var (catchingUp, fixedDelay, consumed) = (every, every, every)
        (catchingUp.burstLimit, fixedDelay.isFixedDelay) = (2, true)
        (consumed.burstLimit, consumed.way) = (2, .task)
        let delaying = TimerPlan(first: 1, period: 1, restartsLate: true, way: .queue)
        let catchingUpByHop = TimerPlan(first: 1, period: 1, burstLimit: 2, way: .queue)
        let twice = TimerPlan(first: 2, period: 1, count: 2)
        let tolerant = TimerPlan(first: 1, period: 2, tolerance: 2)
        let added = TimerPlan(first: 2, isThere: false)
        return [
            plan("a timer and a hop", [inline, hop], requests.union([.cancelAndWait])),
            plan("a schedule meets all calls", [inline, added], requests.union([.schedule, .cancelAndWait])) {
                ($0.callers, $0.time) = (2, isLong ? 4 : 3)
            },
            plan("late ticks", [catchingUp, delaying], requests, calls: (1, 1)),
            plan("late ticks of a hop", [catchingUpByHop, twice], requests, calls: (1, 1)),
            plan("tolerance", [tolerant, twice], requests, time: (2, 4)),
            plan("an alarm that fires early on purpose", [fixedDelay, hop], requests, calls: (1, 1)) { $0.lead = 1 },
            plan("an alarm that repeats", [every, TimerPlan(first: 2, period: 3)], requests, time: (1, 2)) {
                ($0.earlyFirings, $0.alarmRepeats) = (1, true)
            },
            plan("handlers that call", [every, single], [.cancel, .reschedule, .fire], time: (1, 2)) {
                $0.handlersCall = true
            },
            plan(
                "a timer that finishes",
                [catchingUp],
                [.finish, .fire, .pause, .resume],
                calls: (2, 3),
                time: (2, 4)
            ),
            plan("a hop that finishes", [hop], [.finish, .fire], calls: (2, 3), time: (1, 3)),
            plan("a fixed delay that finishes", [fixedDelay], [.finish, .fire], calls: (2, 3), time: (3, 4)),
            plan("released targets", [inline, single], [.releaseTarget, .fire, .reschedule]),
            plan("a hop meets calls", [single], [.reschedule, .fire, .shutDown], calls: (2, 2), time: (3, 3)),
            plan("a task that takes ticks", [consumed], [.cancel, .reschedule, .fire, .shutDown], time: (1, 2)),
            plan("an alarm that refuses", [inline, later], [.schedule, .shutDown, .reschedule]) {
                ($0.callers, $0.refusals) = (2, 1)
            },
            plan(
                "a shutdown and a new start",
                [inline, later],
                [.schedule, .shutDown, .cancelAndWait],
                calls: (2, 3),
                time: (1, 2)
            ) { $0.callers = 2 },
        ]
    }
}

/// Every order of the single operations of three threads on a timerfd alarm: its own, one that sets it, and one that
/// stops it.
@Suite(.timeLimit(.minutes(60))) struct SleeperTests {
    /// The worlds have a memory of their own; this is the alarm's.
    @Test func onlyTheDeadlineThatHasComeIsUsedUp() throws {
        let alarm = try TimerFDAlarm(.suspending)
        alarm.store(deadline: 7)
        #expect(!alarm.useUp(6) && alarm.readDeadline() == 7)
        #expect(alarm.useUp(7) && alarm.readDeadline() == .max)
    }

    private static let isLong = Effort.isThorough

    private static let plans: [String: SleeperPlan] = [
        "an alarm that sleeps": isLong
            ? SleeperPlan(deadlines: [2, 3, nil], settings: 2, time: 4)
            : SleeperPlan(deadlines: [1, 2], settings: 2, settingsInside: 0, time: 2),
        "an alarm that spins": isLong
            ? SleeperPlan(deadlines: [2, 3], settings: 2, time: 3, margins: [2, 0, 1])
            : SleeperPlan(deadlines: [2], time: 1, margins: [2, 0]),
        "a real-time alarm that sleeps": isLong
            ? SleeperPlan(deadlines: [2, 3, nil], settings: 2, time: 4, isRealTime: true)
            : SleeperPlan(deadlines: [1], time: 1, isRealTime: true),
        "a real-time alarm that spins": isLong
            ? SleeperPlan(deadlines: [2, 3], settings: 2, time: 3, margins: [2, 0, 1], isRealTime: true)
            : SleeperPlan(deadlines: [2], settingsInside: 0, time: 1, margins: [2], isRealTime: true),
    ]

    @Test(arguments: plans.keys)
    func noOrderLosesAWakeUp(of name: String) throws {
        let plan = try #require(Self.plans[name])
        let all = Exploration { SleeperWorld(plan) }
        #expect(all.fault == nil && all.orders > 10_000, "\(all)")
        if Self.isLong { print("\(name): \(all)") }
    }
}

/// Every order of the single operations of threads that take one lock, with the code of the library on a model of the
/// kernel. Two threads never hold it at once, and no thread waits for ever.
@Suite(.timeLimit(.minutes(60))) struct LockOrderTests {
    private static let isLong = Effort.isThorough

    private static let plans: [LockPlan] = [
        LockPlan(name: "two threads", holds: isLong ? 3 : 2),
        LockPlan(name: "three threads", threads: 3),
        LockPlan(name: "a kernel that refuses now and then", holds: 2, refusals: isLong ? 3 : 1),
        LockPlan(name: "three threads and refusals", threads: 3, refusals: isLong ? 2 : 1),
        LockPlan(name: "a kernel that refuses always", threads: isLong ? 3 : 2, refusesAll: true),
        LockPlan(name: "a thread that ends", threads: 3, refusals: isLong ? 2 : 0, ends: true),
        LockPlan(name: "a lock that is taken twice", threads: isLong ? 3 : 2, takesTwice: true),
        LockPlan(name: "taken twice on a kernel that refuses always", refusesAll: true, takesTwice: true),
    ]

    @Test(.alone("every order of the steps is taken"), arguments: plans)
    func noOrderLetsTwoThreadsInOrLeavesOneWaiting(of plan: LockPlan) async throws {
        let all = try await onOwnThread { Exploration { LockWorld(plan) } }
        #expect(all.fault == nil && all.orders > 10, "\(all)")
        if Self.isLong { print("\(plan.name): \(all)") }
    }
}

extension LockPlan: CustomTestStringConvertible {
    var testDescription: String { name }
}
