import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// A rescheduled timer starts again. (`ScheduleTests` has the refused schedules, which change nothing.)
struct RescheduleTests {
    private let scene = Scene()

    private static let formers: [PreciseTimer.Schedule] = [
        .rate(3, per: .seconds(1)), .every(.seconds(1), count: 5),
        .every(.seconds(1), for: .seconds(5)),
        .every(.seconds(1), jitter: .milliseconds(900)),
        .every(.seconds(1), after: .zero, spread: .milliseconds(500)),
        .fixedDelay(.seconds(1)), .once(after: .seconds(5)), .onDemand,
    ]
    /// Schedules, and for those that keep the phase, the ones that begin with the former deadline.
    private static let others: [(PreciseTimer.Schedule, (@Sendable (TimerInstant) -> PreciseTimer.Schedule)?)] = [
        (.every(.seconds(1)), nil), (.rate(3, per: .seconds(1)), nil),
        (.fixedDelay(.seconds(1)), nil),
        (.every(.seconds(1), after: .zero, for: .seconds(3)), nil), (.once(after: .seconds(1)), nil),
        (.onDemand, nil),
        (.every(.milliseconds(700)), { .every(.milliseconds(700), at: $0) }),
        (.every(.milliseconds(700), count: 3), { .every(.milliseconds(700), at: $0, count: 3) }),
        (.rate(3, per: .seconds(2)), { .rate(3, per: .seconds(2), at: $0) }),
    ]

