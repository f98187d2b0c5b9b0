import PreciseTimer
import TestSupport
import Testing

/// Every order of the steps of a small world: an alarm, a queue, callers, and two timers. The scheduler is the real
/// one. The engine's holds of the lock are mirrored in SmallEngine.swift.
///
/// The ordinary bound takes some two seconds in a debug build. The large one, with `PRECISE_TIMER_THOROUGH=1`, is for a
/// release build.
@Suite(.timeLimit(.minutes(60))) struct SmallWorldTests {
    static let isLong = Effort.isThorough

    @Test(.alone("every order of the steps is taken"), arguments: Plan.all(isLong: isLong))
    func everyOrderKeepsThePromises(of plan: Plan) async throws {
        let all = try await onOwnThread { Exploration { SmallWorld(plan) } }
        #expect(all.fault == nil, "\(all)")
        #expect(all.orders > 100, "\(all)")
        if Self.isLong { print("\(plan.name): \(all)") }
    }

    /// Worlds are taken for equal if all the numbers are equal on which later steps depend. If a number were forgotten,
    /// the search would lose orders.
    @Test(
        .alone("every order of the steps is taken, twice"),
        arguments: Plan.all(isLong: false).filter { isLong || ["tolerance", "late ticks of a hop"].contains($0.name) }
    )
    func noOrderIsLostBetweenWorldsThatAreTakenForEqual(of plan: Plan) async throws {
        let orders = try await onOwnThread {
            var (plan, careful) = (plan, plan)
            (plan.time, careful.time) = (Self.isLong ? 2 : 1, Self.isLong ? 2 : 1)
            careful.mergesByCalls = true
            return [Exploration { SmallWorld(plan) }.orders, Exploration { SmallWorld(careful) }.orders]
        }
        #expect(orders[0] == orders[1])
    }

    // MARK: Planted faults

    @Test func twoThreadsThatSetTheAlarmWithoutTheLockAreFound() {
        var plan = Plan.of(TimerPlan(first: 4), TimerPlan(first: 2, isThere: false))
        (plan.callers, plan.calls, plan.kinds) = (2, 2, [.schedule, .reschedule])
        expect(.setsTheAlarmWithoutTheLock, in: plan, breaks: "the alarm for 1 is set to 2", after: 4)
    }

    @Test func aHopThatForgetsTheOrderForTheAlarmIsFound() {
        let plan = Plan.of(TimerPlan(first: 1, period: 1, hops: true))
        expect(.forgetsTheOrderAfterAHop, in: plan, breaks: "the alarm for 2 was lost", after: 11)
    }

    @Test func aRoundThatForgetsAnAddedTimerIsFound() {
        let plan = Plan.of(TimerPlan(first: 1), TimerPlan(first: 1, isThere: false))
        expect(.forgetsTimersAddedDuringARound, in: plan, breaks: "the alarm for 2 was lost", after: 10)
    }

    @Test func aTimerFinalizedDuringItsHandlerIsFound() {
        let plan = Plan.of(TimerPlan(first: 1, period: 1))
        let fault = "timer A is finalized while its handler runs"
        expect(.finalizesARunningTimer, in: plan, breaks: fault, after: 6)
    }

    @Test func aMailboxThatKeepsAHopAfterItsEndIsFound() {
        let plan = Plan.of(TimerPlan(first: 1, isConsumed: true))
        expect(.keepsAHopAfterTheEnd, in: plan, breaks: "a hop stays in the mailbox", after: 13)
    }

    @Test func aTaskThatWaitsWithoutAnotherCheckIsFound() {
        let plan = Plan.of(TimerPlan(first: 1, isConsumed: true))
        expect(.waitsWithoutACheck, in: plan, breaks: "the task sleeps beside news", after: 11)
    }

    @Test func aCallThatEndsAndThenWaitsInAnotherHoldIsFound() {
        var plan = Plan.of(TimerPlan(first: 1, period: 1))
        plan.kinds = [.cancelAndWait]
        let fault = "a wait for timer A, which it has ended, returns before it is finalized"
        expect(.waitsInAnotherHold, in: plan, breaks: fault, after: 10)
    }

    private func expect(_ plant: Plant, in plan: Plan, breaks fault: String, after steps: Int) {
        #expect(Exploration { SmallWorld(plan) }.fault == nil, "without the planted fault")
        var plan = plan
        plan.plant = plant
        let found = Exploration { SmallWorld(plan) }
        #expect(found.fault == fault, "\(found)")
        #expect(found.trace.count == steps, "\(found)")
    }
}

extension Plan {
    /// A small world with a single call, in which the planted faults are found.
    fileprivate static func of(_ timers: TimerPlan...) -> Plan {
        Plan(name: "planted", timers: timers, calls: 1, kinds: [.schedule, .cancel], time: 2)
    }
}

extension Plan: CustomTestStringConvertible {
    var testDescription: String { name }
}
