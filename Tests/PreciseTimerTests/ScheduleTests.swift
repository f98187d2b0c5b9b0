import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

private let second = Duration.seconds(1)
private let forever = Duration.seconds(Int64.max)

/// The schedules that are refused, and those so long that they never tick.
@Suite(.waits("every backend's clock goes on between two schedules")) struct ScheduleTests {
    private let scene = Scene()

    private static let refused: [(PreciseTimer.Schedule, String)] = {
        let back = Duration(attoseconds: -1)
        let rates = "(the count and the duration must be more than zero)"
        let wall = TimerInstant(nanoseconds: 5, clock: .wall)
        let otherClock =
            "at an instant of the wall clock on a service of the suspending clock "
            + "(schedule a timer `on: .wall`, the shared service of the wall clock)"
        return [
            (.every(.zero, after: second), "every 0 s (a period must be longer than zero)"),
            (.once(after: back), "after -0.000000001 ns (a delay must not be negative)"),
            (.fixedDelay(.zero), "0 s after each return (the delay must be longer than zero)"),
            (.rate(0, per: second), "0 ticks per 1 s \(rates)"), (.rate(1, per: .zero), "1 ticks per 0 s \(rates)"),
            (.rate(1, per: back), "1 ticks per -0.000000001 ns \(rates)"),
            (.rate(3, per: .nanoseconds(2)), "3 ticks per 2 ns (there can be no more than one in a nanosecond)"),
            (
                .rate(2, per: forever),
                "2 ticks per 9223372036854775807 s (the duration is longer than 292 years: give fewer ticks in a "
                    + "shorter one)"
            ),
            (.every(second, count: 0), "0 ticks (the count must be at least 1)"),
            (.every(second, spread: back), "with a spread of -0.000000001 ns (it must not be negative)"),
            (.every(second, jitter: back), "with a jitter of -0.000000001 ns (it must be from zero to the period)"),
            (.every(second, jitter: second * 2), "with a jitter of 2 s (it must be from zero to the period)"),
            (.every(second * 3, for: second * 2), "for 2 s (that is over before the first deadline)"),
            (.every(second, after: .zero, for: back), "for -0.000000001 ns (that is over before the first deadline)"),
            (.once(at: wall), otherClock), (.every(second, alignedTo: wall), otherClock),
        ]
    }()

    /// The same schedule is refused for a new timer and for a timer that has another schedule, which then goes on.
    @Test(arguments: refused)
    func aScheduleThatMakesNoSenseIsRefusedWithTheReason(schedule: PreciseTimer.Schedule, reason: String) throws {
        let timer = try scene.timer(.every(.milliseconds(10)))
        scene.advance(25)
        let errors = [refusal { try scene.timer(schedule) }, refusal { try timer.reschedule(schedule) }]
        #expect(errors.map(\.?.code) == [.invalidSchedule, .invalidSchedule])
        let text = "scheduling \(reason): invalid schedule"
        #expect(errors.map(\.?.description) == [text, text])
        #expect(timer.period == .milliseconds(10) && scene.virtual.pendingCount == 1)
        scene.advance(15)
        #expect(scene.ticks == "0@10, 1@20, 2@30, 3@40")
    }

    /// An alarm is set for each. Node-cron PR #40: a delay of 2^31 ms wraps around, and the timer fires at once and
    /// without end.
    @Test(arguments: Ground.all) func durationsTooLargeBecomeNeverOnEveryBackend(ground: Ground) throws {
        let (site, log) = (try ground.site(), Log())
        let widths = [31, 32, 33, 36, 42].flatMap { bits in [-1, 0, 1].map { 1 << bits + $0 } }
        let long = widths.map { PreciseTimer.Schedule.once(after: .milliseconds($0)) }
        for schedule in long + [
            .every(forever), .every(.nanoseconds(Int64.max)), .every(second, after: forever),
            .once(at: TimerInstant(nanoseconds: .max)), .once(at: TimerInstant(nanoseconds: .max - 1)),
            .once(at: TimerInstant(nanoseconds: UInt64(Int64.max))), .once(after: .seconds(9_000_000_000)),
        ] {
            let timer = try PreciseTimer.schedule(
                schedule,
                on: site.service,
                tolerance: forever,
                missedTicks: .catchUp(limit: .max),
                target: log
            ) { $0.note($1) }
            site.pass(.milliseconds(5))
            #expect(timer.state == .scheduled && timer.cancel() && log.count == 0, "\(schedule)")
        }
    }
}

/// Durations too long to represent become never, instead of a few hundred years.
struct ForeverTests {
    private let scene = Scene()

    @Test(arguments: [
        (PreciseTimer.Schedule.every(.nanoseconds(1), at: TimerInstant(nanoseconds: 0)), [Int.max]),
        (.every(.nanoseconds(Int64.max - 1), after: second), [0, 0]), (.once(at: .never(on: .suspending)), []),
    ])
    func aBurstEndsWithTheLastRepresentableDeadline(schedule: PreciseTimer.Schedule, missed: [Int]) throws {
        let policy = missed.count == 2 ? PreciseTimer.MissedTickPolicy.catchUp(limit: 10) : .skip
        let timer = try scene.timer(schedule, missed: policy)
        for _ in 0..<3 { scene.virtual.jump(by: forever / 3) }
        for _ in 0..<3 { scene.virtual.jump(by: forever) }
        #expect(scene.virtual.now.isNever && scene.log.ticks.map(\.missed) == missed && timer.nextDeadline == nil)
    }

