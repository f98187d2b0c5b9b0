import PreciseTimer
import Testing
import TimerMeasurement

@Suite struct MeasurementPlanTests {
    private func plan(
        period: Duration = .milliseconds(1),
        duration: Duration = .milliseconds(700),
        rounds: Int = 3
    ) throws -> MeasurementPlan {
        try MeasurementPlan(backends: [.timerFD, .dispatch], period: period, duration: duration, rounds: rounds)
    }

    @Test func deadlinesAreWholePeriods() throws {
        #expect(try plan().deadlinesPerRound == 700)
        #expect(try plan(period: .milliseconds(3)).deadlinesPerRound == 233)
    }

    @Test(arguments: [Duration.zero, .milliseconds(-1), .seconds(-1_000_000_000_000)])
    func aPeriodMustBeLongerThanZero(period: Duration) {
        #expect(throws: MeasurementPlan.Refusal.self) { try plan(period: period) }
    }

    @Test(arguments: [
        Duration.zero, .seconds(-1), .milliseconds(9), .seconds(86_401), .seconds(1_000_000_000_000_000_000),
    ])
    func aDurationMustMakeSense(duration: Duration) {
        #expect(throws: MeasurementPlan.Refusal.self) { try plan(duration: duration) }
    }

    @Test(arguments: [0, -1, 101, Int.max, Int.min])
    func roundsMustMakeSense(rounds: Int) {
        #expect(throws: MeasurementPlan.Refusal.self) { try plan(rounds: rounds) }
    }

    @Test func moreThanTwentyMillionDeadlinesAreTooMany() throws {
        #expect(try plan(period: .nanoseconds(50), duration: .seconds(1)).deadlinesPerRound == 20_000_000)
        #expect(throws: MeasurementPlan.Refusal.self) { try plan(period: .nanoseconds(49), duration: .seconds(1)) }
    }

    @Test func everyRowIsFirstOnce() throws {
        let plan = try plan()
        let firsts = (0..<4).compactMap { plan.order(inRound: $0).first?.name }
        #expect(firsts == ["timerfd", "dispatch", "floor-nanosleep", "floor-timerfd"])
    }

    @Test func everyRoundHasEveryRowOnce() throws {
        let plan = try plan()
        for round in 0..<9 { #expect(Set(plan.order(inRound: round)) == Set(plan.rows)) }
        #expect(plan.rows.count == 4)
    }
}
