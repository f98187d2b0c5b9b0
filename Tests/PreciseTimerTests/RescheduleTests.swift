import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// A rescheduled timer starts again. (`ScheduleTests` has the refused schedules, which change nothing.)
struct RescheduleTests {
    private let scene = Scene()

    private static let formers: [PreciseTimer.Schedule] = [
        .rate(3, per: .seconds(1)), .every(.seconds(1), count: 5), .every(.seconds(1), for: .seconds(5)),
        .every(.seconds(1), jitter: .milliseconds(900)), .every(.seconds(1), after: .zero, spread: .milliseconds(500)),
        .fixedDelay(.seconds(1)), .once(after: .seconds(5)), .onDemand,
    ]
    /// Schedules, and for those that keep the phase, the ones that begin with the former deadline.
    private static let others: [(PreciseTimer.Schedule, (@Sendable (TimerInstant) -> PreciseTimer.Schedule)?)] = [
        (.every(.seconds(1)), nil), (.rate(3, per: .seconds(1)), nil), (.fixedDelay(.seconds(1)), nil),
        (.every(.seconds(1), after: .zero, for: .seconds(3)), nil), (.once(after: .seconds(1)), nil), (.onDemand, nil),
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

    /// The timer's first schedule is of 10 ms; its handler takes 3 ms, and reschedules as long as there are others.
    @Test(arguments: [
        ([PreciseTimer.Schedule.every(.milliseconds(100), after: .milliseconds(1))], "0@10, 0@11 late 2, 1@111", 100),
        ([.once(after: .milliseconds(5)), .once(after: .milliseconds(5))], "0@10, 0@15, 0@20", nil),
        ([.fixedDelay(.milliseconds(20))], "0@10, 0@30, 1@53, 2@76, 3@99", 20),
    ])
    func aTimerRescheduledInItsHandlerGoesOn(schedules: [PreciseTimer.Schedule], ticks: String, period: Int?) throws {
        for first in [PreciseTimer.Schedule.once(after: .milliseconds(10)), .fixedDelay(.milliseconds(10))] {
            let scene = Scene()
            let timer = try scene.handle(first) { timer, count in
                if count <= schedules.count { try? timer.reschedule(schedules[count - 1]) }
                scene.jump(3)
            }
            scene.advance(120)
            #expect(scene.ticks == ticks)
            #expect(timer.state == (period == nil ? .ended(.completed) : .scheduled))
            #expect(timer.period == period.map { .milliseconds($0) })
        }
    }

    @Test(arguments: [true, false])
    func aSiblingPausedOrRescheduledInTheSameBatchDoesNotTick(isPaused: Bool) throws {
        let sibling = Box<PreciseTimer>()
        let timer = try scene.handle(.once(after: .milliseconds(10))) { _, _ in
            if isPaused {
                sibling.value?.pause(keeping: .grid)
            } else {
                try? sibling.value?.reschedule(.once(after: .milliseconds(5)))
            }
        }
        sibling.value = try scene.timer(.once(after: .milliseconds(10)))
        scene.advance(14)
        #expect(scene.ticks == "0@10")
        sibling.value?.resume()
        scene.advance(6)
        #expect(scene.ticks == (isPaused ? "0@10, 0@10 late 4" : "0@10, 0@15"))
        withExtendedLifetime(timer) {}
    }

    @Test(
        arguments: [
            (
                "a paused timer stays paused", .every(.milliseconds(10)),
                [.pause, .reschedule(.every(.milliseconds(20))), .advance(25), .resume, .advance(0)], "0@20 late 5"
            ),
            (
                "a period counts from each call", .every(.milliseconds(20)),
                Array(repeating: [Move.advance(19), .reschedule(.every(.milliseconds(20)))], count: 9).flatMap { $0 },
                ""
            ),
        ] as [Play]
    )
    func aRescheduleBeginsTheNewScheduleAndNothingElse(play: Play) throws { try expectTicks(of: play) }

    @Test func aTimerThatHasEndedCannotBeRescheduled() throws {
        let timers = [try scene.timer(.once(after: .milliseconds(10))), try scene.timer(.every(.milliseconds(10)))]
        timers[1].cancel()
        scene.advance(10)
        for (timer, reason) in zip(timers, ["completed", "cancelled"]) {
            for reschedule in [
                { try timer.reschedule(.every(.milliseconds(10))) },
                { try timer.reschedule(.every(.milliseconds(10)), keeping: .phase) },
            ] {
                let error = #expect(throws: TimerError.self, performing: reschedule)
                #expect(error?.code == .timerEnded)
                #expect(error?.attempted.contains("has ended, \(reason) (") == true)
                #expect(error?.attempted.contains(".onDemand") == true)
            }
        }
        scene.advance(50)
        #expect(scene.ticks == "0@10")
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
        let second = timer.nextDeadline
        #expect(alarm.settings == [first, second] && log.count == 0)
        try timer.reschedule(.once(after: .zero))
        #expect(alarm.settings == [first, second, alarm.now], "an earlier deadline sets the alarm")
        try timer.reschedule(.onDemand)
        alarm.move(by: .seconds(2))
        alarm.fire()
        #expect(alarm.settings.count == 3 && log.count == 0)
        try timer.reschedule(.once(after: .seconds(1)))
        #expect(alarm.settings.last == timer.nextDeadline && alarm.settings.count == 4)
        alarm.move(by: .seconds(1))
        alarm.fire()
        #expect(log.ticks.map(\.lateness) == [.zero])
    }
}

/// A change of the period that keeps the phase: the next deadline stays where it is, unless a new step from now ends
/// before it, and keeps its number.
struct PhaseTests {
    private let scene = Scene()

