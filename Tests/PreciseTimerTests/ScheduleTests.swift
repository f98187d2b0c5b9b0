import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// The deadlines of each schedule, and the refused schedules.
@Suite(.waits("every backend's clock goes on between two schedules")) struct ScheduleTests {
    private let scene = Scene()

    @Test func eachScheduleHasItsDeadlinesAndItsPeriod() throws {
        let period = Duration.milliseconds(100)
        let cases: [(schedule: PreciseTimer.Schedule, period: Duration?, ticks: String)] = [
            (.once(after: .milliseconds(5)), nil, "0@5"),
            (.once(after: .zero), nil, "0@0"),
            (.once(at: scene.at(7)), nil, "0@7"),
            (.every(period), period, "0@100, 1@200, 2@300"),
            (.every(period, after: .milliseconds(30)), period, "0@30, 1@130, 2@230"),
            (.every(period, after: .zero), period, "0@0, 1@100, 2@200, 3@300"),
            (.every(period, at: scene.at(40)), period, "0@40, 1@140, 2@240"),
            (.every(period, alignedTo: scene.at(340)), period, "0@40, 1@140, 2@240"),
            (.every(period, alignedTo: scene.at(-100)), period, "0@100, 1@200, 2@300"),
            (.rate(3, per: period * 4), period * 4 / 3, "0@133.333334, 1@266.666667"),
            (.rate(2, per: period * 3, at: scene.at(40)), .milliseconds(150), "0@40, 1@190"),
            (.rate(60, per: .seconds(10), at: scene.at(5)), .seconds(10) / 60, "0@5, 1@171.666667"),
            (.fixedDelay(period), period, "0@100, 1@200, 2@300"),
            (.fixedDelay(period, after: .zero), period, "0@0, 1@100, 2@200, 3@300"),
        ]
        for (schedule, period, ticks) in cases {
            let scene = Scene()
            let timer = try scene.timer(schedule)
            #expect(timer.period == period, "\(schedule)")
            let next = try #require(scene.time(timer.nextDeadline))
            #expect((ticks + ",").hasPrefix("0@\(next),"), "\(schedule)")
            scene.advance(300)
            #expect(scene.ticks == ticks, "\(schedule)")
            timer.cancel()
            #expect(timer.nextDeadline == nil && timer.period == nil, "\(schedule)")
        }
    }

    @Test func fractionsOfNanosecondsAreRoundedUp() throws {
        try scene.timer(.every(Duration(secondsComponent: 0, attosecondsComponent: 1)))
        scene.virtual.advance(by: .nanoseconds(2))
        #expect(scene.log.ticks.flaw(from: scene.at(0).advanced(by: .nanoseconds(1)), every: .nanoseconds(1)) == nil)
        #expect(scene.log.count == 2)
    }

    private static let refused: [(PreciseTimer.Schedule, String)] = {
        let (second, back) = (Duration.seconds(1), Duration.seconds(-1))
        let counts = "(the count must be at least 1)"
        let rates = "(the count and the duration must be more than zero)"
        let long = "(the duration is longer than 292 years: give fewer ticks in a shorter one)"
        let wall = TimerInstant(nanoseconds: 5, clock: .wall)
        let otherClock =
            "at an instant of the wall clock on a service of the suspending clock "
            + "(schedule a timer `on: .wall`, the shared service of the wall clock)"
        return [
            (.every(.zero), "every 0 s (a period must be longer than zero)"),
            (.every(.nanoseconds(-1)), "every -1 ns (a period must be longer than zero)"),
            (.every(.seconds(Int64.min)), "every -9223372036854775808 s (a period must be longer than zero)"),
            (.every(.zero, after: second), "every 0 s (a period must be longer than zero)"),
            (.every(.zero, at: TimerInstant(nanoseconds: 1)), "every 0 s (a period must be longer than zero)"),
            (.every(second, after: .nanoseconds(-1)), "after -1 ns (a delay must not be negative)"),
            (.once(after: .seconds(-5)), "after -5 s (a delay must not be negative)"),
            (.fixedDelay(.zero), "0 s after each return (the delay must be longer than zero)"),
            (.fixedDelay(.nanoseconds(-1)), "-1 ns after each return (the delay must be longer than zero)"),
            (.fixedDelay(second, after: .nanoseconds(-1)), "after -1 ns (a delay must not be negative)"),
            (.rate(0, per: second), "0 ticks per 1 s \(rates)"),
            (.rate(-1, per: second), "-1 ticks per 1 s \(rates)"),
            (.rate(1, per: .zero), "1 ticks per 0 s \(rates)"),
            (.rate(1, per: back), "1 ticks per -1 s \(rates)"),
            (.rate(3, per: .nanoseconds(2)), "3 ticks per 2 ns (there can be no more than one in a nanosecond)"),
            (.rate(2, per: .seconds(Int64.max)), "2 ticks per 9223372036854775807 s \(long)"),
            (.rate(.max, per: .seconds(Int64.max)), "\(Int.max) ticks per 9223372036854775807 s \(long)"),
            (.every(second, count: 0), "0 ticks \(counts)"),
            (.rate(1, per: second, count: -1), "-1 ticks \(counts)"),
            (.fixedDelay(second, count: .min), "\(Int.min) ticks \(counts)"),
            (.every(second, spread: back), "with a spread of -1 s (it must not be negative)"),
            (.every(second, jitter: back), "with a jitter of -1 s (it must be from zero to the period)"),
            (
                .every(second, jitter: .milliseconds(1_500)),
                "with a jitter of 1.5 s (it must be from zero to the period)"
            ),
            (.every(second * 3, for: second * 2), "for 2 s (that is over before the first deadline)"),
            (.every(second, after: .zero, for: back), "for -1 s (that is over before the first deadline)"),
            (.once(at: wall), otherClock), (.every(second, at: wall), otherClock),
            (.every(second, alignedTo: wall), otherClock),
        ]
    }()

    /// The same schedule is refused for a new timer and for a timer that has another schedule, which then goes on.
    @Test(arguments: refused)
    func aScheduleThatMakesNoSenseIsRefusedWithTheReason(schedule: PreciseTimer.Schedule, reason: String) throws {
        let timer = try scene.timer(.every(.milliseconds(10)))
        scene.advance(25)
        let errors = [
            #expect(throws: TimerError.self) { try scene.timer(schedule) },
            #expect(throws: TimerError.self) { try timer.reschedule(schedule) },
        ]
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
        let (site, log, forever) = (try ground.site(), Log(), Duration.seconds(Int64.max))
        let widths = [31, 32, 33, 36, 42].flatMap { bits in [-1, 0, 1].map { 1 << bits + $0 } }
        let long = widths.map { PreciseTimer.Schedule.once(after: .milliseconds($0)) }
        for schedule in long + [
            .once(after: forever), .every(forever), .every(.nanoseconds(Int64.max)),
            .every(.seconds(1), after: forever), .once(at: TimerInstant(nanoseconds: .max)),
            .once(at: TimerInstant(nanoseconds: .max - 1)), .once(at: TimerInstant(nanoseconds: UInt64(Int64.max))),
            .once(after: .seconds(9_000_000_000)),
        ] {
            let timer = try PreciseTimer.schedule(schedule, on: site.service, target: log) { $0.note($1) }
            site.pass(.milliseconds(5))
            #expect(timer.state == .scheduled && timer.cancel() && log.count == 0, "\(schedule)")
        }
    }
}

