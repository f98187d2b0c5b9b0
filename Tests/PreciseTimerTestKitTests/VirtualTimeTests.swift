import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Virtual time moves only when a test moves it.
struct VirtualTimeTests {
    enum WayOfTime: CaseIterable, Sendable { case jump, advance, asyncAdvance }

    /// A search at the end of the first step is the last one before.
    @Test(arguments: WayOfTime.allCases)
    func aReleasedTargetIsSearchedForASecondAfterTheLastSearch(way: WayOfTime) async throws {
        let virtual = VirtualTime()
        var (target, counts): (Thing?, [Int]) = (Thing(), [])
        try PreciseTimer.schedule(.onDemand, on: virtual.service, target: try #require(target)) { _, _ in }
        for time in [Duration.milliseconds(2_500), .milliseconds(999), .milliseconds(1)] {
            switch way {
            case .jump: virtual.jump(by: time)
            case .advance: virtual.advanceWithoutSettling(by: time)
            case .asyncAdvance: await virtual.advance(by: time)
            }
            counts.append(virtual.pendingCount)
            target = nil
        }
        #expect(counts == [1, 1, 0])
    }

    /// A `deinit` may use the alarm, so its lock is not held.
    @Test func aStoppedAlarmLetsGoOfWhatItCalls() {
        let (alarm, released, ends) = (VirtualAlarm(), Count(), Count())
        let captured = { Thing { released.add(alarm.now.isNever ? 0 : 1) } }
        alarm.start(onFire: { [captured = captured()] in withExtendedLifetime(captured) {} }, onFailure: { _ in })
        _ = alarm.watchClock(
            { [captured = captured()] _ in withExtendedLifetime(captured) {} },
            onEnd: { ends.add(1) }
        )
        #expect([released.value, ends.value] == [0, 0])
        alarm.stop()
        #expect([released.value, ends.value] == [2, 1])
    }
}

/// Faults have their described effects on virtual time. `ModelTests` has all of them by chance, but a suspension.
@Suite(.timeLimit(.minutes(60))) struct VirtualFaultTests {
    @Test func aStepAtADeadlineMakesNoLaterTickLate() throws {
        let virtual = VirtualTime(clock: .wall)
        let log = TickLog(virtual)
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { $0.note($1) }
        virtual.inject(.stepClock(by: .milliseconds(220)), after: .seconds(2))
        virtual.advance(by: .seconds(3))
        #expect(log.deadlines == [.seconds(1), .seconds(2), .seconds(3)])
        #expect(log.ticks.map(\.lateness) == [.zero, .milliseconds(220), .zero])
        #expect(log.missed == [0, 0, 0] && virtual.clock.now == virtual.now)
    }

    @Test(.waits("a wrong argument ends a process")) func whatCannotHappenStopsTheProcess() async {
        await #expect(processExitsWith: .failure) { VirtualTime().inject(.stepClock(by: .seconds(1))) }
        await #expect(processExitsWith: .failure) { VirtualTime().inject(.stall(.seconds(-1))) }
        await #expect(processExitsWith: .failure) { VirtualTime().inject(.stall(.zero), after: .seconds(-1)) }
        await #expect(processExitsWith: .failure) { _ = VirtualTime(at: .never(on: .wall)) }
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