    @Test func theNextDeadlineStaysAndTheNewStepsCountFromIt() throws {
        let timer = try scene.timer(.every(.milliseconds(100)))
        scene.advance(280)
        timer.fire()
        try timer.reschedule(.every(.milliseconds(30)), keeping: .phase)
        #expect(timer.period == .milliseconds(30))
        scene.advance(0)
        #expect(timer.remaining == .milliseconds(20))
        scene.advance(80)
        #expect(scene.ticks == "0@100, 1@200, extra 2@280, 2@300, 3@330, 4@360", "a requested tick stays")
        try timer.reschedule(.rate(3, per: .milliseconds(100), count: 4), keeping: .phase)
        scene.advance(1_000)
        #expect(scene.ticks(from: 6) == "5@390, 6@423.333334, 7@456.666667, 8@490")
        #expect(timer.state == .ended(.completed), "the count is that of the new schedule")
    }

    @Test(
        arguments: [
            (
                "late deadlines are counted by the new steps", .every(.milliseconds(100)),
                [.advance(195), .changeSteps(.every(.milliseconds(10))), .jump(40), .advance(5)],
                "0@100, 1@200 late 35 missed 3, 5@240"
            ),
            (
                "a held timer keeps what remains", .every(.milliseconds(100)),
                [.advance(95), .hold, .changeSteps(.every(.milliseconds(10))), .advance(1_000), .resume, .advance(15)],
                "0@1100, 1@1110"
            ),
            (
                "an alarm that repeated follows", .every(.milliseconds(10)),
                [.advance(45), .changeSteps(.every(.milliseconds(7))), .advance(26)],
                "0@10, 1@20, 2@30, 3@40, 4@50, 5@57, 6@64, 7@71"
            ),
            (
                "a new step that ends sooner counts from now", .every(.milliseconds(100)),
                [.advance(150), .changeSteps(.every(.milliseconds(20))), .advance(50)],
                "0@100, 1@170, 2@190"
            ),
            (
                "also in the time of a held timer", .every(.milliseconds(100)),
                [.advance(40), .hold, .changeSteps(.every(.milliseconds(20))), .advance(1_000), .resume, .advance(40)],
                "0@1060, 1@1080"
            ),
            (
                "a step that ends at the deadline changes nothing", .every(.milliseconds(100)),
                [.advance(80), .changeSteps(.every(.milliseconds(20))), .advance(40)],
                "0@100, 1@120"
            ),
        ] as [Play]
    )
    func theNextDeadlineKeepsItsPlaceAndItsNumber(play: Play) throws { try expectTicks(of: play) }

    @Test func aChangeInTheHandlerCountsFromTheFollowingDeadline() throws {
        let timer = try scene.handle(.every(.milliseconds(100))) { timer, _ in
            try? timer.reschedule(.every(.milliseconds(120)), keeping: .phase)
        }
        scene.advance(450)
        #expect(scene.ticks == "0@100, 1@200, 2@320, 3@440")
        timer.cancel()
    }

