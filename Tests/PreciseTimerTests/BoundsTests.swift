import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Schedules with a count of ticks. `ModelTests` has them, too, beside everything else.
struct CountTests {
    @Test(.waits("a kernel's timer that repeats must stop"), arguments: Ground.all)
    func aTimerEndsAfterItsLastTick(ground: Ground) throws {
        let (site, log, period) = (try ground.site(), Log(), Duration.milliseconds(2))
        for schedule in [
            PreciseTimer.Schedule.every(period, count: 5), .rate(500, per: .seconds(1), count: 5),
        ] {
            let before = log.count
            let timer = try PreciseTimer.schedule(schedule, on: site.service, target: log) { $0.note($1) }
            #expect(site.until { timer.state == .ended(.completed) })
            site.pass(.milliseconds(10))
            #expect(log.count == before + 5 && timer.nextDeadline == nil, "\(schedule)")
        }
    }
}

/// Schedules with a jitter, and schedules with an end in time.
struct BoundsTests {
    private let scene = Scene(seed: 7)
    private static let jittered = PreciseTimer.Schedule.every(.seconds(1), jitter: .milliseconds(400))

    /// How much later than its step each deadline is, for a period of a second.
    private var offsets: [Duration] {
        scene.log.ticks.map { scene.at(1_000 * ($0.index + 1)).duration(to: $0.deadline) }
    }

    /// The bound itself is a deadline.
    @Test(arguments: [
        (PreciseTimer.Schedule.every(.seconds(3), for: .seconds(10)), "0@3000, 1@6000, 2@9000"),
        (.every(.seconds(5), for: .seconds(10)), "0@5000, 1@10000"),
        (.every(.seconds(3), for: .seconds(3)), "0@3000"),
        (.every(.seconds(3), after: .zero, for: .zero), "0@0"),
        (.every(.seconds(3), jitter: .zero, for: .seconds(6)), "0@3000, 1@6000"),
    ])
    func aBoundInTimeEndsTheTimer(schedule: PreciseTimer.Schedule, ticks: String) throws {
        let periods = Notes<Duration?>()
        let timer = try scene.handle(schedule) { timer, _ in periods.append(timer.period) }
        scene.advance(60_000)
        #expect(scene.ticks == ticks && timer.state == .ended(.completed))
        #expect(periods.all.last == .some(nil), "it has no period in its last handler")
    }

    @Test(arguments: [
        (PreciseTimer.MissedTickPolicy.skip, [0, 0, 5]), (.delay, [0, 0, 5]),
        (.catchUp(limit: 3), [0, 0, 0, 0, 3]),
    ])
    func theTicksAfterAStallStandForTheRestUpToTheBound(
        policy: PreciseTimer.MissedTickPolicy,
        missed: [Int]
    ) throws {
        let timer = try scene.timer(.every(.seconds(1), for: .seconds(8)), missed: policy)
        scene.advance(2_000)
        scene.jump(600_000)
        #expect(scene.log.ticks.map(\.missed) == missed)
        #expect(timer.state == .ended(.completed))
    }

    @Test func eachTickHasItsOwnJitterAndTheGridStays() throws {
        let (other, again) = (Scene(seed: 8), Scene(seed: 7))
        for scene in [scene, other, again] {
            try scene.timer(Self.jittered)
            scene.advance(100_000)
        }
        let offsets = offsets
        let allAreWithin = offsets.allSatisfy { (.zero ... .milliseconds(400)).contains($0) }
        #expect(allAreWithin && Set(offsets).count > 90)
        #expect(scene.log.ticks.map(\.lateness) == offsets.map { _ in .zero })
        #expect(scene.ticks == again.ticks && scene.ticks != other.ticks, "a seed determines them")
    }

    @Test func noJitterReachesBeyondTheEndInTime() throws {
        for _ in 0..<50 { try scene.timer(.every(.seconds(1), jitter: .seconds(1), for: .seconds(3))) }
        scene.advance(60_000)
        let deadlines = scene.log.ticks.map(\.deadline)
        #expect(deadlines.count == 150 && Set(deadlines).count > 90, "they have their jitter")
        #expect(deadlines.max().map { $0 <= scene.at(3_000) } == true)
    }

    /// A jitter of a whole period, and stalls: every deadline is counted once, and no tick is early.
    @Test func noDeadlineIsLostToALongJitter() throws {
        let timer = try scene.timer(.every(.seconds(1), jitter: .seconds(1), for: .seconds(1_000)))
        for step in 1...300 { if step % 7 == 0 { scene.jump(5_300) } else { scene.advance(3_700) } }
        #expect(timer.state == .ended(.completed))
        let ticks = scene.log.ticks
        #expect(ticks.accounted == 1_000)
        let isInOrder = zip(ticks, ticks.dropFirst()).allSatisfy { $0.deadline < $1.deadline }
        let standsForFuture = ticks.contains {
            $0.deadline.advanced(by: .seconds($0.missed)) > $0.delivered
        }
        let isEarly = offsets.contains { $0 < .zero }
        #expect(
            [isInOrder, standsForFuture, isEarly] == [true, false, false],
            "a tick stands for what has passed"
        )
    }
}

/// Random phases.
struct SpreadTests {
    private static let spread = PreciseTimer.Schedule.every(
        .seconds(600),
        after: .seconds(5),
        spread: .seconds(30)
    )

    private func phases(seed: UInt64) throws -> [Duration] {
        let scene = Scene(seed: seed)
        for _ in 0..<100 { try scene.timer(Self.spread) }
        scene.advance(40_000)
        return scene.log.ticks.map { scene.at(0).duration(to: $0.deadline) }
    }

    @Test func eachTimerHasItsOwnPhaseWithinTheSpread() throws {
        let phases = try phases(seed: 1)
        let (early, late) = (try #require(phases.min()), try #require(phases.max()))
        #expect(early >= .seconds(5) && late <= .seconds(35))
        #expect(late - early > .seconds(20), "the phases fill the spread")
        #expect([phases.count, Set(phases).count] == [100, 100])
        let (again, other) = (try self.phases(seed: 1), try self.phases(seed: 2))
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
