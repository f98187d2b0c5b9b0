import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Injected faults have their described effects on virtual time, and the same script gives the same result twice.
struct FaultScriptTests {
    private static let timers = Effort.of(1_000, thorough: 10_000)
    private let virtual = VirtualTime()
    private let log = Log()

    /// A timer that ticks each second.
    private func everySecond(on virtual: VirtualTime? = nil, at start: TimerInstant? = nil) throws {
        let schedule = start.map { PreciseTimer.Schedule.every(.seconds(1), at: $0) } ?? .every(.seconds(1))
        try PreciseTimer.schedule(schedule, on: (virtual ?? self.virtual).service, target: log) { $0.note($1) }
    }

    @Test func aFaultThatCannotHappenStopsTheProcess() async {
        await #expect(processExitsWith: .failure) { VirtualTime().inject(.stepClock(by: .seconds(1))) }
        await #expect(processExitsWith: .failure) { VirtualTime().inject(.stall(.seconds(-1))) }
        await #expect(processExitsWith: .failure) { VirtualTime().inject(.stall(.zero), after: .seconds(-1)) }
    }

    @Test func aFaultAfterTheEndOfTimeNeverHappens() {
        for _ in 0..<2 { virtual.advance(by: .nanoseconds(Int64.max - 1_000_000_000)) }
        for length: Duration in [.nanoseconds(Int64.max), .seconds(Int64.max)] {
            virtual.inject(.stall(.seconds(1)), after: length)
        }
        let before = virtual.now
        virtual.advance(by: .nanoseconds(500))
        #expect(before.duration(to: virtual.now) == .nanoseconds(500))
        virtual.advance(by: .nanoseconds(Int64.max))
        #expect(virtual.now.isNever, "time has an end")
        virtual.jump(by: .nanoseconds(1))
        #expect(virtual.now.isNever)
    }

    @Test func afterAnEarlyWakeUpTheAlarmIsSetAgain() throws {
        try everySecond()
        virtual.inject(.wakeEarly(by: .milliseconds(400)))
        virtual.advance(by: .milliseconds(700))
        #expect(log.count == 0, "the alarm has fired at 600 ms")
        virtual.advance(by: .milliseconds(300))
        #expect(log.ticks.map(\.lateness) == [.zero])
    }

    @Test func aStallDelaysTheDeadlinesWithinIt() throws {
        try everySecond()
        let start = virtual.now
        virtual.inject(.stall(.milliseconds(2_200)), after: .milliseconds(1_500))
        virtual.advance(by: .seconds(2))
        #expect(log.ticks.map(\.missed) == [0, 1])
        #expect(log.ticks.last?.lateness == .milliseconds(1_700))
        #expect(virtual.now == start.advanced(by: .milliseconds(3_700)), "the stall has outlasted the advance")
        virtual.advance(by: .milliseconds(300))
        #expect(log.ticks.map(\.index) == [0, 1, 3])
    }

    @Test func aFaultOnTheWayOfAJumpHappensBeforeTheLateTicks() throws {
        try everySecond()
        virtual.inject(.stall(.seconds(5)), after: .seconds(2))
        virtual.jump(by: .seconds(3))
        #expect(log.ticks.map(\.lateness) == [.seconds(7)] && log.ticks.map(\.missed) == [7])
    }

    /// One at its deadline is late by the step. The alarm repeats, and keeps its phase.
    @Test func aStepAtADeadlineMakesNoLaterTickLate() throws {
        let (wall, step) = (VirtualTime(clock: .wall), Duration.milliseconds(220))
        let log = TickLog(wall)
        try PreciseTimer.schedule(.every(.seconds(1)), on: wall.service, target: log) { $0.note($1) }
        wall.inject(.stepClock(by: step), after: .seconds(3))
        wall.advance(by: .seconds(5))
        #expect(log.ticks.map(\.lateness) == [.zero, .zero, step, .zero, .zero])
    }

    @Test func eachLateWakeUpMakesOneTickLateInTheOrderOfTheirTime() throws {
        try everySecond()
        virtual.inject(.wakeLate(by: .milliseconds(2)), after: .milliseconds(2_500))
        virtual.inject(.wakeLate(by: .milliseconds(1)), after: .milliseconds(500))
        virtual.advance(by: .milliseconds(4_000))
        #expect(log.ticks.map(\.lateness) == [.milliseconds(1), .zero, .milliseconds(2), .zero])
    }

