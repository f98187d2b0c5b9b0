import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Which alarms repeat by themselves, and when they fire.
@Suite(.waits("every alarm fires by its own clock"), .timeLimit(.minutes(60))) struct RepetitionTests {
    /// A timerfd that repeats by itself ticks later, and a run loop's alarm is set with dates.
    private static let able = Mechanism.all.filter(isAble)
    private static let unable = Mechanism.all.filter { !isAble($0) }

    private static func isAble(_ mechanism: Mechanism) -> Bool {
        mechanism.clock == .suspending && ["dispatch", "queue"].contains { mechanism.description.contains($0) }
    }

    /// A thousand periods of a fractional number of microseconds: rounding errors would add up to more than
    /// a period.
    @Test(arguments: able)
    func noFiringIsEarlierThanItsInstant(mechanism: Mechanism) throws {
        let period: UInt64 = 333_333
        let alarm = try mechanism.makeAlarm()
        let firings = Notes<TimerInstant>()
        try alarm.start(onFire: { firings.append(alarm.now) }, onFailure: { _ in })
        defer { alarm.stop() }
        let first = alarm.now.advanced(by: .milliseconds(5))
        #expect(try alarm.set(first, every: period))
        #expect(eventually { firings.all.count >= 1_000 })
        let early = firings.all.enumerated()
            .first { number, instant in
                instant < first.advanced(by: .nanoseconds(Int64(period) * Int64(number)))
            }
        #expect(early == nil)
    }

    @Test(arguments: unable)
    func anAlarmThatCannotRepeatExactlyRefusesTheRepetition(mechanism: Mechanism) throws {
        let alarm = try mechanism.makeAlarm()
        let firings = Count()
        try alarm.start(onFire: { firings.add(1) }, onFailure: { _ in })
        defer { alarm.stop() }
        #expect(try alarm.set(alarm.now, every: 1_000_000) == false)
        #expect(eventually { firings.value >= 1 })
    }

    @Test(arguments: Mechanism.all)
    func theFirstDeadlineFiresEvenWithAnExtremePeriod(mechanism: Mechanism) throws {
        let alarm = try mechanism.makeAlarm()
        let firings = Count()
        try alarm.start(onFire: { firings.add(1) }, onFailure: { _ in })
        defer { alarm.stop() }
        #expect(try alarm.set(alarm.now, every: 0) == false)
        #expect(eventually { firings.value >= 1 })
        // The longest period: whether the alarm repeats or not, the first deadline fires.
        let before = firings.value
        _ = try alarm.set(alarm.now, every: .max)
        #expect(eventually { firings.value > before })
    }

    @Test(.needsDescriptor) func aStoppedPolledAlarmIsNoLongerReadable() throws {
        let timers = try TimerService.pollable()
        let log = Log()
        try PreciseTimer.schedule(.every(.milliseconds(1)), on: timers.service, target: log) { $0.note($1) }
        while log.count < 3 {
            #expect(Poll.isReadable(timers.descriptor, within: 10_000))
            timers.process()
        }
        timers.service.shutdown()
        #expect(!Poll.isReadable(timers.descriptor, within: 20))
    }
}
