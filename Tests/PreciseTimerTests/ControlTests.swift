import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Pausing against a running alarm, on every backend and on virtual time.
@Suite(.waits("every backend fires by its own clock"), .timeLimit(.minutes(60))) struct PauseTests {
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
}

/// Calls that change a timer. `ModelTests` has all orders of all calls; here is an example of each promise, and what
/// the model leaves out.
struct ControlTests {
    private let scene = Scene()

    private static let ten = PreciseTimer.Schedule.every(.milliseconds(10))
    private static let hundred = PreciseTimer.Schedule.every(.milliseconds(100))
    private static let once = PreciseTimer.Schedule.once(after: .milliseconds(10))

    private static let plays: [Play] = [
        (
            "a pause may keep the grid", ten, [.advance(10), .pause, .advance(35), .resume, .advance(5)],
            "0@10, 1@20 late 25 missed 2, 4@50"
        ),
        (
            "or the remaining time, and a requested tick comes after it", .every(.seconds(1)),
            [.advance(300), .hold, .advance(500), .fire, .advance(10_000), .resume, .advance(700)],
            "extra 0@800 late 10000, 0@11500"
        ),
        (
            "two requests are one extra tick, which leaves the grid alone", ten,
            [.advance(14), .fire, .fire, .jump(1), .advance(15)], "0@10, extra 1@14 late 1, 1@20, 2@30"
        ),
        (
            "a timer on demand rests until it is rescheduled or fired", once,
            [.advance(9), .reschedule(.onDemand), .advance(991), .reschedule(once), .advance(20), .fire, .advance(0)],
            "0@1010, extra 1@1020"
        ),
        (
            "a restart begins with a whole step", hundred, [.advance(140), .restart, .advance(200)],
            "0@100, 0@240, 1@340"
        ),
        (
            "a new period leaves the next deadline and its number, and counts from there", hundred,
            [.advance(195), .changeSteps(ten), .jump(40), .advance(5)], "0@100, 1@200 late 35 missed 3, 5@240"
        ),
        (
            "unless a whole new step from now ends sooner", hundred,
            [.advance(150), .changeSteps(.every(.milliseconds(20))), .advance(50)], "0@100, 1@170, 2@190"
        ),
        (
            "a deadline that is further away than a step was asked for by itself, and stays",
            .every(.milliseconds(100), after: .milliseconds(500)), [.changeSteps(ten), .advance(510)], "0@500, 1@510"
        ),
    ]

    @Test(arguments: plays) func eachCallKeepsItsPromise(play: Play) throws { try expectTicks(of: play) }

    private static let computed = PreciseTimer.Schedule.computed { $0.advanced(by: .milliseconds(100)) }

    /// `ModelTests` has the schedules without chance.
    @Test(arguments: [
        .every(.seconds(1), spread: .seconds(1)), .every(.seconds(1), jitter: .seconds(1)),
        .every(.seconds(1), for: .seconds(9)), computed, .every(.seconds(1)),
    ])
    func aScheduleWithoutAPhaseIsRefusedAndTheTimerStaysAsItWas(other: PreciseTimer.Schedule) throws {
        let timer = try scene.timer(other == .every(.seconds(1)) ? Self.computed : Self.hundred)
        #expect(refusal { try timer.reschedule(other, keeping: .phase) }?.code == .invalidSchedule)
        scene.advance(200)
        #expect(scene.ticks == "0@100, 1@200")
    }

    /// Whatever else is wrong with the call. The service has not found the end yet, or only the last tick is to come.
    @Test(arguments: [false, true]) func aTimerThatIsOverSaysSoToACallThatKeepsThePhase(isFinished: Bool) async throws {
        var target: Thing? = Thing()
        let service = scene.virtual.service
        let timer = try PreciseTimer.schedule(Self.computed, on: service, target: try #require(target)) { _, _ in }
        let finishing = isFinished ? Task.immediate { try await timer.finish() } : nil
        if !isFinished { target = nil }
        #expect(timer.hasEnded != isFinished)
        #expect(refusal { try timer.reschedule(Self.ten, keeping: .phase) }?.code == .timerEnded)
        scene.advance(0)
        _ = try await finishing?.value
        withExtendedLifetime(target) {}
    }

    /// The late deadlines of the new schedule begin a burst of their own.
    @Test func aTimerRescheduledInABurstCatchesUpAnew() throws {
        let scene = scene
        let timer = try scene.handle(.every(.seconds(1)), missed: .catchUp(limit: 2)) { timer, count in
            if count == 1 { try? timer.reschedule(.every(.seconds(1), at: scene.at(7_000))) }
        }
        scene.jump(10_000)
        #expect(scene.ticks == "0@1000 late 9000, 0@7000 late 3000, 1@8000 late 2000 missed 2")
        timer.cancel()
    }

    @Test func theLimitCountsTheTicksOfABurstOverAllItsLooks() throws {
        scene.jump(999)
        try scene.timer(.every(.milliseconds(1), at: scene.at(0)), missed: .catchUp(limit: 300))
        scene.advance(0)
        scene.jump(400)
        let missed = Array(repeating: 0, count: 299)
        #expect(scene.log.ticks.map(\.missed) == missed + [700] + missed + [100], "anew for the next burst")
    }

    @Test func insideAHandlerTheNextDeadlineIsThatOfTheNextTick() throws {
        let (facts, period) = (Notes<String>(), Duration.seconds(10))
        let schedules: [PreciseTimer.Schedule] = [
            .every(period), .every(period, for: period), .once(after: period), .fixedDelay(period),
        ]
        let timers = try schedules.map { schedule in
            try scene.handle(schedule) { timer, _ in
                facts.append("\(scene.time(timer.nextDeadline) ?? "-"), \(timer.period?.description ?? "-")")
            }
        }
        scene.advance(10_000)
        // For a fixed delay it depends on the return.
        #expect(facts.all == ["20000, 10.0 seconds", "-, -", "-, -", "-, 10.0 seconds"])
        withExtendedLifetime(timers) {}
    }

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
