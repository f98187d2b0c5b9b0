#if Instrument && DEBUG
import PreciseTimer
import TestSupport
import Testing
import TimerKernel

@testable import BackendComparison

/// A plan of four rows.
func plan(_ change: (inout MeasurementPlan.Request) -> Void = { _ in }) throws -> MeasurementPlan {
    var request = MeasurementPlan.Request(rows: try NamedRow.parse("timerfd,dispatch,task-sleep,bare"))
    change(&request)
    return try MeasurementPlan(request)
}

/// What a measurement does, and what it refuses.
@Suite struct MeasurementPlanTests {
    @Test func aTurnLastsTwentyMillisecondsAndTwentyPeriods() throws {
        let plans = [
            try plan(), try plan { $0.period = .microseconds(250) }, try plan { $0.period = .milliseconds(3) },
            try plan { ($0.deadlines, $0.laps) = (7, 3) },
        ]
        #expect(plans.map(\.deadlinesPerTurn) == [20, 80, 20, 7])
    }

    /// A period of a second would have taken 19 minutes.
    @Test(arguments: [Duration.milliseconds(1), .milliseconds(10), .milliseconds(100), .seconds(1)], [10, 30, 120])
    func theTimeIsTheOneThatWasAskedFor(period: Duration, seconds: Int) throws {
        let plan = try plan { ($0.period, $0.time) = (period, .seconds(seconds)) }
        #expect((Duration.seconds(seconds) / 2 ... .seconds(seconds) + plan.timeOfLap).contains(plan.expectedTime))
        #expect(plan.laps >= min(8, seconds / 5), "\(plan.laps) laps")
    }

    private static let four = "timerfd,dispatch,task-sleep,bare"

