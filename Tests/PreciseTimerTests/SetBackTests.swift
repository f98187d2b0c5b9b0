import Foundation
import PreciseTimer
import PreciseTimerFoundation
import PreciseTimerTestKit
import TestSupport
import Testing

/// The wall clock is set back in a bad moment: an instant that was right when it was noted lies in the future then.
struct SetBackTests {
    typealias Schedule = PreciseTimer.Schedule

    private let scene = Scene(clock: .wall)
    private static let hour = 3_600_000

    private func setBack(by seconds: Int = 3_600) {
        scene.virtual.inject(.stepClock(by: .seconds(-seconds)))
        scene.virtual.advanceWithoutSettling(by: .zero)
    }

    // MARK: Timers that wait for the next round

    /// Both come due during a round, in which the clock is set back. One waits for the new time, and the other, whose
    /// deadline is long past, for nothing.
    @Test(arguments: [false, true]) func eachTimerThatComesDueInARoundKeepsItsOwnTime(lateIsFirst: Bool) throws {
        let scene = scene
        let late = try scene.timer(.every(.seconds(1), for: .seconds(10)), label: "late")
        #expect(late.pause(keeping: .grid))
        let trigger = try scene.handle(.once(after: .seconds(7_200))) { _, _ in
            if lateIsFirst { late.resume() }
            _ = try? scene.timer(.once(after: .zero), label: "soon")
            if !lateIsFirst { late.resume() }
            scene.virtual.inject(.stepClock(by: .seconds(-3_600)))
        }
        scene.advance(7_200_000)
        #expect(scene.ticks == "0@7200000, 0@1000 late 3599000 missed 9")
        scene.advance(Self.hour)
        #expect(scene.ticks(from: 2) == "0@7200000")
        withExtendedLifetime(trigger) {}
    }

    // MARK: Ticks that were asked for

    /// What happens between `fire()` and the tick: nothing, a pause, or another round.
    @Test(arguments: [false, true]) func anExtraTickComesAtOnce(isPaused: Bool) throws {
        let timer = try scene.timer(.every(.seconds(86_400)), paused: isPaused)
        #expect(timer.fire())
        setBack()
        if isPaused { timer.resume() }
        scene.advance(0)
        #expect(scene.log.ticks.map(\.isExtra) == [true])
        scene.advance(Self.hour)
        #expect(scene.log.count == 1)
    }

    @Test func anExtraTickOfARoundInWhichTheClockIsSetBackComesAtOnce() throws {
        let scene = scene
        let timer = try scene.handle(.once(after: .seconds(10))) { timer, count in
            if count > 1 { return }
            timer.fire()
            scene.virtual.inject(.stepClock(by: .seconds(-3_600)))
        }
        scene.advance(10_000)
        scene.advance(0)
        #expect(scene.log.ticks.map(\.isExtra) == [false, true])
        withExtendedLifetime(timer) {}
    }

    /// The handler on a queue, or another thread, asks for it. The clock is set back in the same handler, or while the
    /// tick is on its way.
    @Test(arguments: [false, true]) func anExtraTickOnAQueueComesAtOnce(isInHandler: Bool) throws {
        let (tests, queue) = (self, SuspendedQueue())
        let (service, place) = (scene.virtual.service, PreciseTimer.Delivery.queue(queue.queue))
        let timer = try PreciseTimer.schedule(.every(.seconds(60)), on: service, deliver: place) { timer, tick in
            tests.scene.log.note(tick)
            guard isInHandler, tests.scene.log.count == 1 else { return }
            timer.fire()
            tests.setBack()
        }
        scene.virtual.advanceWithoutSettling(by: .seconds(isInHandler ? 60 : 0))
        if !isInHandler {
            timer.fire()
            scene.virtual.advanceWithoutSettling(by: .zero)
            setBack()
        }
        queue.letRun()
        scene.virtual.advanceWithoutSettling(by: .zero)
        queue.queue.sync {}
        #expect(scene.log.ticks.map(\.isExtra) == (isInHandler ? [false, true] : [true]))
        withExtendedLifetime(timer) {}
    }

    // MARK: Another rule

    private static func weekly() -> Schedule { .weekly(on: .thursday, at: DateComponents(hour: 1), in: .gmt) }
    private static func daily() -> Schedule { .daily(at: DateComponents(hour: 1), in: .gmt) }

    /// Virtual time begins on a Thursday, at midnight.
    @Test(
        arguments: [
            (weekly(), true, 30, 1), (weekly(), false, 30, 1), (daily(), true, 30, 1), (weekly(), true, 60, 1),
            // The clock may mean it: from a minute on, dates come again.
            (weekly(), true, 90, 2),
        ]
    )
    func aServedDateOfTheNewRuleDoesNotComeAgain(
        new: Schedule,
        isAfterStep: Bool,
        seconds: Int,
        runs: Int
    ) throws {
        let timer = try scene.timer(Self.weekly())
        scene.advance(Self.hour)
        if isAfterStep { setBack(by: seconds) }
        try timer.reschedule(new)
        if !isAfterStep { setBack(by: seconds) }
        scene.advance(600_000)
        #expect(scene.log.count == runs)
    }

    /// 65 s after the start, the former rule has served the 100th second.
    @Test func aRuleWithoutThatDeadlineBeginsNow() throws {
        func inSteps(of seconds: Int) -> Schedule { .computed(on: .wall) { $0.advanced(by: .seconds(seconds)) } }
        let timer = try scene.timer(inSteps(of: 100))
        scene.advance(100_000)
        try timer.reschedule(inSteps(of: 10))
        setBack(by: 35)
        #expect(timer.nextDeadline == scene.at(75_000))
    }
}