    @Test func lateAndEarlyWakeUpsOfOneFiringAddUp() throws {
        try everySecond()
        let faults: [VirtualTime.Fault] = [
            .wakeEarly(by: .milliseconds(1)), .wakeLate(by: .milliseconds(5)), .wakeLate(by: .milliseconds(7)),
            .wakeEarly(by: .milliseconds(2)),
        ]
        for fault in faults { virtual.inject(fault) }
        virtual.advance(by: .seconds(2))
        #expect(log.ticks.map(\.lateness) == [.milliseconds(9), .zero])
    }

    @Test func faultsOfOneInstantHappenInTheOrderOfTheirInjection() async throws {
        let wall = VirtualTime(clock: .wall)
        let (steps, told) = (try wall.service.clockSteps, Notes<Int>())
        for (step, delay) in [(1, 9), (2, 5), (3, 9), (4, 5), (5, 9)] {
            wall.inject(.stepClock(by: .seconds(step)), after: .seconds(delay))
        }
        wall.advanceWithoutSettling(by: .seconds(4))
        wall.inject(.stepClock(by: .seconds(6)), after: .seconds(5))
        wall.advanceWithoutSettling(by: .seconds(6))
        wall.service.shutdown()
        for try await step in steps { told.append(Int(step.change / .seconds(1))) }
        #expect(told.all == [2, 4, 1, 3, 5, 6])
    }

    /// One thread lets time pass, and another injects faults that come before those that are due.
    @Test func eachFaultHappensOnceAlsoIfAnotherThreadInjectsThem() async throws {
        let (wall, rounds) = (VirtualTime(clock: .wall), 20_000)
        let (start, isOver) = (wall.now, Box<Bool>())
        try await onThreads(2) { thread in
            if thread == 1 {
                for _ in 0..<rounds { wall.inject(.stepClock(by: .microseconds(1))) }
                isOver.value = true
                return
            }
            for _ in 0..<rounds {
                wall.inject(.stepClock(by: .seconds(1)), after: .nanoseconds(1))
                wall.advanceWithoutSettling(by: .nanoseconds(1))
            }
            while isOver.value == nil { pause(.milliseconds(1)) }
        }
        wall.advanceWithoutSettling(by: .zero)
        let steps = Duration.microseconds(rounds) + .seconds(rounds)
        #expect(start.duration(to: wall.now) == steps + .nanoseconds(rounds))
    }

    @Test func aStepPastADeadlineMakesAWallClockTimerTick() throws {
        let wall = VirtualTime(clock: .wall)
        let noon = wall.now.advanced(by: .seconds(3_600))
        try PreciseTimer.schedule(.once(at: noon), on: wall.service, target: log) { $0.note($1) }
        wall.inject(.stepClock(by: .seconds(3_601)), after: .seconds(10))
        wall.advance(by: .seconds(11))
        #expect(log.ticks.map { [$0.deadline, $0.delivered] } == [[noon, noon.advanced(by: .seconds(11))]])
    }

    @Test func afterAStepBackAWallClockTimerWaitsAndKeepsItsGrid() throws {
        let wall = VirtualTime(clock: .wall)
        let start = wall.now.advanced(by: .seconds(1))
        try everySecond(on: wall, at: start)
        wall.advance(by: .seconds(3))
        wall.inject(.stepClock(by: .seconds(-100)), after: .milliseconds(500))
        wall.advance(by: .seconds(100))
        #expect(log.count == 3, "the clock is where it was")
        wall.advance(by: .seconds(1))
        #expect(log.ticks.map(\.deadline) == (0..<4).map { start.advanced(by: .seconds($0)) })
        #expect(log.ticks.map(\.missed) == [0, 0, 0, 0])
    }

    @Test(arguments: TimerClock.allCases)
    func aSuspensionHoldsASuspendingClockAndMakesTicksOnTheOthersLate(clock: TimerClock) async throws {
        let virtual = VirtualTime(clock: clock)
        let start = virtual.now
        var (suspensions, steps) = (
            try virtual.service.suspensions.makeAsyncIterator(), try virtual.service.clockSteps.makeAsyncIterator()
        )
        try PreciseTimer.schedule(.every(.seconds(30)), on: virtual.service, target: log) { $0.note($1) }
        virtual.inject(.suspend(.seconds(60)), after: .seconds(20))
        await virtual.advance(by: .seconds(clock == .suspending ? 40 : 100))
        let told = try #require(try await suspensions.next())
        #expect(told.duration == .seconds(60))
        #expect(told.at == start.advanced(by: .seconds(clock == .suspending ? 20 : 80)))
        #expect(log.ticks.map(\.missed) == (clock == .suspending ? [0] : [1, 0]))
        #expect(log.ticks.first?.lateness == (clock == .suspending ? .zero : .seconds(50)))
        virtual.service.shutdown()
        let step = try await steps.next()
        #expect(step == nil, "a suspension is not a step")
    }