    /// A request whose period is too long for its time, and what is said of it. Asked for 0.3 s with a period of an
    /// hour, it announced hours, and measured them.
    @Test(
        arguments: [
            (
                .seconds(3_600), .milliseconds(300), four, [.idle],
                "3600 s does not fit into 300 ms with 4 rows: measure for 14500 s or longer, or take a period of "
                    + "67.9 ms or shorter"
            ),
            // No time is longer than a day.
            (
                .seconds(86_400), .seconds(60), four, [.idle],
                "86400 s does not fit into 60 s with 4 rows: take a period of 14.9 s or shorter"
            ),
            // No period makes the start of each turn shorter.
            (
                .milliseconds(1), .milliseconds(30), four, [.idle, .busy],
                "1 ms does not fit into 30 ms with 4 rows under 2 loads: measure for 145 ms or longer"
            ),
            (
                .seconds(86_400), .milliseconds(1), four, [.idle],
                "86400 s does not fit into 1 ms with 4 rows: measure for longer, with a shorter period"
            ),
        ] as [(Duration, Duration, String, [Load], String)]
    )
    func aPeriodThatDoesNotFitIntoTheTimeIsRefusedWithOneThatWould(
        period: Duration,
        time: Duration,
        rows: String,
        loads: [Load],
        words: String
    ) throws {
        let rows = try NamedRow.parse(rows)
        #expect(throws: Failure.invalid("a period of \(words)")) {
            try plan { ($0.period, $0.time, $0.rows, $0.loads) = (period, time, rows, loads) }
        }
    }

    /// What the refusals name is accepted, and no plan takes notably longer than was asked.
    @Test(arguments: [[Load.idle], [.idle, .busy]])
    func whatIsAcceptedTakesNoLongerThanWasAsked(loads: [Load]) throws {
        for seconds in [0.001, 0.05, 0.3, 1, 2.1, 30, 4.1 * 3_600] {
            for period in [1_000, 1_000_000, 67_000_000, 1_000_000_000, 3_600_000_000_000] {
                let time = Duration.seconds(seconds)
                let found = try? plan { ($0.period, $0.time, $0.loads) = (.nanoseconds(period), time, loads) }
                guard let found else { continue }
                #expect(found.expectedTime <= time + max(time / 10, .milliseconds(100)), "\(seconds) s, \(period)")
                #expect(found.laps >= 1 && found.deadlinesPerTurn >= 1)
            }
        }
        let fitting = [
            (Duration.seconds(3_600), Duration.seconds(14_500)), (.microseconds(67_900), .milliseconds(300)),
        ]
        for (period, time) in fitting { #expect(try plan { ($0.period, $0.time) = (period, time) }.laps == 1) }
        // A number of laps is no time.
        let laps = try plan { ($0.period, $0.laps, $0.time) = (.seconds(3_600), 2, .seconds(1)) }
        #expect(laps.expectedTime > .seconds(7_200))
    }

    /// Laps of 4 s in 10 s: a third one would end 2 s too late.
    @Test func aLapThatWouldEndLateDoesNotBegin() throws {
        let long = try plan { ($0.period, $0.time) = (.seconds(1), .seconds(10)) }
        let lefts: [Double] = [-1, 1.9, 2.9, 3.1, 5]
        #expect(lefts.map { long.begins(lap: 3, left: .seconds($0)) } == [false, false, false, true, true])
        #expect(long.begins(lap: 1, left: .seconds(-1)), "one lap is always measured")
        // Short laps end at the nearest one.
        let short = try plan()
        let halves = [0.4, 0.6].map { short.begins(lap: 9, left: short.timeOfLap * $0) }
        #expect(halves == [false, true])
        let counted = try plan { $0.laps = 3 }
        #expect([3, 4].map { counted.begins(lap: $0, left: .zero) } == [true, false])
    }

    @Test func aThirdOfTheTimeIsForTheDriftOfAllRows() throws {
        let plans = [
            try plan(), try plan { $0.time = .seconds(3_600) }, try plan { $0.period = .milliseconds(100) },
            // Too few ticks for a slope, and laps instead of a time.
            try plan { $0.period = .seconds(1) }, try plan { $0.laps = 5 },
        ]
        #expect(plans.map(\.options.stretch) == [10_000_000_000, 100_000_000_000, 10_000_000_000, 0, 0])
        #expect(plans.map(\.stretches.count) == [1, 1, 1, 0, 0])
        #expect(plans[0].stretches[0] == plans[0].plannedRows && plans[4].laps == 5)
    }

    /// Four rows, whose ticks would be 1,000 to 400,000 a second on two processors.
    @Test func rowsWhoseTicksWouldBeTooManyHaveTheirStretchesInGroups() throws {
        let sizes = try [1_000, 200, 199, 100, 10]
            .map { period in
                let plan = try plan { ($0.period, $0.processors) = (.microseconds(period), 2) }
                #expect(plan.stretches.flatMap(\.self) == plan.plannedRows)
                #expect(plan.expectedTime <= .seconds(33))
                return plan.stretches.map(\.count)
            }
        #expect(sizes == [[4], [4], [2, 2], [2, 2], [1, 1, 1, 1]])
        let loads = try plan { $0.loads = [.idle, .busy] }
        #expect(loads.stretches.map { Set($0.map(\.load)) } == [[.idle], [.busy]])
    }

    @Test(
        arguments: [
            { $0.rows = [] }, { $0.loads = [] }, { $0.period = .zero }, { $0.period = .seconds(-1_000_000_000_000) },
            { $0.time = .zero }, { $0.time = .seconds(-1) }, { $0.laps = .min }, { $0.timers = .max },
            { $0.timers = .min }, { $0.deadlines = 0 }, { $0.deadlines = .max },
            { ($0.why, $0.delivery) = (.microseconds(500), .queue) },
        ] as [@Sendable (inout MeasurementPlan.Request) -> Void]
    )
    func aSenselessRequestIsRefusedInOneLine(change: @Sendable (inout MeasurementPlan.Request) -> Void) {
        let problem = #expect(throws: Failure.self) { try plan(change) }
        #expect(problem?.description.contains("\n") == false)
    }

    @Test func everyLapHasEveryRowUnderEveryLoadOnce() throws {
        let plan = try plan { $0.loads = [.idle, .cpu(2), .busy, .idle] }
        for lap in 0..<30 {
            let order = plan.order(inLap: lap)
            #expect(order.count == 12 && Set(order) == Set(plan.plannedRows))
            // Rows under one load follow each other.
            #expect(zip(order, order.dropFirst()).count { $0.load != $1.load } == 2)
        }
    }

    @Test func theOrderOfLapsDiffersAndComesFromTheSeed() throws {
        let all = try ([1, 1, 8] as [UInt64])
            .map { seed in
                let plan = try plan { $0.seed = seed }
                return (0..<24).map { plan.order(inLap: $0).map(\.row.name) }
            }
        #expect(all[0] == all[1] && all[0] != all[2])
        let orders = all[0]
        // Every row is sometimes the first, the last, and behind each other row.
        let neighbours = orders.flatMap { order in zip(order, order.dropFirst()).map { "\($0) \($1)" } }
        let ends = [Set(orders.compactMap(\.first)), Set(orders.compactMap(\.last)), Set(neighbours)]
        #expect(Set(orders).count > 10 && ends.map(\.count) == [4, 4, 12])
    }

    @Test func whatIsMeasuredOtherwiseIsSaid() throws {
        let found = try plan { request in
            (request.loads, request.clock, request.delivery) = ([.cpu(8)], .wall, .queue)
            request.wishes = (try? ThreadWishes.parse("fifo:80")) ?? ThreadWishes()
        }
        .remarks(foreign: ["dispatch", "task-sleep"], on: Synthetic.host(build: .debug))
        let remarks = [
            "--load cpu:8: there are only 2 processors for 8 programs",
            "--clock wall: suspending for task-sleep", "--deliver queue: inline for task-sleep, bare",
            "--thread 'fifo:80': not for dispatch, task-sleep, whose threads are not the library's",
            "this is a debug build: for real figures build with -c release",
        ]
        #expect(found == remarks)
    }

    /// Threads that the system does not schedule alike.
    @Test func rowsWhoseThreadsHaveAnotherPolicyAreNamed() throws {
        func remarks(_ policies: [String: String], wishes: String? = nil) throws -> [String] {
            let wishes = try wishes.map { try ThreadWishes.parse($0) } ?? ThreadWishes()
            return try plan { $0.wishes = wishes }.remarks(foreign: [], policies: policies, on: Synthetic.host)
        }
        let (ours, theirs) = ("ordinary", "fifo:80")
        let mixed = ["timerfd": ours, "dispatch": theirs, "task-sleep": theirs, "bare": ours]
        let words = "the rows' threads have different policies, which the table compares: "
        #expect(try remarks(mixed) == [words + "fifo:80 for dispatch and task-sleep; ordinary for timerfd and bare"])
        #expect(try remarks(mixed.mapValues { _ in theirs }) == [] && remarks([:]) == [])
        // What was asked for has a remark of its own.
        #expect(try remarks(mixed, wishes: "fifo:80") == [])
    }

}

