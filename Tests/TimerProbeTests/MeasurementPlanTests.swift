import PreciseTimer
import Testing
import TimerProbe
import TimerResults

@Suite struct MeasurementPlanTests {
    private func plan(
        period: Duration = .milliseconds(1),
        duration: Duration = .milliseconds(700),
        rounds: Int = 3,
        warmUp: Duration = .milliseconds(100),
        timers: Int = 1,
        loads: [Load] = [.idle],
        seed: UInt64 = 1
    ) throws -> MeasurementPlan {
        var request = MeasurementPlan.Request(
            rows: Row.of([.timerFD, .dispatch]) + Reference.allCases.map { Row(.reference($0)) }
        )
        request.period = period
        request.duration = duration
        request.rounds = rounds
        request.warmUp = warmUp
        request.timers = timers
        request.loads = loads
        request.seed = seed
        return try MeasurementPlan(request)
    }

    @Test func theDeadlinesOfARoundAreItsWholePeriods() throws {
        #expect(try plan().deadlinesPerRound == 700)
        #expect(try plan(period: .milliseconds(3)).deadlinesPerRound == 233)
    }

    @Test(arguments: [Duration.zero, .milliseconds(-1), .seconds(-1_000_000_000_000)])
    func aPeriodMustBeLongerThanZero(period: Duration) {
        #expect(throws: Problem.self) { try plan(period: period) }
    }

    @Test(arguments: [
        Duration.zero, .seconds(-1), .milliseconds(9), .seconds(86_401), .seconds(1_000_000_000_000_000_000),
    ])
    func aDurationIsAtLeastTenPeriodsAndAtMostADay(duration: Duration) {
        #expect(throws: Problem.self) { try plan(duration: duration) }
    }

    @Test(arguments: [0, -1, 101, Int.max, Int.min])
    func roundsAreOneToAHundred(rounds: Int) {
        #expect(throws: Problem.self) { try plan(rounds: rounds) }
    }

    @Test func moreThanTenMillionDeadlinesAreTooMany() throws {
        #expect(try plan(period: .nanoseconds(100), duration: .seconds(1)).deadlinesPerRound == 10_000_000)
        #expect(throws: Problem.self) { try plan(period: .nanoseconds(99), duration: .seconds(1)) }
    }

    @Test func aRowMayBeSilentForFiveSecondsUnlessAskedOtherwise() throws {
        #expect(try plan().patience == .seconds(5))
        var request = MeasurementPlan.Request(rows: Row.of([.timerFD]))
        request.patience = .seconds(120)
        #expect(try MeasurementPlan(request).patience == .seconds(120))
        request.patience = .seconds(-1)
        #expect(try MeasurementPlan(request).patience == .zero)
    }

    @Test func timersShareTheLimitOfDeadlines() throws {
        #expect(try plan(timers: 14_285).timers == 14_285)
        #expect(throws: Problem.self) { try plan(timers: 14_286) }
        for timers in [0, -1, Int.max, Int.min] {
            #expect(throws: Problem.self) { try plan(timers: timers) }
        }
    }

    @Test(arguments: [Duration.seconds(10_001), .seconds(86_401), .seconds(1_000_000_000_000_000_000)])
    func aWarmUpIsLimitedAsTheDurationIs(warmUp: Duration) {
        #expect(throws: Problem.self) { try plan(warmUp: warmUp) }
    }

    @Test func aWarmUpHasAtLeastOneDeadline() throws {
        #expect(try plan(warmUp: .seconds(-1)).deadlinesOfWarmUp == 1)
        #expect(try plan(warmUp: .milliseconds(100)).deadlinesOfWarmUp == 100)
    }

    @Test func aPlanHasARowAndDifferentLoads() throws {
        #expect(throws: Problem.self) { try plan(loads: []) }
        #expect(throws: Problem.self) { try MeasurementPlan(MeasurementPlan.Request(rows: [])) }
        #expect(try plan(loads: [.idle, .cpu(2), .idle]).loads == [.idle, .cpu(2)])
    }

    @Test func turnsLastAtLeast100MillisecondsAnd50Periods() throws {
        #expect(try plan().turnsPerRound == 7)
        #expect(try plan(duration: .seconds(10)).turnsPerRound == 7)
        #expect(try plan(duration: .milliseconds(350)).turnsPerRound == 3)
        #expect(try plan(period: .milliseconds(5), duration: .milliseconds(100)).turnsPerRound == 1)
        #expect(try plan(period: .milliseconds(10)).turnsPerRound == 1)
        #expect(try plan(period: .seconds(8640), duration: .seconds(86_400)).turnsPerRound == 1)
    }

    @Test func theTurnsAddUpToTheRound() throws {
        let plan = try plan(duration: .milliseconds(703))
        let turns = (0..<plan.turnsPerRound).map { plan.deadlines(inTurn: $0) }
        #expect(turns.reduce(0, +) == 703)
        #expect(Set(turns) == [100, 101])
    }

    @Test func everyTurnHasEveryRowUnderEveryLoadOnce() throws {
        let plan = try plan(loads: [.idle, .cpu(2), .memory])
        #expect(plan.plannedRows.count == 12)
        for turn in 0..<30 {
            let order = plan.order(inTurn: turn)
            #expect(order.count == 12)
            #expect(Set(order) == Set(plan.plannedRows))
        }
    }

    @Test func theRowsUnderOneLoadFollowEachOther() throws {
        let plan = try plan(loads: [.idle, .cpu(2), .memory])
        for turn in 0..<30 {
            let loads = plan.order(inTurn: turn).map(\.load)
            #expect(zip(loads, loads.dropFirst()).count { $0 != $1 } == 2)
        }
    }

    @Test func theOrderOfTurnsDiffers() throws {
        let plan = try plan()
        let orders = (0..<24).map { plan.order(inTurn: $0).map(\.row.name) }
        #expect(Set(orders).count > 10)
        // Every row is sometimes the first, the last, and behind each other row.
        #expect(Set(orders.compactMap(\.first)).count == 4)
        #expect(Set(orders.compactMap(\.last)).count == 4)
        let neighbours = orders.flatMap { order in zip(order, order.dropFirst()).map { "\($0) \($1)" } }
        #expect(Set(neighbours).count == 12)
    }

    @Test func theOrderComesFromTheSeed() throws {
        let (first, same, other) = (try plan(seed: 7), try plan(seed: 7), try plan(seed: 8))
        let orders = [first, same, other].map { plan in (0..<10).map { plan.order(inTurn: $0) } }
        #expect(orders[0] == orders[1])
        #expect(orders[0] != orders[2])
    }

    @Test func theOptionsAreThoseOfTheRequest() throws {
        let options = try plan(rounds: 5, timers: 3, loads: [.idle, .cpu(2)], seed: 9).options
        #expect(options.rows == ["timerfd", "dispatch", "floor-nanosleep", "floor-timerfd"])
        #expect(options.period == 1_000_000)
        #expect(options.duration == 700_000_000)
        #expect(options.warmUp == 100_000_000)
        #expect(options.rounds == 5)
        #expect(options.timers == 3)
        #expect(options.delivery == "inline")
        #expect(options.clock == "suspending")
        #expect(options.loads == ["idle", "cpu:2"])
        #expect(options.seed == 9)
    }
}