    /// The example of the guide TestingWithVirtualTime.
    @Test func anInjectionOnlyNotesAFaultWhichTheNextAdvanceMeets() throws {
        let wall = VirtualTime(clock: .wall)
        let (start, log) = (wall.now, TickLog(wall))
        try PreciseTimer.schedule(.every(.seconds(30)), on: wall.service, target: log) { $0.note($1) }
        wall.inject(.suspend(.seconds(60)), after: .seconds(20))
        #expect(wall.now == start && log.ticks.isEmpty)
        wall.advance(by: .seconds(10))
        #expect(log.ticks.isEmpty)
        wall.advance(by: .seconds(15))
        #expect(start.duration(to: wall.now) == .seconds(80), "the advance ends with the suspension")
        #expect(log.deadlines == [.seconds(30)] && log.missed == [1])
        #expect(log.ticks.map(\.lateness) == [.seconds(50)])
        wall.advance(by: .seconds(20))
        #expect(log.deadlines == [.seconds(30), .seconds(90)] && log.missed == [1, 0])
        #expect(start.duration(to: wall.now) == .seconds(100))
    }

    @Test func aSuspendingClockStandsStillAndItsTimersTickAWholePeriodLater() throws {
        let log = TickLog(virtual)
        try PreciseTimer.schedule(.every(.seconds(30)), on: virtual.service, target: log) { $0.note($1) }
        virtual.inject(.suspend(.seconds(60)), after: .seconds(20))
        virtual.advance(by: .seconds(100))
        #expect(log.deadlines == [.seconds(30), .seconds(60), .seconds(90)] && log.missed == [0, 0, 0])
    }

    @Test func aFaultWithoutADelayComesBeforeTheTicksThatAreDueNow() throws {
        let wall = VirtualTime(clock: .wall)
        let log = TickLog(wall)
        try PreciseTimer.schedule(.once(after: .zero), on: wall.service, target: log) { $0.note($1) }
        wall.inject(.suspend(.seconds(60)))
        wall.advance(by: .zero)
        #expect(log.ticks.map(\.lateness) == [.seconds(60)])
    }

    @Test(arguments: [true, false]) func aHandlerThatMovesTimeTakesThatLong(jumps: Bool) throws {
        let virtual = virtual
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { log, tick in
            log.note(tick)
            if jumps { virtual.jump(by: .milliseconds(2_500)) } else { virtual.advance(by: .milliseconds(2_500)) }
        }
        virtual.advance(by: .seconds(1))
        #expect(log.ticks.map(\.index) == [0])
        virtual.advance(by: .zero)
        #expect(log.ticks.map { [$0.index, $0.missed] } == [[0, 0], [1, 1]])
    }

    @Test func theSameSeedAndFaultsGiveTheSameTicksTwice() throws {
        let traces = try (0..<2).map { _ in try trace(seed: 42) }
        #expect(traces[0].count > 2 * Self.timers)
        #expect(traces[0] == traces[1])
        #expect(try trace(seed: 43) != traces[0])
    }

    /// The ticks of many timers of all kinds in a second full of faults.
    private func trace(seed: UInt64) throws -> [[Int: PreciseTimer.Tick]] {
        var random = SeededGenerator(seed: seed)
        let (virtual, trace) = (VirtualTime(), Notes<[Int: PreciseTimer.Tick]>())
        var timers: [PreciseTimer] = []
        for number in 0..<Self.timers {
            let period = Duration.microseconds(Int.random(in: 50_000...900_000, using: &random))
            let schedules: [PreciseTimer.Schedule] = [.once(after: period), .every(period), .fixedDelay(period)]
            let policies: [PreciseTimer.MissedTickPolicy] = [.skip, .catchUp(limit: 3), .delay]
            timers.append(
                try PreciseTimer.schedule(
                    schedules.randomElement(using: &random) ?? .every(period),
                    on: virtual.service,
                    tolerance: [.zero, .milliseconds(10)].randomElement(using: &random) ?? .zero,
                    missedTicks: policies.randomElement(using: &random) ?? .skip,
                    target: trace
                ) { $0.append([number: $1]) }
            )
        }
        for _ in 0..<20 {
            let length = Duration.milliseconds(Int.random(in: 1...80, using: &random))
            virtual.inject(Bool.random(using: &random) ? .wakeLate(by: length) : .stall(length), after: length)
            virtual.advance(by: .milliseconds(50))
            if let timer = timers.randomElement(using: &random) {
                _ = Bool.random(using: &random) ? timer.pause(keeping: .grid) : timer.resume()
            }
        }
        return trace.all
    }
}
