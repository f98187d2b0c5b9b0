import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// A virtual alarm that repeats by itself.
struct VirtualRepetitionTests {
    private let alarm = VirtualAlarm()
    private let firings = Notes<TimerInstant>()
    private let start: TimerInstant

    init() throws {
        start = alarm.now
        let (alarm, firings) = (alarm, firings)
        alarm.start(onFire: { firings.append(alarm.now) }, onFailure: { _ in })
    }

    /// The times of its firings, in milliseconds from the start.
    private var times: [Int64] { firings.all.map { start.duration(to: $0).nanosecondsRoundedUp / 1_000_000 } }

    private func setEvery(_ milliseconds: Int, first: Int) {
        let goesOn = alarm.set(
            start.advanced(by: .milliseconds(first)),
            every: UInt64(milliseconds) * 1_000_000
        )
        #expect(goesOn)
    }

    @Test func aRepetitionFiresAtEachOfItsInstants() {
        setEvery(10, first: 5)
        alarm.advance(by: .milliseconds(44))
        #expect(times == [5, 15, 25, 35])
    }

    @Test func instantsThatPassedTogetherShareAFiring() {
        setEvery(10, first: 5)
        alarm.jump(by: .milliseconds(37))
        alarm.advance(by: .milliseconds(10))
        #expect(times == [37, 45])
    }

    @Test func aLateFiringDoesNotMoveTheGrid() {
        setEvery(10, first: 10)
        alarm.inject(.wakeLate(by: .milliseconds(3)), after: .zero)
        alarm.advance(by: .milliseconds(30))
        #expect(times == [13, 20, 30])
    }

    @Test func afterAnEarlyFiringTheAlarmFiresOnTime() {
        setEvery(10, first: 10)
        alarm.inject(.wakeEarly(by: .milliseconds(4)), after: .zero)
        alarm.advance(by: .milliseconds(20))
        #expect(times == [6, 10, 20])
    }

    @Test func aPastFirstDeadlineFiresAtOnceAndKeepsItsGrid() {
        alarm.advance(by: .milliseconds(24))
        setEvery(10, first: 0)
        alarm.advance(by: .milliseconds(10))
        #expect(times == [24, 30])
    }

    @Test func aLaterSettingReplacesTheRepetition() {
        setEvery(10, first: 10)
        alarm.advance(by: .milliseconds(15))
        alarm.set(start.advanced(by: .milliseconds(17)))
        alarm.advance(by: .milliseconds(100))
        #expect(times == [10, 17])
        setEvery(10, first: 120)
        alarm.advance(by: .milliseconds(10))
        alarm.set(nil)
        alarm.advance(by: .milliseconds(100))
        #expect(times == [10, 17, 120])
    }

    @Test func aSettingFromInsideAFiringReplacesTheRepetition() {
        let (alarm, times) = (VirtualAlarm(), Notes<Int64>())
        let start = alarm.now
        alarm.start(
            onFire: {
                times.append(start.duration(to: alarm.now).nanosecondsRoundedUp / 1_000_000)
                switch times.all.count {
                case 2: _ = alarm.set(start.advanced(by: .milliseconds(25)), every: 5_000_000)
                case 4: alarm.set(start.advanced(by: .milliseconds(50)))
                default: break
                }
            },
            onFailure: { _ in }
        )
        _ = alarm.set(start.advanced(by: .milliseconds(10)), every: 10_000_000)
        alarm.advance(by: .milliseconds(100))
        #expect(times.all == [10, 20, 25, 30, 50])
    }

    @Test func afterAStepBackTheAlarmWaitsForTheWallClock() {
        let (alarm, firings) = (VirtualAlarm(clock: .wall), Count())
        alarm.start(onFire: { firings.add(1) }, onFailure: { _ in })
        _ = alarm.set(alarm.now.advanced(by: .seconds(1)), every: 1_000_000_000)
        alarm.advance(by: .seconds(3))
        alarm.inject(.stepClock(by: .seconds(-10)), after: .zero)
        alarm.advance(by: .seconds(10))
        #expect(firings.value == 3)
        alarm.advance(by: .seconds(1))
        #expect(firings.value == 4)
    }
}
