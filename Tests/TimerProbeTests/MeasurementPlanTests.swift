import PreciseTimer
import Testing
import TimerProbe
import TimerResults

@Suite struct MeasurementPlanTests {
    private func plan(
        period: Duration = .milliseconds(1),
        turn: Duration? = nil,
        laps: Int? = nil,
        warmUp: Duration = .milliseconds(100),
        timers: Int = 1,
        loads: [Load] = [.idle],
        seed: UInt64 = 1
    ) throws -> MeasurementPlan {
        var request = MeasurementPlan.Request(
            rows: Row.of([.timerFD, .dispatch]) + Reference.allCases.map { Row(.reference($0)) }
        )
        request.period = period
        request.turn = turn
        request.laps = laps
        request.warmUp = warmUp
        request.timers = timers
        request.loads = loads
        request.seed = seed
        return try MeasurementPlan(request)
    }

    @Test func aTurnLastsTwentyMillisecondsAndTwentyPeriods() throws {
        #expect(try plan().deadlinesPerTurn == 20)
        #expect(try plan(period: .microseconds(250)).deadlinesPerTurn == 80)
        #expect(try plan(period: .milliseconds(3)).deadlinesPerTurn == 20)
        #expect(try plan(turn: .milliseconds(700)).deadlinesPerTurn == 700)
        #expect(try plan(period: .milliseconds(3), turn: .milliseconds(700)).deadlinesPerTurn == 233)
    }

    @Test func aRoundHasAHundredDeadlines() throws {
        #expect(try plan().lapsPerRound == 5)
        #expect(try plan(period: .microseconds(250)).lapsPerRound == 2)
        #expect(try plan(turn: .milliseconds(100)).lapsPerRound == 1)
        #expect(try plan(timers: 4).lapsPerRound == 2)
    }

    @Test func theUsualLapsTakeHalfAMinute() throws {
        #expect(try plan().laps == 150)
        #expect(try plan().expectedTime < .seconds(30))
        let slow = try plan(period: .milliseconds(10))
        #expect(slow.timeOfLap * slow.laps <= .seconds(30))
        #expect(slow.timeOfLap * (slow.laps + 1) > .seconds(30))
        // Fewer show no difference.
        #expect(try plan(period: .seconds(1)).laps == 8)
        #expect(try plan(period: .seconds(1), laps: 3).laps == 3)
    }

    @Test(arguments: [Duration.zero, .milliseconds(-1), .seconds(-1_000_000_000_000)])
    func aPeriodMustBeLongerThanZero(period: Duration) {
        #expect(throws: Problem.self) { try plan(period: period) }
    }

    @Test(arguments: [
        Duration.zero, .seconds(-1), .milliseconds(9), .seconds(86_401), .seconds(1_000_000_000_000_000_000),
    ])
    func aTurnIsAtLeastTenPeriodsAndAtMostADay(turn: Duration) {
        #expect(throws: Problem.self) { try plan(turn: turn) }
    }

    @Test(arguments: [0, -1, 100_001, Int.max, Int.min])
    func lapsAreOneToAHundredThousand(laps: Int) {
        #expect(throws: Problem.self) { try plan(laps: laps) }
    }

    @Test func aTurnOfTheUsualPeriodsIsAtMostADay() throws {
        #expect(try plan(period: .seconds(4_320)).deadlinesPerTurn == 20)
        #expect(throws: Problem.self) { try plan(period: .seconds(4_321)) }
        #expect(throws: Problem.self) { try plan(period: .seconds(9_000_000_000)) }
    }

    @Test func aPlanOfOneRowHasNoPairs() throws {
        #expect(!(try MeasurementPlan(MeasurementPlan.Request(rows: Row.of([.timerFD]))).hasPairs))
        #expect(try MeasurementPlan(MeasurementPlan.Request(rows: Row.of([.timerFD, .timerFD]))).hasPairs)
    }

    @Test func moreThanTenMillionDeadlinesAreTooMany() throws {
        #expect(try plan(period: .nanoseconds(100), turn: .seconds(1)).deadlinesPerTurn == 10_000_000)
        #expect(throws: Problem.self) { try plan(period: .nanoseconds(99), turn: .seconds(1)) }
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
        #expect(try plan(turn: .milliseconds(700), timers: 14_285).timers == 14_285)
        #expect(throws: Problem.self) { try plan(turn: .milliseconds(700), timers: 14_286) }
        for timers in [0, -1, Int.max, Int.min] {
            #expect(throws: Problem.self) { try plan(timers: timers) }
        }
    }

    @Test(arguments: [Duration.seconds(10_001), .seconds(86_401), .seconds(1_000_000_000_000_000_000)])
    func aWarmUpIsLimitedAsATurnIs(warmUp: Duration) {
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

    @Test func everyLapHasEveryRowUnderEveryLoadOnce() throws {
        let plan = try plan(loads: [.idle, .cpu(2), .memory])
        #expect(plan.plannedRows.count == 12)
        for lap in 0..<30 {
            let order = plan.order(inLap: lap)
            #expect(order.count == 12)
            #expect(Set(order) == Set(plan.plannedRows))
        }
    }

    @Test func theRowsUnderOneLoadFollowEachOther() throws {
        let plan = try plan(loads: [.idle, .cpu(2), .memory])
        for lap in 0..<30 {
            let loads = plan.order(inLap: lap).map(\.load)
            #expect(zip(loads, loads.dropFirst()).count { $0 != $1 } == 2)
        }
    }

    @Test func theOrderOfLapsDiffers() throws {
        let plan = try plan()
        let orders = (0..<24).map { plan.order(inLap: $0).map(\.row.name) }
        #expect(Set(orders).count > 10)
        // Every row is sometimes the first, the last, and behind each other row.
        #expect(Set(orders.compactMap(\.first)).count == 4)
        #expect(Set(orders.compactMap(\.last)).count == 4)
        let neighbours = orders.flatMap { order in zip(order, order.dropFirst()).map { "\($0) \($1)" } }
        #expect(Set(neighbours).count == 12)
    }

    @Test func theOrderComesFromTheSeed() throws {
        let (first, same, other) = (try plan(seed: 7), try plan(seed: 7), try plan(seed: 8))
        let orders = [first, same, other].map { plan in (0..<10).map { plan.order(inLap: $0) } }
        #expect(orders[0] == orders[1])
        #expect(orders[0] != orders[2])
    }

    @Test func theOptionsAreThoseOfTheRequest() throws {
        let options = try plan(laps: 5, timers: 3, loads: [.idle, .cpu(2)], seed: 9).options
        #expect(options.rows == ["timerfd", "dispatch", "floor-nanosleep", "floor-timerfd"])
        #expect(options.period == 1_000_000)
        #expect(options.turn == 20_000_000)
        #expect(options.warmUp == 100_000_000)
        #expect(options.laps == 5)
        #expect(options.timers == 3)
        #expect(options.delivery == "inline")
        #expect(options.clock == "suspending")
        #expect(options.loads == ["idle", "cpu:2"])
        #expect(options.seed == 9)
    }
}
