import Foundation
import Glibc
import PreciseTimer
import Synchronization
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

private let hour = Duration.seconds(3_600)

/// The effects of a step of the clock. These tests step the clock themselves, so they run alone: see the Makefile.
@Suite(.serialized, .timeLimit(.minutes(60)), .enabled(if: WallClock.mayBeStepped, WallClock.whatItTakes))
struct ClockStepTests {
    private static let onTheWallClock = Mechanism.all.filter { $0.clock == .wall }
    private static let onOtherClocks = Mechanism.all.filter { $0.clock != .wall }

    @Test(arguments: onTheWallClock)
    func aWallAlarmFiresIfAStepPassesItsDeadline(mechanism: Mechanism) throws {
        let alarm = try SetAlarm(mechanism, in: hour / 2)
        pause(.milliseconds(5))
        #expect(alarm.due.value == 0)
        withClockStepped(by: hour) { #expect(inTime { alarm.due.value >= 1 }) }
    }

    @Test(arguments: onTheWallClock)
    func aWallAlarmWaitsIfAStepMovesItsDeadlineAway(mechanism: Mechanism) throws {
        let alarm = try SetAlarm(mechanism, in: .milliseconds(20))
        withClockStepped(by: .zero - hour) {
            // After a stall before the step this is not 0.
            let due = alarm.due.value
            pause(.milliseconds(50))
            #expect(alarm.due.value == due)
            // A step may cause an early firing, so that the service looks at the clock, but no more. The clock is
            // stepped again if a step did not bring it to its place.
            #expect(alarm.early.value <= 3)
        }
        #expect(inTime { alarm.due.value >= 1 })
    }

    @Test(arguments: onTheWallClock.filter { $0.description.hasPrefix("polled") })
    func aPolledAlarmFiresOnAStepSoThatTheServiceReadsTheClock(mechanism: Mechanism) throws {
        let alarm = try SetAlarm(mechanism, in: .seconds(10_000))
        withClockStepped(by: .zero - hour) { #expect(inTime { alarm.early.value >= 1 }) }
    }

    /// It would spin until the clock has caught up.
    @Test func aThreadThatSpinsGoesToSleepIfTheClockIsSetBack() throws {
        let spinner = Spinner(SpinPlan(maximum: 1_000_000_000, budget: 0.9))
        let alarm = try TimerFDAlarm(.wall, spinner: spinner)
        try alarm.start(onFire: {}, onFailure: { _ in })
        defer { alarm.stop() }
        try alarm.set(alarm.now.advanced(by: .milliseconds(400)))
        pause(.milliseconds(20))
        withClockStepped(by: .zero - hour) {
            pause(.milliseconds(5))
            let before = Reading.cpuSeconds
            pause(.seconds(1))
            #expect(Reading.cpuSeconds - before < 0.5)
        }
    }

    @Test(arguments: onOtherClocks)
    func alarmsOnOtherClocksDoNotFireOnAStep(mechanism: Mechanism) throws {
        let alarm = try SetAlarm(mechanism, in: hour / 2)
        for distance in [hour, .zero - hour] { withClockStepped(by: distance) { pause(.milliseconds(20)) } }
        #expect(alarm.due.value == 0 && alarm.early.value == 0)
    }

    /// On the wall clock, this holds for alarms that are set during the step.
    @Test(arguments: Mechanism.all)
    func alarmsFireDuringAStep(mechanism: Mechanism) throws {
        for distance in [hour, .zero - hour] {
            let before = mechanism.clock == .wall ? nil : try SetAlarm(mechanism, in: .milliseconds(5))
            try withClockStepped(by: distance) {
                let during = try SetAlarm(mechanism, in: .milliseconds(5))
                #expect(inTime { during.due.value >= 1 && before?.due.value != 0 })
            }
        }
    }

    /// If an alarm computes with wall time, a step back at one moment of its setting would make it an hour late. So
    /// the test sets the alarm again and again until the step happens.
    @Test(arguments: onOtherClocks)
    func aStepDuringSettingDoesNotDelayAlarmsOnOtherClocks(mechanism: Mechanism) throws {
        for round in 0..<Effort.of(25, thorough: 100) {
            let alarm = try SetAlarm(mechanism, in: hour / 2)
            let isStepped = Atomic(false)
            try withClockStepped(by: .zero) {
                let offset = WallClock.offset
                try onThreads(2) { number in
                    if number == 0 {
                        pause(.microseconds(200))
                        _ = WallClock.step(to: offset - 3_600_000_000_000)
                        isStepped.store(true, ordering: .releasing)
                    } else {
                        var wall = TimerClock.wall.now
                        var isBack = false
                        repeat {
                            try? alarm.set(in: .milliseconds(1))
                            isBack = TimerClock.wall.now < wall
                            wall = TimerClock.wall.now
                        } while !isBack && !isStepped.load(ordering: .acquiring)
                    }
                }
                #expect(inTime { alarm.due.value >= 1 }, "round \(round)")
            }
        }
    }
}

extension ClockStepTests {
    /// Timers on the wall clock during a step, and timers on the other clocks, which a step does not affect.
    @Suite(.serialized, .timeLimit(.minutes(60)), .enabled(if: WallClock.mayBeStepped, WallClock.whatItTakes))
    struct ServiceStepTests {
        typealias Backend = TimerService.Backend

        /// Hours of deadlines come due at once, and nobody was late for them.
        @Test(arguments: Backend.available.filter { $0.clocks.contains(.wall) })
        func aStepSkipsDeadlinesOfTheGridAndIsInNoFigureOfLateness(backend: Backend) throws {
            let (service, log) = (try TimerService(backend, clock: .wall), Log())
            service.collectsStatistics = true
            let start = service.now.advanced(by: .milliseconds(5))
            let grid = PreciseTimer.Schedule.every(.milliseconds(5), at: start)
            let timer = try PreciseTimer.schedule(grid, on: service, target: log) { $0.note($1) }
            timer.collectsStatistics = true
            #expect(log.goesOn)
            withClockStepped(by: hour) { #expect(log.goesOn) }
            #expect(timer.cancel())
            #expect(log.ticks.flaw(from: start, every: .milliseconds(5)) == nil)
            for statistics in [service.statistics, timer.statistics] {
                let statistics = try #require(statistics)
                #expect(statistics.afterStep >= 1 && statistics.missed >= 700_000, "\(statistics)")
                #expect(try #require(statistics.longestStall).length < hour / 2, "\(statistics)")
            }
            service.shutdown()
        }

        @Test func aStepBackBringsAComputedDeadlineBack() throws {
            let (service, log, hour) = (try TimerService(.timerFD, clock: .wall), Log(), UInt64(3_600_000_000_000))
            let hourly = PreciseTimer.Schedule.computed(on: .wall) { instant in
                TimerInstant(nanoseconds: (instant.nanoseconds / hour + 1) * hour, clock: .wall)
            }
            let timer = try PreciseTimer.schedule(hourly, on: service, target: log) { $0.note($1) }
            let former = try #require(timer.nextDeadline).advanced(by: .seconds(-7_200))
            withClockStepped(by: .seconds(-7_200)) {
                let isBack = inTime { timer.nextDeadline.map { $0 <= former } ?? false }
                #expect(isBack, "the timer does not wait for the former deadline")
            }
            timer.cancel()
        }

        /// The steps there and back are told at once, and slewing or reading the clock is not a step.
        @Test func stepsOfTheClockAreTold() async throws {
            let service = try TimerService(.timerFD)
            let (steps, told) = (try service.clockSteps, Notes<TimerService.ClockStep>())
            let task = Task { for try await step in steps { told.append(step) } }
            let isTold = try await onOwnThread {
                var isTold = false
                withClockStepped(by: hour) { isTold = inTime { !told.all.isEmpty } }
                return isTold && inTime { told.all.map(\.change).reduce(.zero, +).magnitude < .seconds(1) }
            }
            #expect(isTold)
            let first = try #require(told.all.first)
            #expect((first.change - hour).magnitude < .seconds(1) && first.at.clock == .wall)
            task.cancel()
            _ = await task.result
            service.shutdown()
        }
    }
}

extension Log {
    /// Waits for some more ticks. Whether they have come.
    fileprivate var goesOn: Bool {
        let before = count
        return inTime { count >= before + 3 }
    }
}

extension Duration {
    fileprivate var magnitude: Duration { self < .zero ? .zero - self : self }
}

/// Steps CLOCK_REALTIME for a moment, for the whole machine.
private enum WallClock {
    /// Whether tests may step the clock: the environment asks for it, and the system allows it.
    static let mayBeStepped =
        ProcessInfo.processInfo.environment["PRECISE_TIMER_STEP_CLOCK"] == "1" && alone { set(to: offset) }

    /// How to enable these tests.
    static let whatItTakes: Comment = "steps the clock: needs PRECISE_TIMER_STEP_CLOCK=1 and the right to set the clock"

    /// Nanoseconds from a reading of CLOCK_MONOTONIC to one of CLOCK_REALTIME, measured without a stall in between.
    static var offset: Int64 {
        while true {
            let (before, wall, after) = (read(CLOCK_MONOTONIC), read(CLOCK_REALTIME), read(CLOCK_MONOTONIC))
            if after - before < 100_000 { return wall - before }
        }
    }

    /// Sets the clock to this many nanoseconds after CLOCK_MONOTONIC, and checks it. Returns whether the clock
    /// is set.
    static func set(to offset: Int64) -> Bool {
        // A stall between reading and setting would stay in the clock, so this tries again.
        for _ in 0..<100 {
            if !step(to: offset) { return false }
            if abs(Self.offset - offset) < 1_000_000 { return true }
        }
        return false
    }

    /// Sets the clock to about this many nanoseconds after CLOCK_MONOTONIC. Returns whether the system allowed it.
    static func step(to offset: Int64) -> Bool {
        let wall = read(CLOCK_MONOTONIC) + offset
        var time = timespec(tv_sec: Int(wall / 1_000_000_000), tv_nsec: Int(wall % 1_000_000_000))
        return unsafe clock_settime(CLOCK_REALTIME, &time) == 0
    }

    /// Runs a body while no other process does. Two processes that step the clock would each restore the
    /// other's step.
    static func alone<Result>(_ body: () throws -> Result) rethrows -> Result {
        let file = unsafe open("/tmp/precise-timer-steps-the-clock", O_CREAT | O_RDWR | O_CLOEXEC, 0o666)
        defer { close(file) }
        while flock(file, LOCK_EX) != 0, errno == EINTR {}
        return try body()
    }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        _ = unsafe clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// Waits until a condition holds. Returns false if it does not soon, because the clock is stepped meanwhile.
private func inTime(_ condition: () -> Bool) -> Bool { eventually(within: .seconds(15), condition) }

/// Runs a body while the wall clock is stepped, and afterwards restores the clock from CLOCK_MONOTONIC. Keep the
/// body short: meanwhile the whole machine has another time.
private func withClockStepped(by distance: Duration, _ body: () throws -> Void) rethrows {
    try WallClock.alone {
        let offset = WallClock.offset
        let (seconds, attoseconds) = distance.components
        defer {
            let isRestored = WallClock.set(to: offset)
            #expect(isRestored, "the clock is right again")
            #expect(abs(WallClock.offset - offset) < 50_000_000)
        }
        let isStepped = WallClock.set(to: offset + seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
        #expect(isStepped)
        try body()
    }
}

/// A started alarm with one deadline, which is set again after an early firing, as a service does.
private final class SetAlarm: Sendable {
    /// The firings before the deadline, and at or after it.
    let (early, due) = (Count(), Count())
    private let alarm: any TimerAlarm
    /// The deadline. This lock is held while the alarm is set, because two threads must never set it at once.
    private let deadline: Lock<TimerInstant>

    /// Starts a new alarm, with a deadline this long after its current time.
    init(_ mechanism: Mechanism, in delay: Duration) throws {
        alarm = try mechanism.makeAlarm()
        deadline = Lock(alarm.now)
        try alarm.start(onFire: { [weak self] in self?.fired() }, onFailure: { _ in })
        try set(in: delay)
    }

    deinit { alarm.stop() }

    /// Sets the alarm to a deadline this long after its current time.
    func set(in delay: Duration) throws {
        try deadline.withLock { deadline in
            deadline = alarm.now.advanced(by: delay)
            try alarm.set(deadline)
        }
    }

    private func fired() {
        let isDue = deadline.withLock { deadline in
            let isDue = alarm.now >= deadline
            if !isDue { try? alarm.set(deadline) }
            return isDue
        }
        (isDue ? due : early).add(1)
    }
}
