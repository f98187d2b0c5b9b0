import Glibc
import PreciseTimer
import Synchronization
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

/// The effects of a step of the clock. These tests step the clock themselves, so they run alone: see the Makefile.
@Suite(.serialized, .timeLimit(.minutes(60)), .enabled(if: WallClock.mayBeStepped, WallClock.whatItTakes))
struct ClockStepTests {
    private static let onTheWallClock = Mechanism.all.filter { $0.clock == .wall }
    private static let onOtherClocks = Mechanism.all.filter { $0.clock != .wall }

    @Test(arguments: onTheWallClock)
    func aWallAlarmFiresIfAStepPassesItsDeadline(mechanism: Mechanism) throws {
        let alarm = try SetAlarm(mechanism, in: .seconds(1_800))
        pause(.milliseconds(5))
        #expect(alarm.firings.due == 0)
        withClockStepped(by: .seconds(3_600)) {
            let hasFired = eventually(within: WallClock.patience) { alarm.firings.due >= 1 }
            #expect(hasFired)
        }
    }

    @Test(arguments: onTheWallClock)
    func aWallAlarmWaitsIfAStepMovesItsDeadlineAway(mechanism: Mechanism) throws {
        let alarm = try SetAlarm(mechanism, in: .milliseconds(20))
        withClockStepped(by: .seconds(-3_600)) {
            // After a stall before the step this is not 0.
            let due = alarm.firings.due
            pause(.milliseconds(50))
            #expect(alarm.firings.due == due)
            // A step may cause an early firing, so that the service looks at the clock, but no more. The clock is
            // stepped again if a step did not bring it to its place.
            #expect(alarm.firings.early <= 3)
        }
        let hasFired = eventually(within: WallClock.patience) { alarm.firings.due >= 1 }
        #expect(hasFired)
    }

    @Test(arguments: onTheWallClock)
    func aWallAlarmSetDuringAStepFires(mechanism: Mechanism) throws {
        for distance in [Duration.seconds(3_600), .seconds(-3_600)] {
            try withClockStepped(by: distance) {
                let alarm = try SetAlarm(mechanism, in: .milliseconds(5))
                let hasFired = eventually(within: WallClock.patience) { alarm.firings.due >= 1 }
                #expect(hasFired)
            }
        }
    }

    @Test(arguments: onTheWallClock.filter { $0.description.hasPrefix("polled") })
    func aPolledAlarmFiresOnAStepSoThatTheServiceReadsTheClock(mechanism: Mechanism) throws {
        let alarm = try SetAlarm(mechanism, in: .seconds(10_000))
        withClockStepped(by: .seconds(-3_600)) {
            let hasFired = eventually(within: WallClock.patience) { alarm.firings.early >= 1 }
            #expect(hasFired)
        }
    }

    /// It would spin until the clock has caught up.
    @Test func aThreadThatSpinsGoesToSleepIfTheClockIsSetBack() throws {
        let spinner = Spinner(SpinPlan(maximum: 1_000_000_000, budget: 0.9))
        let alarm = try TimerFDAlarm(.wall, spinner: spinner)
        try alarm.start(onFire: {}, onFailure: { _ in })
        defer { alarm.stop() }
        try alarm.set(alarm.now.advanced(by: .milliseconds(400)))
        pause(.milliseconds(20))
        withClockStepped(by: .seconds(-3_600)) {
            pause(.milliseconds(5))
            let before = Reading.cpuSeconds
            pause(.seconds(1))
            #expect(Reading.cpuSeconds - before < 0.5)
        }
    }

    @Test(arguments: onOtherClocks)
    func alarmsOnOtherClocksDoNotFireOnAStep(mechanism: Mechanism) throws {
        let alarm = try SetAlarm(mechanism, in: .seconds(1_800))
        for distance in [Duration.seconds(3_600), .seconds(-3_600)] {
            withClockStepped(by: distance) { pause(.milliseconds(20)) }
        }
        #expect(alarm.firings.due == 0)
        #expect(alarm.firings.early == 0)
    }

    @Test(arguments: onOtherClocks)
    func alarmsOnOtherClocksFireDuringAStep(mechanism: Mechanism) throws {
        for distance in [Duration.seconds(3_600), .seconds(-3_600)] {
            let before = try SetAlarm(mechanism, in: .milliseconds(5))
            try withClockStepped(by: distance) {
                let during = try SetAlarm(mechanism, in: .milliseconds(5))
                let haveFired = eventually(within: WallClock.patience) {
                    before.firings.due >= 1 && during.firings.due >= 1
                }
                #expect(haveFired)
            }
        }
    }

    /// If an alarm computes with wall time, a step back at one moment of its setting would make it an hour late. So
    /// the test sets the alarm again and again until the step happens.
    @Test(arguments: onOtherClocks)
    func aStepDuringSettingDoesNotDelayAlarmsOnOtherClocks(mechanism: Mechanism) throws {
        for round in 0..<100 {
            let alarm = try SetAlarm(mechanism, in: .seconds(1_800))
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
                let hasFired = eventually(within: WallClock.patience) { alarm.firings.due >= 1 }
                #expect(hasFired, "round \(round)")
            }
        }
    }
}
