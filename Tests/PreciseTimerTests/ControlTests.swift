import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Pausing, rescheduling and firing against a running alarm, on every backend and on virtual time.
@Suite(.waits("every backend fires by its own clock"), .timeLimit(.minutes(60))) struct ControlTests {
    private let log = Log()

    @Test(arguments: Ground.all)
    func aPausedTimerIsSilentAndItsGridRunsOn(ground: Ground) throws {
        let site = try ground.site()
        let (period, start) = (Duration.milliseconds(2), site.service.now.advanced(by: .milliseconds(2)))
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

    @Test(arguments: Ground.all)
    func noTickOfTheOldScheduleStartsAfterAReschedule(ground: Ground) throws {
        let (site, period) = (try ground.site(), Duration.microseconds(200))
        let timer = try PreciseTimer.schedule(.every(period), on: site.service, target: log) { $0.note($1) }
        for round in 0..<30 {
            let before = log.count
            #expect(site.until { log.count > before })
            site.pass(.microseconds(round * 17))
            let start = site.service.now.advanced(by: .milliseconds(3))
            try timer.reschedule(.every(period, at: start))
            let atReturn = log.count
            #expect(site.until { log.count >= atReturn + 3 })
            // At most the first of these ticks was already running at the reschedule.
            #expect(log.ticks.dropFirst(atReturn + 1).allSatisfy { start <= $0.deadline })
            // All ticks since the call: some may have come before `atReturn` was read.
            let new = Array(log.ticks.dropFirst(before).drop { $0.deadline != start })
            #expect(!new.isEmpty && new.flaw(from: start, every: period) == nil, "numbered from 0 again")
        }
        timer.cancel()
    }
}

/// A paused timer holds its ticks back. Here its pause keeps the grid, and ``RemainingTests`` show the other kind.
struct PauseTests {
    private let scene = Scene()

    @Test func pausingHoldsTicksBackAndResumingAppliesTheMissedTickPolicy() throws {
        let timer = try scene.timer(.every(.milliseconds(10)))
        scene.advance(10)
        #expect(timer.pause(keeping: .grid))
        #expect(timer.state == .paused)
        scene.advance(35)
        #expect(scene.log.count == 1)
        #expect(timer.nextDeadline == scene.at(20), "its tick is still to come")
        #expect(scene.virtual.pendingCount == 1 && scene.virtual.nextDeadline == nil)
        #expect(timer.resume())
        #expect(timer.state == .scheduled)
        #expect(scene.log.count == 1, "nothing is delivered inside the call")
        scene.advance(0)
        #expect(scene.ticks == "0@10, 1@20 late 25 missed 2")
        #expect(timer.nextDeadline == scene.at(50))
    }

    @Test func pauseAndResumeReturnTrueOnlyForTheCallThatChangedTheState() throws {
        let timer = try scene.timer(.every(.milliseconds(10)))
        let pause = { timer.pause(keeping: .grid) }
        let results = [timer.resume(), pause(), pause(), timer.resume(), timer.resume()]
        #expect(results == [false, true, false, true, false])
        timer.cancel()
        #expect([pause(), timer.resume()] == [false, false])
        #expect(timer.state == .ended(.cancelled))
    }

    @Test func aTimerCanBeCreatedPaused() throws {
        let timer = try scene.timer(.every(.milliseconds(10)), paused: true)
        #expect(timer.state == .paused && scene.virtual.nextDeadline == nil)
        scene.advance(25)
        #expect(scene.log.count == 0)
        #expect(timer.remaining == .milliseconds(10), "its deadlines count from the resume on")
        timer.resume()
        scene.advance(10)
        #expect(scene.ticks == "0@35")
    }

    /// Another timer of the round pauses it. Afterwards its late deadlines begin a burst of their own.
    @Test func aTimerPausedInABurstCatchesUpAnew() throws {
        let timer = try scene.timer(.every(.milliseconds(10)), missed: .catchUp(limit: 2))
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
    private let scene = Scene()

    @Test func nothingIsDeliveredInsideTheCall() throws {
        let timer = try scene.timer(.every(.milliseconds(10)))
        scene.advance(4)
        #expect(timer.fire())
        #expect(timer.nextDeadline == scene.at(4) && scene.log.count == 0)
    }

    /// It has the instant of the call, and the index of the next deadline.
    @Test(
        arguments: [
            (
                "the grid does not move", .every(.milliseconds(10)),
                [.advance(14), .fire, .jump(1), .advance(15)], "0@10, extra 1@14 late 1, 1@20, 2@30"
            ),
            (
                "calls before the extra tick begins collapse into one", .every(.milliseconds(10)),
                [.fire, .fire, .fire, .jump(2), .fire, .advance(0)], "extra 0@0 late 2, extra 0@2"
            ),
            (
                "late ticks keep their missed count", .every(.milliseconds(10)),
                [.advance(5), .fire, .jump(30), .advance(5)], "extra 0@5 late 30, 0@10 late 25 missed 2, 3@40"
            ),
            (
                "a paused timer gets it on resume, and only one", .every(.milliseconds(10)),
                [.pause, .fire, .advance(1), .fire, .advance(2), .resume, .advance(0)], "extra 0@0 late 3"
            ),
            (
                "a timer whose time stands still gets it on resume", .every(.milliseconds(1_000)),
                [.advance(300), .hold, .advance(500), .fire, .advance(10_000), .resume, .advance(700)],
                "extra 0@800 late 10000, 0@11500"
            ),
            (
                "a fixed delay is not postponed", .fixedDelay(.milliseconds(10)),
                [.advance(6), .fire, .advance(14)], "extra 0@6, 0@10, 1@20"
            ),
        ] as [Play]
    )
    func firingAddsOneExtraTickAndLeavesTheOthersAlone(play: Play) throws { try expectTicks(of: play) }

    @Test func anExtraTickDoesNotCompleteTheTimer() throws {
        let timer = try scene.timer(.once(after: .milliseconds(10)))
        timer.fire()
        scene.advance(5)
        #expect(timer.state == .scheduled)
        scene.advance(5)
        #expect(timer.state == .ended(.completed) && !timer.fire())
        scene.advance(5)
        #expect(scene.ticks == "extra 0@0, 0@10", "an ended timer gets no extra tick")
    }

    @Test func aTimerFiredInItsHandlerTicksAgainAfterTheReturn() throws {
        let (running, depths) = (Count(), Notes<Int>())
        let timer = try scene.handle(.every(.milliseconds(10))) { timer, count in
            running.add(1)
            if count == 1 { timer.fire() }
            depths.append(running.value)
            running.add(-1)
        }
        scene.advance(10)
        #expect(depths.all == [1, 1])
        #expect(scene.ticks == "0@10, extra 1@10")
        withExtendedLifetime(timer) {}
    }

    @Test func aClockSetBackDoesNotLoseTheExtraTick() throws {
        let scene = Scene(clock: .wall)
        let timer = try scene.timer(.every(.seconds(86_400)), paused: true)
        timer.fire()
        scene.virtual.inject(.stepClock(by: .seconds(-3_600)))
        scene.advance(1_000)
        timer.resume()
        timer.fire()
        scene.advance(0)
        #expect(scene.log.ticks.map(\.deadline) == [scene.virtual.now])
    }
}

/// Pauses that keep the remaining time, and schedules that start anew.
struct RemainingTests {
    private let scene = Scene()

    @Test func aPausedTimerKeepsItsRemainingTime() throws {
        let timer = try scene.timer(.once(after: .milliseconds(500)))
        scene.advance(300)
        #expect(timer.remaining == .milliseconds(200))
        #expect(timer.pause())
        scene.advance(1_000)
        #expect(timer.remaining == .milliseconds(200) && timer.nextDeadline == nil)
        #expect(timer.resume())
        #expect(timer.nextDeadline == scene.at(1_500) && scene.log.count == 0)
        scene.advance(100)
        #expect(timer.remaining == .milliseconds(100), "time goes on")
        scene.advance(100)
        #expect(scene.ticks == "0@1500")
    }

    @Test(
        arguments: [
            (
                "a period", .every(.seconds(1)),
                [.advance(2_400), .hold, .advance(7_000), .resume, .advance(1_600)], "0@1000, 1@2000, 2@10000, 3@11000"
            ),
            (
                "a rate", .rate(3, per: .seconds(1)),
                [.advance(500), .hold, .advance(7_000), .resume, .advance(500)], "0@333.333334, 1@7666.666667, 2@8000"
            ),
            (
                "a bound in time", .every(.seconds(1), for: .seconds(3)),
                [.advance(1_500), .hold, .advance(7_000), .resume, .advance(60_000)], "0@1000, 1@9000, 2@10000"
            ),
            (
                "a timer that had computed deadlines", .computed { $0.advanced(by: .seconds(9)) },
                [.reschedule(.every(.seconds(1))), .advance(400), .hold, .advance(5_000), .resume, .advance(600)],
                "0@6000"
            ),
            (
                "computed deadlines never move", .computed { $0.advanced(by: .seconds(9)) },
                [.reschedule(.every(.seconds(1))), .hold, .advance(5_000)]
                    + [
                        .reschedule(.computed { $0.advanced(by: .seconds(2)) }), .advance(500), .resume,
                        .advance(3_500),
                    ],
                "0@7000, 1@9000"
            ),
            (
                "one pause after the other", .once(after: .milliseconds(500)),
                [.advance(300), .hold, .advance(1_000), .resume, .advance(100), .hold, .advance(1_000), .resume] + [
                    .advance(100)
                ],
                "0@2500"
            ),
            (
                "a restart during the pause begins with its end", .every(.seconds(1)),
                [.advance(400), .hold, .advance(5_000), .restart, .advance(5_000), .resume, .advance(1_000)], "0@11400"
            ),
        ] as [Play]
    )
    func theWholeGridMovesByThePause(play: Play) throws { try expectTicks(of: play) }

    @Test func aPausedTimerKeepsTheKindOfItsPause() throws {
        let timer = try scene.timer(.every(.seconds(1)))
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
        let timers = try (0..<2).map { _ in try scene.timer(.every(.milliseconds(10))) }
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