/// What `--thread` asks, and what the system says to it.
@Suite struct ThreadWishesTests {
    @Test(arguments: [
        "fifo:80", "cpu:1", "cpu:0,2-3", "slack:50us", "slice:1ms", "slice:0",
        "locked", "idle:0", "idle:20us", "spin:200us", "budget:20%", "fifo:80 cpu:1 locked idle:0",
    ])
    func wishesAreReadAndKept(text: String) throws { #expect(try ThreadWishes.parse(text).text == text) }

    @Test(arguments: [
        "", " ", "cpu:0 cpu:1", "fifo:80 fifo:70", "fifo", "fifo:eighty", "fifo:", "normal", "rr:1",
        "deadline:200us:500us:1ms", "cpu:", "cpu:1,", "cpu:3-1", "cpu:65536", "cpu:-1", "cpu:0-99999999999999999999",
        "slack", "slack:1", "slice:soon", "locked:1", "idle", "idle:1", "spin:",
        "budget:0", "budget:95%", "budget:nan", "fifo:80,cpu:1", "fast",
    ])
    func otherTextsAreRefusedInOneLine(text: String) {
        let problem = #expect(throws: Failure.self) { try ThreadWishes.parse(text) }
        #expect(problem?.description.contains("\n") == false)
    }

    private func ask(_ text: String) throws -> [String] {
        let rows = try NamedRow.parse("timerfd,dispatch,hybrid,task-sleep,task-sleep-hybrid,bare")
        return try ThreadWishes.parse(text).ask(for: rows, clock: .suspending)
    }

    @Test(arguments: ["fifo:100", "slack:0ns", "slice:1us", "spin:2s", "idle:3000s"])
    func aWishThatMakesNoSenseIsRefused(text: String) { #expect(throws: Failure.self) { try ask(text) } }

    /// Setting the timer slack needs no privilege, and the budget is for hybrid alone.
    @Test func rowsWhoseThreadsAreNotOursAreNamed() throws {
        #expect(try [ask("slack:1us"), ask("budget:20%")] == [["dispatch", "task-sleep"], []])
        #expect(try ThreadWishes().ask(for: [NamedRow(.backend(.timerFD))], clock: .suspending).isEmpty)
    }
}
#endif
