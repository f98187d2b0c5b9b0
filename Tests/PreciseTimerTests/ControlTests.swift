import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Pausing against a running alarm, on every backend and on virtual time. `ModelTests` has all orders
/// of all calls on virtual time; here is what it leaves out, and an example of each promise.
@Suite(.waits("every backend fires by its own clock"), .timeLimit(.minutes(60))) struct ControlTests {
    private let log = Log()

    @Test(arguments: Ground.all)
    func aPausedTimerIsSilentAndItsGridRunsOn(ground: Ground) throws {
        let site = try ground.site()
        let (period, start) = (
            Duration.milliseconds(2), site.service.now.advanced(by: .milliseconds(2))
        )
        let timer = try PreciseTimer.schedule(.every(period, at: start), on: site.service, target: log) { $0.note($1) }
        #expect(site.until { log.count >= 3 })
        #expect(timer.pause(keeping: .grid))
        let before = log.count
        site.pass(.milliseconds(30))
        let during = log.count
        #expect(during <= before + 1, "at most the running handler finished")
        #expect(timer.resume())
        #expect(site.until { log.count >= during + 3 })
        timer.cancel()
        let mostMissed = log.ticks.dropFirst(before).prefix(2).map(\.missed).max() ?? 0
        #expect(mostMissed >= 13, "30 ms are 15 periods, or 14 after a tick that was running")
        #expect(log.ticks.flaw(from: start, every: period) == nil)
    }
}

private let each = PreciseTimer.Schedule.every(.milliseconds(10))
private let second = PreciseTimer.Schedule.every(.seconds(1))

/// A paused timer holds its ticks back. Here its pause keeps the grid, and ``RemainingTests`` show the other kind.
struct PauseTests {
    @Test(
        arguments: [
            (
                "late", each, [.advance(10), .pause, .advance(35), .resume, .advance(5)],
                "0@10, 1@20 late 25 missed 2, 4@50"
            )
        ] as [Play]
    )
    func ticksAreHeldBackAndTheMissedTickPolicyIsAppliedAfterwards(play: Play) throws {
        try expectTicks(of: play)
    }

    /// Another timer of the round pauses it. Afterwards its late deadlines begin a burst of their own.
    @Test func aTimerPausedInABurstCatchesUpAnew() throws {
        let scene = Scene()
        let timer = try scene.timer(each, missed: .catchUp(limit: 2))
        let other = try scene.handle(.once(after: .milliseconds(15))) { _, _ in timer.pause(keeping: .grid) }
        scene.jump(100)
        timer.resume()
        scene.advance(0)
        #expect(scene.ticks == "0@10 late 90, 0@15 late 85, 1@20 late 80, 2@30 late 70 missed 7")
        withExtendedLifetime(other) {}
    }
}

/// `fire()`: one extra tick through the normal path, which leaves the grid alone.
struct FireTests {
    /// It has the instant of the call, and the index of the next deadline.
    @Test(
        arguments: [
            (
                "a grid", each, [.advance(14), .fire, .fire, .jump(1), .advance(15)],
                "0@10, extra 1@14 late 1, 1@20, 2@30"
            ),
            (
                "a timer whose time stands still", second,
                [.advance(300), .hold, .advance(500), .fire, .advance(10_000), .resume, .advance(700)],
                "extra 0@800 late 10000, 0@11500"
            ),
        ] as [Play]
    )
    func firingAddsOneExtraTickAndLeavesTheOthersAlone(play: Play) throws {
        try expectTicks(of: play)
    }
}

/// Pauses that keep the remaining time, and schedules that start anew.
struct RemainingTests {
    private let scene = Scene()

    @Test func aPausedTimerKeepsItsRemainingTime() throws {
        let timer = try scene.timer(.once(after: .milliseconds(500)))
        scene.advance(300)
        #expect(timer.remaining == .milliseconds(200) && timer.pause())
        timer.fire()
        scene.advance(1_000)
        #expect(
            timer.remaining == .milliseconds(200) && timer.nextDeadline == nil,
            "an extra tick changes nothing"
        )
        #expect(timer.resume() && timer.remaining == .zero)
        scene.advance(100)
        #expect(timer.remaining == .milliseconds(100), "time goes on")
        scene.advance(100)
        #expect(scene.ticks == "extra 0@300 late 1000, 0@1500" && timer.remaining == nil)
    }

    private static let nine = PreciseTimer.Schedule.computed { $0.advanced(by: .seconds(9)) }
    private static let two = PreciseTimer.Schedule.computed { $0.advanced(by: .seconds(2)) }

    @Test(
        arguments: [
            (
                "a bound in time", .every(.seconds(1), for: .seconds(3)),
                [.advance(1_500), .hold, .advance(7_000), .resume, .advance(60_000)],
                "0@1000, 1@9000, 2@10000"
            ),
            (
                "a timer that had computed deadlines", nine,
                [.reschedule(second), .advance(400), .hold, .advance(5_000), .resume, .advance(600)],
                "0@6000"
            ),
            (
                "computed deadlines never move", nine,
                [
                    .reschedule(second), .hold, .advance(5_000), .reschedule(two), .advance(500), .resume,
                    .advance(3_500),
                ],
                "0@7000, 1@9000"
            ),
            (
                "a restart during the pause begins with its end", second,
                [
                    .advance(400), .hold, .advance(5_000), .restart, .advance(5_000), .resume,
                    .advance(1_000),
                ], "0@11400"
            ),
        ] as [Play]
    )
    func theWholeGridMovesByThePause(play: Play) throws { try expectTicks(of: play) }

    @Test func aPausedTimerKeepsTheKindOfItsPause() throws {
        let timer = try scene.timer(second)
        #expect(timer.pause(keeping: .grid) && !timer.pause())
        #expect(timer.nextDeadline == scene.at(1_000) && timer.remaining == .seconds(1))
        #expect(timer.resume() && timer.pause() && !timer.pause(keeping: .grid))
        #expect(timer.nextDeadline == nil)
    }

    /// The next delay begins when the handler returns, during the pause.
    @Test func aPauseInTheHandlerOfAFixedDelayKeepsTheWholeDelay() throws {
        let scene = scene
        let timer = try scene.handle(.fixedDelay(.seconds(1))) { timer, count in
            if count > 1 { return }
            timer.pause()
            scene.advance(300)
        }
        scene.advance(6_000)
        #expect(scene.log.count == 1 && timer.remaining == .seconds(1))
        timer.resume()
        scene.advance(1_000)
        #expect(scene.ticks == "0@1000, 1@7000")
    }

    @Test func aRestartedTimerIsTheLastAmongEqualDeadlines() throws {
        let timers = try (0..<2).map { _ in try scene.timer(each) }
        scene.advance(10)
        timers[0].restart()
        scene.advance(10)
        #expect(scene.ticks == "0@10, 0@10, 1@20, 0@20")
    }

    @Test func onlyAScheduleThatCountsFromItsBeginningIsRestarted() throws {
        let timer = try scene.timer(.onDemand)
        #expect(!timer.restart(), "it has had no schedule yet")
        try timer.reschedule(.once(after: .seconds(1)))
        scene.advance(5_000)
        #expect(timer.restart(), "its latest delay")
        scene.advance(1_000)
        let instant = try scene.timer(.once(at: scene.at(7_000)))
        #expect(!instant.restart())
        scene.advance(1_000)
        #expect(scene.ticks == "0@1000, 0@6000, 0@7000")
    }
}
