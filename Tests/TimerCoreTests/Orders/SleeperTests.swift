import Testing

/// Every order of the single operations of three threads on a timerfd alarm: its own, one that sets it, and one that
/// stops it.
@Suite(.timeLimit(.minutes(10))) struct SleeperTests {
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
            time: isLong ? 4 : 2,
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