/// Durations too long to represent become never, instead of a few hundred years.
struct ForeverTests {
    private let scene = Scene()
    private static let forever = Duration.seconds(Int64.max)

    private func reachTheEndOfTime() {
        for _ in 0..<3 { scene.virtual.jump(by: Self.forever) }
        #expect(scene.virtual.now.isNever)
    }

    @Test func aBurstEndsWithTheLastRepresentableDeadline() throws {
        let schedule = PreciseTimer.Schedule.every(.nanoseconds(Int64.max - 1), after: .seconds(1))
        let timer = try scene.timer(schedule, missed: .catchUp(limit: 10))
        timer.pause(keeping: .grid)
        reachTheEndOfTime()
        timer.resume()
        scene.advance(0)
        #expect(scene.log.ticks.map(\.index) == [0, 1])
        #expect(timer.nextDeadline == nil)
    }

    @Test func theShortestPeriodReachesTheEndOfTime() throws {
        try scene.timer(.every(.nanoseconds(1), at: TimerInstant(nanoseconds: 0)))
        reachTheEndOfTime()
        #expect(scene.log.ticks.map(\.missed) == [Int.max])
    }

    @Test func aDeadlineOfNeverIsNotDueAtTheEndOfTime() throws {
        for policy in [PreciseTimer.MissedTickPolicy.skip, .catchUp(limit: 3), .delay] {
            try scene.timer(.every(.nanoseconds(Int64.max), after: .seconds(1)), missed: policy)
        }
        reachTheEndOfTime()
        let timer = try scene.timer(.every(.seconds(1)))
        scene.virtual.advance(by: .seconds(1))
        #expect(timer.nextDeadline == nil)
        #expect(scene.log.count >= 3)
    }

