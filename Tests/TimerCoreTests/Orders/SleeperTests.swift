import TestSupport
import Testing

/// Every order of the single operations of three threads on a timerfd alarm: its own, one that sets it, and one that
/// stops it.
@Suite(.timeLimit(.minutes(60))) struct SleeperTests {
    private static let isLong = Effort.isThorough

    private static let plans: [String: SleeperPlan] = [
        "an alarm that sleeps": isLong
            ? SleeperPlan(deadlines: [2, 3, nil], settings: 2, time: 4) : SleeperPlan(deadlines: [2], time: 2),
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

    @Test(arguments: isLong ? [false, true] : [true])
    func aPlantedFaultIsFoundByAShortestOrder(spins: Bool) {
        // Some orders have looks at the spinner's margin, which an alarm that only sleeps does not have.
        let faults: [(SleeperPlant, settings: Int, String, (spinning: Int, sleeping: Int))] = [
            (.looksBeforePublishing, 1, "the thread sleeps past the deadline 1", (11, 10)),
            (.setsTheTimerAfterLooking, 1, "the thread sleeps, though it was stopped", (9, 9)),
            (.storesAfterReading, 1, "the thread sleeps past the deadline 1", (11, 10)),
            (.usesUpAnyDeadline, 2, "the deadline 2 was lost", (13, 11)),
            (.forgetsTheStop, 1, "the thread sleeps, though it was stopped", (15, 14)),
            (.losesAnEarlySignal, 1, "the thread sleeps past the deadline 1", (13, 12)),
        ]
        for (plant, settings, fault, steps) in faults {
            var plan = SleeperPlan(deadlines: [1, 2], settings: settings, settingsInside: 0, time: 3, plant: plant)
            if spins { plan.margins = [1, 2] }
            plan.isRealTime = plant == .losesAnEarlySignal
            let found = Exploration { SleeperWorld(plan) }
            let expected = spins ? steps.spinning : steps.sleeping
            #expect(found.fault == fault && found.trace.count == expected, "\(plant): \(found)")
        }
    }
}
