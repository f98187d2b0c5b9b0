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
            : SleeperPlan(deadlines: [2], time: 2, margins: [2, 0, 1]),
    ]

    @Test(arguments: plans.keys)
    func noOrderLosesAWakeUp(of name: String) throws {
        let plan = try #require(Self.plans[name])
        let all = Exploration { SleeperWorld(plan) }
        #expect(all.fault == nil && all.orders > 100_000, "\(all)")
        if Self.isLong { print("\(name): \(all)") }
    }

    @Test(arguments: isLong ? [false, true] : [true])
    func aPlantedFaultIsFoundByAShortestOrder(spins: Bool) {
        let faults: [(SleeperPlant, settings: Int, String, Int)] = [
            (.looksBeforePublishing, 1, "the thread sleeps past the deadline 1", 13),
            (.armsAfterLooking, 1, "the thread sleeps, though it was stopped", 10),
            (.storesAfterReading, 1, "the thread sleeps past the deadline 1", 13),
            (.usesUpAnyDeadline, 2, "the deadline 2 was lost", 15),
            (.forgetsTheStop, 1, "the thread sleeps, though it was stopped", 17),
        ]
        for (plant, settings, fault, steps) in faults {
            var plan = SleeperPlan(deadlines: [1, 2], settings: settings, settingsInside: 0, time: 3, plant: plant)
            if spins { plan.margins = [1, 2] }
            let found = Exploration { SleeperWorld(plan) }
            #expect(found.fault == fault && found.trace.count == steps, "\(plant): \(found)")
        }
    }
}
