import PreciseTimer
import Testing
import TimerProbe
import TimerResults

@Suite struct MeasurementPlanTests {
    private func plan(_ change: (inout MeasurementPlan.Request) -> Void = { _ in }) throws -> MeasurementPlan {
        var request = MeasurementPlan.Request(rows: try Row.parse("timerfd,dispatch,task-sleep,bare"))
        change(&request)
        return try MeasurementPlan(request)
    }

    @Test func aTurnLastsTwentyMillisecondsAndTwentyPeriods() throws {
        #expect(try plan().deadlinesPerTurn == 20)
        #expect(try plan { $0.period = .microseconds(250) }.deadlinesPerTurn == 80)
        #expect(try plan { $0.period = .milliseconds(3) }.deadlinesPerTurn == 20)
        #expect(try plan { ($0.deadlines, $0.laps) = (7, 3) }.deadlinesPerTurn == 7)
    }

    /// Fault 10: a period of a second would have taken 19 minutes.
    @Test(arguments: [Duration.milliseconds(1), .milliseconds(10), .milliseconds(100), .seconds(1)], [10, 30, 120])
    func theTimeIsTheOneThatWasAskedFor(period: Duration, seconds: Int) throws {
        let plan = try plan { ($0.period, $0.time) = (period, .seconds(seconds)) }
        #expect(plan.expectedTime <= .seconds(seconds) + plan.timeOfLap)
        #expect(plan.expectedTime >= .seconds(seconds) / 2)
        #expect(plan.laps >= min(8, seconds / 5), "\(plan.laps) laps")
    }

    @Test func aQuarterOfTheTimeIsForTheDrift() throws {
        let usual = try plan()
        #expect(usual.options.stretch == 1_875_000_000)
        #expect(try plan { $0.time = .seconds(300) }.options.stretch == 4_000_000_000)
        #expect(try plan { $0.period = .milliseconds(100) }.options.stretch == 0, "too few ticks for a slope")
        #expect(try plan { $0.laps = 5 }.options.stretch == 0)
        #expect(try plan { $0.laps = 5 }.laps == 5)
    }

    @Test(
        arguments: [
            { $0.rows = [] }, { $0.loads = [] }, { $0.period = .zero }, { $0.period = .nanoseconds(999) },
            { $0.period = .seconds(-1_000_000_000_000) }, { $0.period = .seconds(86_401) }, { $0.time = .zero },
            { $0.time = .seconds(-1) }, { $0.time = .seconds(86_401) }, { $0.laps = 0 }, { $0.laps = 100_001 },
            { $0.laps = .min }, { $0.timers = 0 }, { $0.timers = -1 }, { $0.timers = .max }, { $0.timers = .min },
            { $0.timers = 1_000_000 }, { $0.deadlines = 0 }, { $0.deadlines = .max }, { $0.deadlines = 10_000_001 },
            { ($0.why, $0.delivery) = (.microseconds(500), .queue) }, { $0.why = .seconds(100_000) },
            { $0.loads = (1...60).map { .cpu($0) } },
        ] as [@Sendable (inout MeasurementPlan.Request) -> Void]
    )
    func aSenselessRequestIsRefusedInOneLine(change: @Sendable (inout MeasurementPlan.Request) -> Void) {
        let problem = #expect(throws: Problem.self) { try plan(change) }
        #expect(problem?.description.contains("\n") == false)
    }

    @Test func wishesOfSpinningNeedHybrid() throws {
        let wishes = try ThreadWishes.parse("spin:50us")
        #expect(throws: Problem.self) { try plan { $0.wishes = wishes } }
        #expect(try plan { ($0.wishes, $0.rows) = (wishes, [Row(.backend(.hybrid))]) }.options.thread == "spin:50us")
    }

    @Test func everyLapHasEveryRowUnderEveryLoadOnce() throws {
        let plan = try plan { $0.loads = [.idle, .cpu(2), .memory, .idle] }
        #expect(plan.plannedRows.count == 12)
        for lap in 0..<30 {
            let order = plan.order(inLap: lap)
            #expect(order.count == 12)
            #expect(Set(order) == Set(plan.plannedRows))
            let loads = order.map(\.load)
            #expect(zip(loads, loads.dropFirst()).count { $0 != $1 } == 2, "rows under one load follow each other")
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
        let orders = try ([7, 7, 8] as [UInt64])
            .map { seed in
                let plan = try plan { $0.seed = seed }
                return (0..<10).map { plan.order(inLap: $0) }
            }
        #expect(orders[0] == orders[1])
        #expect(orders[0] != orders[2])
    }

    @Test func theOptionsAreThoseOfTheRequest() throws {
        let options = try plan { request in
            (request.timers, request.seed, request.laps) = (3, 9, 5)
            (request.delivery, request.clock) = (.queue, .wall)
        }
        .options
        var expected = Options(period: 1_000_000, turn: 20_000_000)
        (expected.timers, expected.delivery, expected.clock, expected.seed) = (3, "queue", "wall", 9)
        #expect(options == expected)
        #expect(try plan { $0.why = .microseconds(500) }.options.why == 500_000)
    }

    @Test func whatIsMeasuredOtherwiseIsSaid() throws {
        let host = Host(system: "Linux", kernel: "6", machine: "x86_64", cpu: nil, processors: 2, build: .debug)
        let remarks = try plan { request in
            (request.loads, request.clock, request.delivery) = ([.cpu(8), .churn(10)], .wall, .queue)
            request.wishes = (try? ThreadWishes.parse("fifo:80")) ?? ThreadWishes()
        }
        .remarks(foreign: ["dispatch", "task-sleep"], on: host)
        #expect(
            remarks == [
                "--load cpu:8: there are only 2 processors for 8 programs",
                "--load churn:10: nothing to load, without a timer service, for task-sleep, bare",
                "--clock wall: suspending for task-sleep", "--deliver queue: inline for task-sleep, bare",
                "--thread 'fifo:80': not for dispatch, task-sleep, whose threads are not the library's",
                "this is a debug build: for real figures build with -c release",
            ]
        )
    }
}