    @Test(
        arguments: [
            (PreciseTimer.Schedule.every(forever, after: second), 1), (.fixedDelay(forever, after: second), 1),
            (.every(.nanoseconds(Int64.max) + .nanoseconds(1), after: second), 1),
            // More seconds than 64 bits hold.
            (.every(forever * 18, after: second), 1), (.rate(1, per: forever), 0),
            (.every(second, alignedTo: .never(on: .suspending)), 0),
        ]
    )
    func whatIsTooLongToRepresentNeverTicks(schedule: PreciseTimer.Schedule, ticks: Int) throws {
        let timer = try scene.timer(schedule)
        scene.advance(1_000)
        if ticks > 0 { #expect(timer.restart(), "it waits for as long again") }
        // 400 years: more nanoseconds than a signed 64-bit number holds.
        for _ in 0..<2 { scene.virtual.jump(by: .seconds(200 * 365 * 86_400)) }
        #expect(scene.log.count == ticks)
        let known = try #require(scene.virtual.service.activeTimers.first)
        #expect([timer.nextDeadline, known.nextDeadline, scene.virtual.nextDeadline] == [nil, nil, nil])
        #expect(timer.state == .scheduled)
        try scene.timer(.once(after: .milliseconds(3)))
        #expect(scene.virtual.nextDeadline == scene.virtual.now.advanced(by: .milliseconds(3)), "as exact as before")
    }
}

/// Spread and jitter. `TimingTests` has their ranges.
struct ChanceTests {
    private static let jittered = PreciseTimer.Schedule.every(second, count: 10, jitter: .milliseconds(400))
    private static let spread = PreciseTimer.Schedule.once(after: .zero, spread: .seconds(3_600))

    @Test(arguments: [jittered, spread]) func aSeedDeterminesTheDeadlines(schedule: PreciseTimer.Schedule) throws {
        let ticks = try [UInt64(7), 8, 7]
            .map { seed in
                let scene = Scene(seed: seed)
                for _ in 1...2 { try scene.timer(schedule) }
                scene.advance(3_600_000)
                #expect(Set(scene.log.ticks.map(\.deadline)).count == scene.log.count, "each timer has its own")
                return scene.ticks
            }
        #expect(ticks[0] == ticks[2] && ticks[0] != ticks[1])
    }

    /// The alarms' clocks stand at the same instant. Two of some 2^42 phases are hardly ever equal.
    @Test func twoServicesDrawDifferentPhases() throws {
        let timers = try (0..<2)
            .map { _ in try PreciseTimer.schedule(Self.spread, on: TimerService(alarm: ManualAlarm())) {} }
        #expect(timers[0].nextDeadline != timers[1].nextDeadline)
    }

    /// A jitter of a whole period, and stalls: every deadline is counted once, and no tick is early, or after the end.
    @Test func noDeadlineIsLostToALongJitter() throws {
        let scene = Scene(seed: 7)
        let timer = try scene.timer(.every(second, jitter: second, for: second * 1_000))
        for step in 1...300 { if step % 7 == 0 { scene.jump(5_300) } else { scene.advance(3_700) } }
        #expect(timer.state == .ended(.completed))
        let ticks = scene.log.ticks
        #expect(ticks.accounted == 1_000)
        let isInOrder = zip(ticks, ticks.dropFirst()).allSatisfy { $0.deadline < $1.deadline }
        let standsForFuture = ticks.contains { $0.latestDeadline > $0.woke }
        let isEarly = ticks.contains { $0.deadline < scene.at(1_000 * ($0.index + 1)) }
        #expect([isInOrder, standsForFuture, isEarly] == [true, false, false], "a tick stands for what has passed")
        #expect(ticks.last.map { $0.latestDeadline <= scene.at(1_000_000) } == true)
    }
}

/// A timer on demand keeps its promises on every backend and on virtual time.
@Suite(.waits("every backend fires by its own clock"), .timeLimit(.minutes(60))) struct OnDemandTests {
    private let log = Log()

    @Test(arguments: Ground.all)
    func theLastOfManyReschedulesIsServedAndNoDeadlineTwice(ground: Ground) throws {
        let (site, delay) = (try ground.site(), Duration.microseconds(100))
        let timer = try PreciseTimer.schedule(.onDemand, on: site.service, target: log) { $0.note($1) }
        var last = site.service.now
        for round in 0..<500 {
            last = site.service.now
            try timer.reschedule(.once(after: delay))
            // Before, at or after the deadline, so that the next reschedule meets the tick at each place on its way.
            if round % 3 > 0 { site.pass(.microseconds(round % 29 * 10)) }
        }
        #expect(site.until { log.ticks.last.map { $0.deadline >= last.advanced(by: delay) } ?? false })
        site.pass(.milliseconds(2))
        #expect(zip(log.ticks, log.ticks.dropFirst()).allSatisfy { $0.deadline < $1.deadline }, "no tick comes twice")
        #expect(log.ticks.allSatisfy { $0.index == 0 && $0.missed == 0 && $0.flawInTime == nil })
        #expect(timer.state == .scheduled && timer.nextDeadline == nil && log.count <= 500)
    }
}