    /// A rate that rises each 100 ms from one a minute to a thousand a second, in 30 s.
    @Test func aRampOfRatesTicksFromItsBeginning() throws {
        let timer = try scene.timer(.rate(1, per: .seconds(60)))
        for step in 1...300 {
            scene.advance(100)
            try timer.reschedule(.rate(max(1, 1_000 * step / 300), per: .seconds(1)), keeping: .phase)
        }
        let count = scene.ticks.split(separator: ",").count
        #expect((14_800...15_000).contains(count), "\(count)")
    }

    @Test func aChangeInABurstAddsNoLateTick() throws {
        let timer = try scene.handle(.every(.seconds(1)), missed: .catchUp(limit: 2)) { timer, count in
            if count == 1 { try? timer.reschedule(.every(.seconds(2)), keeping: .phase) }
        }
        scene.jump(10_000)
        #expect(scene.ticks == "0@1000 late 9000, 1@2000 late 8000 missed 4")
        timer.cancel()
    }

    /// If a handler names the next deadline itself, by a schedule's `at:`, each tick counts deadlines that have passed
    /// again. Three are late here, and the first late tick accounts for all of them.
    @Test(arguments: [
        ("every", "0@10, 0@20, 0@30 late 25 missed 2, 0@40 late 15 missed 1, 0@50 late 5, 0@60"),
        ("once", "0@10, 0@20, 0@30 late 25, 0@40 late 15, 0@50 late 5, 0@60"),
        ("phase", "0@10, 1@20, 2@30 late 25 missed 2, 5@60"),
    ])
    func onlyAScheduleThatKeepsThePhaseCountsEachMissedDeadlineOnce(way: String, ticks: String) throws {
        let (scene, period) = (scene, Duration.milliseconds(10))
        let timer = try scene.handle(.every(period)) { timer, _ in
            guard let deadline = scene.log.ticks.last?.deadline else { return }
            switch way {
            case "every": try? timer.reschedule(.every(period, at: deadline.advanced(by: period)))
            case "once": try? timer.reschedule(.once(at: deadline.advanced(by: period)))
            default: try? timer.reschedule(.every(period), keeping: .phase)
            }
        }
        scene.advance(20)
        scene.jump(35)
        scene.advance(5)
        #expect(scene.ticks == ticks)
        timer.cancel()
    }

    /// As at rest, and in the last handler.
    @Test func withoutADeadlineTheStepsCountFromNow() throws {
        let timers = try [PreciseTimer.Schedule.onDemand, .fixedDelay(.milliseconds(50), count: 1)]
            .map {
                try scene.handle($0) { timer, _ in try? timer.reschedule(.every(.milliseconds(20)), keeping: .phase) }
            }
        scene.advance(5)
        try timers[0].reschedule(.every(.milliseconds(20)), keeping: .phase)
        scene.advance(90)
        #expect(scene.ticks == "0@25, 1@45, 0@50, 2@65, 0@70, 3@85, 1@90")
        #expect(timers.map(\.period) == [.milliseconds(20), .milliseconds(20)])
    }

    private static let computed = PreciseTimer.Schedule.computed { $0.advanced(by: .milliseconds(100)) }
    private static let withoutPhase: [PreciseTimer.Schedule] = [
        .once(after: .seconds(1)), .onDemand, .fixedDelay(.seconds(1)), .every(.seconds(1), after: .zero),
        .every(.seconds(1), spread: .seconds(1)), .every(.seconds(1), jitter: .seconds(1)),
        .every(.seconds(1), at: TimerInstant(nanoseconds: 5)), .every(.seconds(1), for: .seconds(9)), .every(.zero),
        .rate(0, per: .seconds(1)), computed,
    ]

    @Test(arguments: withoutPhase + [.every(.seconds(1))])
    func aScheduleWithoutAPhaseIsRefusedAndTheTimerStaysAsItWas(other: PreciseTimer.Schedule) throws {
        let timer = try scene.timer(other == .every(.seconds(1)) ? Self.computed : .every(.milliseconds(100)))
        let error = #expect(throws: TimerError.self) { try timer.reschedule(other, keeping: .phase) }
        #expect(error?.code == .invalidSchedule)
        scene.advance(200)
        #expect(scene.ticks == "0@100, 1@200")
    }
}
