import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// What happens to a timer while a test moves time, and how. All numbers are milliseconds since the start.
struct TimeScript: Sendable {
    enum Way: Sendable { case advance, jump }

    /// What the test does and, of each tick that comes then, the deadline, the number of missed ones and the lateness.
    typealias Move = (way: Way, length: Int, ticks: [[Int]])

    let text: String
    var clock = TimerClock.suspending
    var schedule = PreciseTimer.Schedule.every(.seconds(1))
    var faults: [(fault: VirtualTime.Fault, after: Int)] = []
    let moves: [Move]
    let end: Int

    static let all = [
        TimeScript(
            text: "an alarm that has woken early is set again",
            faults: [(.wakeEarly(by: .milliseconds(400)), 0)],
            moves: [(.advance, 700, []), (.advance, 300, [[1_000, 0, 0]])],
            end: 1_000
        ),
        TimeScript(
            text: "faults of one firing add up, and those of two come in the order of their times",
            faults: [
                (.wakeLate(by: .milliseconds(2)), 1_500), (.wakeEarly(by: .milliseconds(1)), 0),
                (.wakeLate(by: .milliseconds(5)), 500), (.wakeLate(by: .milliseconds(7)), 0),
            ],
            moves: [(.advance, 3_000, [[1_000, 0, 11], [2_000, 0, 2], [3_000, 0, 0]])],
            end: 3_000
        ),
        TimeScript(
            text: "a stall outlasts the advance",
            faults: [(.stall(.milliseconds(2_200)), 1_500)],
            moves: [(.advance, 2_000, [[1_000, 0, 0], [2_000, 1, 1_700]]), (.advance, 300, [[4_000, 0, 0]])],
            end: 4_000
        ),
        TimeScript(
            text: "a fault on the way of a jump comes before the late ticks",
            faults: [(.stall(.seconds(5)), 2_000)],
            moves: [(.jump, 3_000, [[1_000, 7, 7_000]])],
            end: 8_000
        ),
        TimeScript(
            text: "a step at a deadline makes no later tick late",
            clock: .wall,
            faults: [(.stepClock(by: .milliseconds(220)), 2_000)],
            moves: [(.advance, 3_000, [[1_000, 0, 0], [2_000, 0, 220], [3_000, 0, 0]])],
            end: 3_220
        ),
        TimeScript(
            text: "a suspension ends the advance in which it begins",
            clock: .wall,
            schedule: .every(.seconds(30)),
            faults: [(.suspend(.seconds(60)), 20_000)],
            moves: [
                (.advance, 10_000, []), (.advance, 15_000, [[30_000, 1, 50_000]]),
                (.advance, 20_000, [[90_000, 0, 0]]),
            ],
            end: 100_000
        ),
    ]
}

/// Faults have their described effects on virtual time. `ModelTests` has scripts of all kinds by chance.
@Suite(.timeLimit(.minutes(60))) struct FaultScriptTests {
    @Test(arguments: TimeScript.all) func ticksComeAsTheScriptSays(script: TimeScript) throws {
        let virtual = VirtualTime(clock: script.clock)
        let (log, start) = (TickLog(virtual), virtual.now)
        try PreciseTimer.schedule(script.schedule, on: virtual.service, target: log) { $0.note($1) }
        for (fault, delay) in script.faults { virtual.inject(fault, after: .milliseconds(delay)) }
        #expect(virtual.now == start && log.ticks.isEmpty, "they are only noted")
        for move in script.moves {
            let (length, before) = (Duration.milliseconds(move.length), log.ticks.count)
            if move.way == .jump { virtual.jump(by: length) } else { virtual.advance(by: length) }
            let ticks = zip(log.deadlines, log.ticks).dropFirst(before)
            let told = ticks.map { due, tick in
                [due / .milliseconds(1), Double(tick.missed), tick.lateness / .milliseconds(1)].map { Int($0) }
            }
            #expect(told == move.ticks, "\(virtual)")
        }
        #expect(start.duration(to: virtual.now) == .milliseconds(script.end) && virtual.service.now == virtual.now)
    }

    @Test func aFaultThatCannotHappenStopsTheProcess() async {
        await #expect(processExitsWith: .failure) { VirtualTime().inject(.stepClock(by: .seconds(1))) }
        await #expect(processExitsWith: .failure) { VirtualTime().inject(.stall(.seconds(-1))) }
        await #expect(processExitsWith: .failure) { VirtualTime().inject(.stall(.zero), after: .seconds(-1)) }
    }

    @Test func aFaultAfterTheEndOfTimeNeverHappens() {
        let virtual = VirtualTime()
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

    @Test func noClockShowsLessThanItsOrigin() {
        let virtual = VirtualTime(at: .origin(on: .wall))
        virtual.inject(.stepClock(by: .seconds(-60)))
        virtual.advance(by: .zero)
        #expect(virtual.now == .origin(on: .wall))
    }

    @Test func faultsOfOneInstantHappenInTheOrderOfTheirInjection() async throws {
        let wall = VirtualTime(clock: .wall)
        let (steps, told, start) = (try wall.service.clockSteps, Notes<[Int]>(), wall.now)
        for (step, delay) in [(1, 9), (2, 5), (3, 9), (4, 5), (-5, 9)] {
            wall.inject(.stepClock(by: .seconds(step)), after: .seconds(delay))
        }
        wall.advanceWithoutSettling(by: .seconds(4))
        wall.inject(.stepClock(by: .seconds(6)), after: .seconds(5))
        wall.advanceWithoutSettling(by: .seconds(6))
        wall.service.shutdown()
        for try await step in steps {
            told.append([Int(step.change / .seconds(1)), Int(start.duration(to: step.at) / .seconds(1))])
        }
        #expect(told.all == [[2, 7], [4, 11], [1, 16], [3, 19], [-5, 14], [6, 20]])
    }

    /// One thread lets time pass, and another injects faults that come before those that are due.
    @Test func eachFaultHappensOnceAlsoIfAnotherThreadInjectsThem() async throws {
        let (wall, rounds) = (VirtualTime(clock: .wall), 20_000)
        let (start, isOver) = (wall.now, Box<Bool>())
        try await onThreads(2) { thread in
            for _ in 0..<rounds {
                wall.inject(
                    .stepClock(by: thread == 1 ? .microseconds(1) : .seconds(1)),
                    after: .nanoseconds(1 - thread)
                )
                if thread == 0 { wall.advanceWithoutSettling(by: .nanoseconds(1)) }
            }
            if thread == 1 { isOver.value = true }
            while isOver.value == nil { pause(.milliseconds(1)) }
        }
        wall.advanceWithoutSettling(by: .zero)
        let steps = Duration.microseconds(rounds) + .seconds(rounds)
        #expect(start.duration(to: wall.now) == steps + .nanoseconds(rounds))
    }

    @Test(arguments: TimerClock.allCases) func aSuspensionIsToldAndIsNoStep(clock: TimerClock) async throws {
        let virtual = VirtualTime(clock: clock)
        let (start, suspensions, steps) = (
            virtual.now, try virtual.service.suspensions, try virtual.service.clockSteps
        )
        virtual.inject(.suspend(.seconds(60)), after: .seconds(20))
        virtual.advanceWithoutSettling(by: .seconds(100))
        virtual.service.shutdown()
        let told = try await suspensions.reduce(into: []) { $0.append($1) }
        #expect(told.map(\.duration) == [.seconds(60)])
        #expect(told.map(\.at) == [start.advanced(by: .seconds(clock == .suspending ? 20 : 80))])
        #expect(try await steps.reduce(into: []) { $0.append($1) }.isEmpty)
    }
}