    @Test(
        arguments: [
            (PreciseTimer.Schedule.every(forever, after: .seconds(1)), 1),
            (.fixedDelay(forever, after: .seconds(1)), 1),
            (.every(.nanoseconds(Int64.max) + .nanoseconds(1), after: .seconds(1)), 1),
            // More seconds than 64 bits hold.
            (.every(forever * 18, after: .seconds(1)), 1), (.rate(1, per: forever), 0),
            (.every(.seconds(1), alignedTo: .never(on: .suspending)), 0),
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
    }

    @Test func anEndlessSpreadBecomesAnyInstantOrNever() throws {
        let timer = try scene.timer(.once(after: .seconds(1), spread: Self.forever))
        #expect(timer.nextDeadline.map { $0 > scene.virtual.now } ?? true)
    }
}

/// The facts that a handle and a service report about a timer.
struct StateTests {
    private let scene = Scene()

    @Test func insideAHandlerTheNextDeadlineIsThatOfTheNextTick() throws {
        let (next, delay) = (Notes<TimerInstant?>(), Duration.seconds(10))
        let timers = try [PreciseTimer.Schedule.every(delay), .once(after: delay), .fixedDelay(delay)]
            .map { try scene.handle($0) { timer, _ in next.append(timer.nextDeadline) } }
        scene.advance(10_000)
        #expect(next.all == [scene.at(20_000), nil, nil], "for a fixed delay it depends on the return")
        withExtendedLifetime(timers) {}
    }

    /// As for the main actor in a program whose main thread does not serve it.
    @Test func aTickThatDoesNotArriveIsInTheSnapshotWithItsDeadline() async throws {
        let (service, stuck, log) = (scene.virtual.service, SuspendedQueue(), Log())
        let timer = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: service,
            deliver: .queue(stuck.queue),
            target: log
        ) { $0.note($1) }
        let waitingSince = { service.activeTimers.map { scene.time($0.waitingSince) } }
        #expect(waitingSince() == [nil])
        scene.virtual.advanceWithoutSettling(by: .seconds(10))
        #expect(waitingSince() == ["1000"])
        #expect("\(service)".contains("0 ticks, waiting since \(scene.at(1_000))"))
        timer.pause()
        #expect(waitingSince() == [nil], "no tick is due")
        timer.resume()
        stuck.letRun()
        #expect(await soon { log.count > 0 && waitingSince() == [nil] })
    }

    @Test func activeTimersAreThoseThatHaveNotEnded() throws {
        let (service, period) = (scene.virtual.service, PreciseTimer.Schedule.every(.seconds(1)))
        let orphan = try PreciseTimer.schedule(period, on: service, label: "orphan", paused: true, target: Thing()) {
            _,
            _ in
        }
        try scene.timer(period).cancel()
        try scene.timer(.once(after: .seconds(1)), label: "once")
        let active = service.activeTimers.sorted { $0.label ?? "" < $1.label ?? "" }
        #expect(active.map(\.label) == ["once", "orphan"])
        #expect(active.map(\.isTargetAlive) == [true, false])
        #expect(orphan.state == .ended(.targetReleased), "the service has not found it yet")
        scene.advance(1_000)
        #expect(service.activeTimers == [])
    }
}

