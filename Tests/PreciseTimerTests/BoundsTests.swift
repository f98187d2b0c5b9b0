import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Schedules with a count of ticks. `ModelTests` has them, too, beside everything else.
struct CountTests {
    private let scene = Scene()

    @Test(.waits("a kernel's timer that repeats must stop"), arguments: Ground.all)
    func aTimerEndsAfterItsLastTick(ground: Ground) throws {
        let (site, log, endings) = (try ground.site(), Log(), Notes<PreciseTimer.EndReason>())
        let period = Duration.milliseconds(2)
        for schedule in [
            PreciseTimer.Schedule.every(period, count: 5), .every(period, at: site.service.now, count: 5),
            .every(period, alignedTo: .origin(on: .suspending), count: 5), .rate(500, per: .seconds(1), count: 5),
            .fixedDelay(period, count: 5),
        ] {
            let before = log.count
            let timer = try PreciseTimer.schedule(schedule, on: site.service, target: log, onEnd: endings.append) {
                $0.note($1)
            }
            #expect(site.until { timer.state == .ended(.completed) })
            site.pass(.milliseconds(10))
            #expect(log.count == before + 5 && timer.nextDeadline == nil, "\(schedule)")
        }
        #expect(endings.all == Array(repeating: .completed, count: 5))
    }

    /// A late tick counts once, however many deadlines it missed.
    @Test(arguments: [
        (PreciseTimer.MissedTickPolicy.skip, "0@1000 late 9000 missed 9, 10@11000, 11@12000"),
        (.catchUp(limit: 5), "0@1000 late 9000, 1@2000 late 8000, 2@3000 late 7000"),
        (.delay, "0@1000 late 9000 missed 9, 10@11000, 11@12000"),
    ])
    func lateTicksAreCountedOneByOne(policy: PreciseTimer.MissedTickPolicy, ticks: String) throws {
        try scene.timer(.every(.seconds(1), count: 3), missed: policy)
        scene.jump(10_000)
        scene.advance(10_000)
        #expect(scene.ticks == ticks)
        #expect(scene.virtual.pendingCount == 0)
    }
}

/// Schedules with a jitter, and schedules with an end in time.
struct BoundsTests {
    private let scene = Scene(seed: 7)

    /// How much later than its step each deadline is, for a period of a second that began at a time.
    private func offsets(from start: Int = 0) -> [Duration] {
        scene.log.ticks.map { scene.at(start + 1_000 * ($0.index + 1)).duration(to: $0.deadline) }
    }

    /// The bound itself is a deadline.
    @Test(arguments: [
        (PreciseTimer.Schedule.every(.seconds(3), for: .seconds(10)), "0@3000, 1@6000, 2@9000"),
        (.every(.seconds(5), for: .seconds(10)), "0@5000, 1@10000"), (.every(.seconds(3), for: .seconds(3)), "0@3000"),
        (.every(.seconds(3), after: .zero, for: .zero), "0@0"),
        (.every(.seconds(3), jitter: .zero, for: .seconds(6)), "0@3000, 1@6000"),
    ])
    func aBoundInTimeEndsTheTimer(schedule: PreciseTimer.Schedule, ticks: String) throws {
        let timer = try scene.timer(schedule)
        scene.advance(60_000)
        #expect(scene.ticks == ticks)
        #expect(timer.state == .ended(.completed) && timer.period == nil)
    }

    @Test(arguments: [
        (PreciseTimer.MissedTickPolicy.skip, [0, 0, 5]), (.delay, [0, 0, 5]), (.catchUp(limit: 3), [0, 0, 0, 0, 3]),
    ])
    func theTicksAfterAStallStandForTheRestUpToTheBound(policy: PreciseTimer.MissedTickPolicy, missed: [Int]) throws {
        let timer = try scene.timer(.every(.seconds(1), for: .seconds(8)), missed: policy)
        scene.advance(2_000)
        scene.jump(600_000)
        #expect(scene.log.ticks.map(\.missed) == missed)
        #expect(timer.state == .ended(.completed))
    }

    @Test func eachTickHasItsOwnJitterAndTheGridStays() throws {
        try scene.timer(.every(.seconds(1), jitter: .milliseconds(400)))
        scene.advance(100_000)
        let offsets = offsets()
        let allAreWithin = offsets.allSatisfy { (.zero ... .milliseconds(400)).contains($0) }
        #expect(allAreWithin && Set(offsets).count > 90)
        #expect(scene.log.ticks.map(\.lateness) == offsets.map { _ in .zero })
    }

    @Test func theSeedAndTheTimerDetermineTheJitter() throws {
        let all = try [7, 7, 8]
            .map { (seed: UInt64) in
                let scene = Scene(seed: seed)
                let logs = [Log(), Log()]
                for log in logs {
                    let jittered = PreciseTimer.Schedule.every(.seconds(1), jitter: .milliseconds(400))
                    try PreciseTimer.schedule(jittered, on: scene.virtual.service, target: log) { $0.note($1) }
                }
                scene.advance(20_000)
                return logs.map(\.ticks)
            }
        #expect(all[0] == all[1] && all[0][0] != all[0][1] && all[0] != all[2])
    }