    /// The timer then does what a new timer of its schedule does, also if it is restarted.
    @Test(arguments: formers, [false, true])
    func nothingOfTheFormerScheduleRemains(former: PreciseTimer.Schedule, isPaused: Bool) throws {
        for (schedule, inPhase) in Self.others {
            for restarts in [false, true] {
                let (scene, other) = (Scene(seed: 5), Scene())
                let timer = try scene.timer(former)
                scene.advance(1_950)
                if isPaused { timer.pause() }
                scene.advance(30)
                other.advance(1_980)
                let (count, deadline) = (scene.log.count, timer.remaining.map(scene.virtual.now.advanced))
                if inPhase == nil {
                    timer.fire()
                    try timer.reschedule(schedule)
                } else {
                    try timer.reschedule(schedule, keeping: .phase)
                }
                let fresh = try other.timer(deadline.flatMap { inPhase?($0) } ?? schedule, paused: isPaused)
                if restarts { #expect(timer.restart() == fresh.restart()) }
                for (scene, timer) in [(scene, timer), (other, fresh)] {
                    scene.advance(200)
                    if isPaused { timer.resume() }
                    scene.advance(2_000)
                    scene.jump(3_050)
                    scene.advance(2_000)
                }
                // A deadline that keeps its place keeps its number.
                let number = inPhase == nil || deadline == nil || restarts ? 0 : count
                let ticks = scene.ticks(from: count, numberedFrom: number)
                #expect(ticks == other.ticks, "\(schedule), \(restarts ? "restarted" : "kept")")
                #expect(timer.nextDeadline == fresh.nextDeadline && timer.period == fresh.period)
            }
        }
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

    /// A firing for nothing costs less than a system call for each byte that postpones a time-out.
    @Test func restingAndPostponingDoNotSetTheAlarmWhichThenFindsNoDueTimer() throws {
        let (alarm, log) = (ManualAlarm(), Log())
        let service = try TimerService(alarm: alarm)
        let timer = try PreciseTimer.schedule(.onDemand, on: service, target: log) { $0.note($1) }
        #expect(alarm.settings == [])
        let first = alarm.now.advanced(by: .seconds(1) + .microseconds(100))
        for _ in 0..<1_000 {
            alarm.move(by: .microseconds(100))
            try timer.reschedule(.once(after: .seconds(1)))
        }
        alarm.move(by: .milliseconds(950))
        alarm.fire()
        #expect(alarm.settings == [first, timer.nextDeadline] && log.count == 0)
        try timer.reschedule(.once(after: .zero))
        #expect(alarm.settings.dropFirst(2) == [alarm.now], "an earlier deadline sets the alarm")
        try timer.reschedule(.onDemand)
        alarm.move(by: .seconds(2))
        alarm.fire()
        #expect(alarm.settings.count == 3 && log.count == 0)
    }
}

private let hundred = PreciseTimer.Schedule.every(.milliseconds(100))
private let ten = PreciseTimer.Schedule.every(.milliseconds(10))
private let twenty = PreciseTimer.Schedule.every(.milliseconds(20))

/// A change of the period that keeps the phase: the next deadline stays where it is, unless a new step from now ends
/// before it, and keeps its number.
struct PhaseTests {
    private let scene = Scene()

    @Test func theNextDeadlineStaysAndTheNewStepsCountFromIt() throws {
        let timer = try scene.timer(hundred)
        scene.advance(280)
        timer.fire()
        try timer.reschedule(.every(.milliseconds(30)), keeping: .phase)
        #expect(timer.period == .milliseconds(30))
        scene.advance(0)
        #expect(timer.remaining == .milliseconds(20))
        scene.advance(80)
        #expect(
            scene.ticks == "0@100, 1@200, extra 2@280, 2@300, 3@330, 4@360",
            "a requested tick stays"
        )
        try timer.reschedule(.rate(3, per: .milliseconds(100), count: 4), keeping: .phase)
        scene.advance(1_000)
        #expect(scene.ticks(from: 6) == "5@390, 6@423.333334, 7@456.666667, 8@490")
        #expect(timer.state == .ended(.completed), "the count is that of the new schedule")
    }

    @Test(
        arguments: [
            (
                "late deadlines are counted by the new steps", hundred,
                [.advance(195), .changeSteps(ten), .jump(40), .advance(5)],
                "0@100, 1@200 late 35 missed 3, 5@240"
            ),
            (
                "a held timer keeps what remains", hundred,
                [.advance(95), .hold, .changeSteps(ten), .advance(1_000), .resume, .advance(15)],
                "0@1100, 1@1110"
            ),
            (
                "a new step that ends sooner counts from now", hundred,
                [.advance(150), .changeSteps(twenty), .advance(50)], "0@100, 1@170, 2@190"
            ),
            (
                "also in the time of a held timer", hundred,
                [.advance(40), .hold, .changeSteps(twenty), .advance(1_000), .resume, .advance(40)],
                "0@1060, 1@1080"
            ),
            (
                "a step that ends at the deadline changes nothing", hundred,
                [.advance(80), .changeSteps(twenty), .advance(40)], "0@100, 1@120"
            ),
        ] as [Play]
    )
    func theNextDeadlineKeepsItsPlaceAndItsNumber(play: Play) throws { try expectTicks(of: play) }

    @Test func aChangeInTheHandlerCountsFromTheFollowingDeadlineAndEachMissedOneOnce() throws {
        let timer = try scene.handle(hundred) { timer, _ in
            try? timer.reschedule(.every(.milliseconds(120)), keeping: .phase)
        }
        scene.advance(250)
        scene.jump(300)
        scene.advance(150)
        #expect(scene.ticks == "0@100, 1@200, 2@320 late 230 missed 1, 4@560, 5@680")
        timer.cancel()
    }

    @Test func aChangeInABurstAddsNoLateTick() throws {
        let timer = try scene.handle(hundred, missed: .catchUp(limit: 2)) { timer, count in
            if count == 1 { try? timer.reschedule(.every(.milliseconds(200)), keeping: .phase) }
        }
        scene.jump(1_000)
        #expect(scene.ticks == "0@100 late 900, 1@200 late 800 missed 4")
        timer.cancel()
    }

    /// As at rest, and in the last handler.
    @Test func withoutADeadlineTheStepsCountFromNow() throws {
        let timers = try [PreciseTimer.Schedule.onDemand, .fixedDelay(.milliseconds(50), count: 1)]
            .map { try scene.handle($0) { timer, _ in try? timer.reschedule(twenty, keeping: .phase) } }
        scene.advance(5)
        try timers[0].reschedule(twenty, keeping: .phase)
        scene.advance(90)
        #expect(scene.ticks == "0@25, 1@45, 0@50, 2@65, 0@70, 3@85, 1@90")
        #expect(timers.map(\.period) == [.milliseconds(20), .milliseconds(20)])
    }

    private static let computed = PreciseTimer.Schedule.computed {
        $0.advanced(by: .milliseconds(100))
    }
    private static let withoutPhase: [PreciseTimer.Schedule] = [
        .once(after: .seconds(1)), .onDemand, .fixedDelay(.seconds(1)),
        .every(.seconds(1), after: .zero),
        .every(.seconds(1), spread: .seconds(1)), .every(.seconds(1), jitter: .seconds(1)),
        .every(.seconds(1), at: TimerInstant(nanoseconds: 5)), .every(.seconds(1), for: .seconds(9)),
        .every(.zero),
        .rate(0, per: .seconds(1)), computed,
    ]

    @Test(arguments: withoutPhase + [.every(.seconds(1))])
    func aScheduleWithoutAPhaseIsRefusedAndTheTimerStaysAsItWas(other: PreciseTimer.Schedule) throws {
        let timer = try scene.timer(other == .every(.seconds(1)) ? Self.computed : hundred)
        #expect(refusal { try timer.reschedule(other, keeping: .phase) }?.code == .invalidSchedule)
        scene.advance(200)
        #expect(scene.ticks == "0@100, 1@200")
    }
}