/// A timer on demand ticks after a reschedule and rests otherwise; on virtual time.
struct OnDemandTests {
    private let scene = Scene()

    @Test func aRestingTimerIsScheduledAndHasNoDeadline() throws {
        let timer = try scene.timer(.onDemand, paused: true)
        #expect(timer.state == .paused && timer.resume())
        scene.advance(86_400_000)
        #expect(timer.state == .scheduled && scene.virtual.pendingCount == 1)
        #expect([timer.nextDeadline, scene.virtual.nextDeadline] == [nil, nil] && timer.period == nil)
        #expect(scene.ticks == "")
    }

    private static let once = PreciseTimer.Schedule.once(after: .milliseconds(10))

    @Test(
        arguments: [
            (
                "a deadline is discarded", .onDemand,
                [
                    .reschedule(once), .advance(9), .reschedule(.onDemand), .advance(991), .reschedule(once),
                    .advance(10),
                ],
                "0@1010"
            ),
            (
                "a period ends", .every(.milliseconds(10)),
                [
                    .advance(10), .reschedule(.onDemand), .advance(990), .reschedule(once), .advance(20), .fire,
                    .advance(0),
                ],
                "0@10, 0@1010, extra 1@1020"
            ),
            (
                "a single deadline is no end", once,
                [
                    .advance(9), .reschedule(.onDemand), .advance(991), .reschedule(once), .advance(20), .fire,
                    .advance(0),
                ],
                "0@1010, extra 1@1020"
            ),
            (
                "firing gives one tick", .onDemand,
                [.advance(10), .fire, .fire, .advance(10), .fire, .advance(0)], "extra 0@10, extra 0@20"
            ),
            (
                "firing leaves a deadline alone", .onDemand,
                [.reschedule(once), .advance(4), .fire, .advance(16), .fire, .advance(0)],
                "extra 0@4, 0@10, extra 1@20"
            ),
            (
                "it can be paused", .onDemand,
                [.pause, .reschedule(once), .advance(25), .reschedule(once), .advance(25), .fire, .advance(5), .resume]
                    + [.advance(9), .fire, .advance(0)],
                "0@35 late 20, extra 1@50 late 5, extra 1@64"
            ),
        ] as [Play]
    )
    func aTimerRestsUntilItIsRescheduledOrFired(play: Play) throws { try expectTicks(of: play) }
}

/// A timer on demand keeps its promises on every backend and on virtual time.
@Suite(.waits("every backend fires by its own clock"), .timeLimit(.minutes(60))) struct OnDemandPromiseTests {
    private let log = Log()

    @Test(arguments: Ground.all)
    func aRescheduleByAnotherThreadWhileTheHandlerRunsTakesEffect(ground: Ground) throws {
        let site = try ground.site()
        let (entered, isSet) = (Gate(), Gate())
        let timer = try PreciseTimer.schedule(.onDemand, on: site.service, target: log) { log, tick in
            log.note(tick)
            if log.count > 1 { return }
            entered.open()
            isSet.pass()
        }
        try timer.reschedule(.once(after: .milliseconds(1)))
        // On virtual time, handlers run on the thread that moves the time.
        try onThreads(2) { thread in
            if thread == 0 { return site.pass(.milliseconds(5)) }
            entered.pass()
            #expect(throws: Never.self) { try timer.reschedule(.once(after: .milliseconds(1))) }
            isSet.open()
        }
        #expect(site.until { log.count == 2 })
        site.pass(.milliseconds(5))
        #expect(log.ticks.map(\.index) == [0, 0] && log.ticks.allSatisfy { $0.flawInTime == nil })
        #expect(timer.state == .scheduled && timer.nextDeadline == nil)
    }

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