    @Test func noJitterReachesBeyondTheEndInTime() throws {
        for _ in 0..<50 { try scene.timer(.every(.seconds(1), jitter: .seconds(1), for: .seconds(3))) }
        scene.advance(60_000)
        let deadlines = scene.log.ticks.map(\.deadline)
        #expect(deadlines.count == 150 && Set(deadlines).count > 90, "they have their jitter")
        #expect(deadlines.max().map { $0 <= scene.at(3_000) } == true)
    }

    @Test func aTimerHasNoPeriodInItsLastHandler() throws {
        let periods = Notes<Duration?>()
        let timers = try [PreciseTimer.Schedule.every(.seconds(1), for: .seconds(2)), .every(.seconds(60))]
            .map { try scene.handle($0) { timer, _ in periods.append(timer.period) } }
        scene.advance(5_000)
        #expect(periods.all == [.seconds(1), nil])
        let finishing = Task.immediate { try await timers[1].finish() }
        scene.advance(0)
        #expect(periods.all == [.seconds(1), nil, nil])
        finishing.cancel()
    }

    @Test func aRestartDrawsAnotherJitter() throws {
        let timer = try scene.timer(.every(.seconds(1), jitter: .milliseconds(400), for: .seconds(30)))
        scene.advance(20_500)
        #expect(timer.restart())
        scene.advance(60_000)
        #expect(scene.log.count == 50, "the restarted schedule has its whole time")
        #expect(offsets().prefix(20) != offsets(from: 20_500).dropFirst(20).prefix(20))
        #expect(timer.state == .ended(.completed))
    }

    /// A jitter of a whole period, and stalls: every deadline is counted once, and no tick is early.
    @Test func noDeadlineIsLostToALongJitter() throws {
        let timer = try scene.timer(.every(.seconds(1), jitter: .seconds(1), for: .seconds(1_000)))
        for step in 1...300 { if step % 7 == 0 { scene.jump(5_300) } else { scene.advance(3_700) } }
        #expect(timer.state == .ended(.completed))
        let ticks = scene.log.ticks
        #expect(ticks.accounted == 1_000)
        let isInOrder = zip(ticks, ticks.dropFirst()).allSatisfy { $0.deadline < $1.deadline }
        let standsForFuture = ticks.contains { $0.deadline.advanced(by: .seconds($0.missed)) > $0.delivered }
        let isEarly = offsets().contains { $0 < .zero }
        #expect([isInOrder, standsForFuture, isEarly] == [true, false, false], "a tick stands for what has passed")
    }
}

/// Random phases.
struct SpreadTests {
    private func phases(seed: UInt64, _ schedule: PreciseTimer.Schedule) throws -> [Duration] {
        let scene = Scene(seed: seed)
        for _ in 0..<100 { try scene.timer(schedule) }
        scene.advance(1_000_000)
        return scene.log.ticks.filter { $0.index == 0 }.map { scene.at(0).duration(to: $0.deadline) }
    }

    @Test(arguments: [
        (PreciseTimer.Schedule.every(.seconds(600), spread: .seconds(30)), 600),
        (.every(.seconds(600), after: .seconds(5), spread: .seconds(30)), 5),
        (.every(.seconds(600), at: Scene().at(7_000), spread: .seconds(30)), 7),
        (.once(after: .seconds(8), spread: .seconds(30)), 8), (.rate(1, per: .seconds(600), spread: .seconds(30)), 600),
        (.fixedDelay(.seconds(600), spread: .seconds(30)), 600),
    ])
    func eachTimerHasItsOwnPhaseWithinTheSpread(schedule: PreciseTimer.Schedule, first: Int) throws {
        let phases = try phases(seed: 1, schedule)
        let (early, late) = (try #require(phases.min()), try #require(phases.max()))
        #expect(early >= .seconds(first) && late <= .seconds(first + 30))
        #expect(late - early > .seconds(20), "the phases fill the spread")
        #expect([phases.count, Set(phases).count] == [100, 100])
        let (again, other) = (try self.phases(seed: 1, schedule), try self.phases(seed: 2, schedule))
        #expect(phases == again && phases != other, "a seed determines them")
    }

    @Test func theGridKeepsThePhaseAndARescheduleDrawsAnother() throws {
        let scene = Scene(seed: 3)
        let timer = try scene.timer(.every(.seconds(1), spread: .seconds(1)))
        let first = try #require(timer.nextDeadline)
        scene.advance(100_000)
        #expect(scene.log.ticks.flaw(from: first, every: .seconds(1)) == nil)
        try timer.reschedule(.every(.seconds(1), spread: .seconds(1)))
        #expect(first.duration(to: try #require(timer.nextDeadline)).components.attoseconds != 0)
    }

    /// The alarms' clocks stand at the same instant. Two of some 2^42 phases are hardly ever equal.
    @Test func twoServicesDrawDifferentPhases() throws {
        let timers = try (0..<2)
            .map { _ in
                let service = try TimerService(alarm: ManualAlarm())
                return try PreciseTimer.schedule(.once(after: .zero, spread: .seconds(3_600)), on: service) {}
            }
        #expect(timers[0].nextDeadline != timers[1].nextDeadline)
    }
}
