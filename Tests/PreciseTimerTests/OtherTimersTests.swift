import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing
import TimerKernel

/// Situations out of public reports of other timers. Each names a report, and what went wrong there.
struct StrangersTests {
    typealias Schedule = PreciseTimer.Schedule

    private let scene = Scene()

    // MARK: Numbers

    /// tokio #5536: a timer wheel that is old enough no longer finds its deadlines.
    @Test(arguments: [10, 260, 510]) func aServiceThatHasLivedForCenturiesIsExact(years: Int) throws {
        let old = Duration.seconds(years * 31_557_600)
        scene.virtual.jump(by: old)
        try scene.timer(.once(after: .milliseconds(3)))
        try scene.timer(.rate(1, per: .milliseconds(3), count: 1))
        scene.virtual.advance(by: .nanoseconds(2_999_999))
        #expect(scene.log.count == 0)
        scene.virtual.advance(by: .nanoseconds(1))
        let due = scene.at(3).advanced(by: old)
        #expect(scene.log.ticks.map(\.deadline) == [due, due] && scene.virtual.pendingCount == 0)
    }

    /// swift-async-algorithms: the copies of an iterator disagree, and a call after the end does not return.
    @Test(.waits("a task takes ticks")) func copiesOfAnIteratorShareItsTicksAndItsEnd() async throws {
        let schedule = Schedule.every(.seconds(1), count: 2)
        var one = PreciseTimer.ticks(schedule, on: scene.virtual.service).makeAsyncIterator()
        var other = one
        #expect(scene.virtual.pendingCount == 1)
        var seen: [Int?] = []
        for _ in 0..<2 {
            scene.advanceWithoutSettling(1_000)
            seen.append(try await seen.isEmpty ? one.next()?.index : other.next()?.index)
        }
        for _ in 0..<2 { seen += [try await one.next()?.index, try await other.next()?.index] }
        #expect(seen == [0, 1, nil, nil, nil, nil])
    }
}

extension Scene {
    fileprivate func advanceWithoutSettling(_ time: Int) { virtual.advanceWithoutSettling(by: .milliseconds(time)) }
}

/// What replaces patterns around NSTimer, and no suite of a promise shows.
struct ComingFromNSTimerTests {
    /// The clock moves between any two readings, as if the thread were stopped there.
    @Test(arguments: [false, true]) func aTimerThatBeginsPausedWaitsForItsWholeDelay(isRescheduled: Bool) throws {
        let (alarm, hour) = (ManualAlarm(), Duration.seconds(3_600))
        alarm.moveWithEachReading(by: .milliseconds(1))
        let timer = try PreciseTimer.schedule(.every(hour), on: TimerService(alarm: alarm), paused: true) {}
        if isRescheduled { try timer.reschedule(.every(hour)) }
        let earliest = alarm.now.advanced(by: hour)
        timer.resume()
        let latest = alarm.now.advanced(by: hour)
        let next = try #require(timer.nextDeadline)
        #expect(earliest < next && next < latest)
    }
}
