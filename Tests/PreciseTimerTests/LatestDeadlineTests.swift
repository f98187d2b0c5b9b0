import Dispatch
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// The newest deadline that a tick stands for, of schedules that the model does not have.
struct LatestDeadlineTests {
    typealias Schedule = PreciseTimer.Schedule
    typealias Policy = PreciseTimer.MissedTickPolicy

    private let scene = Scene()

    /// Each tick after a standstill of 55 ms: its oldest and its newest deadline, in milliseconds.
    private var spans: [String] {
        scene.log.ticks.map { tick in
            [tick.deadline, tick.latestDeadline].map { scene.time($0) ?? "" }.joined(separator: " to ")
        }
    }

    private static let ten = Duration.milliseconds(10)
    private static let each = Schedule.computed { $0.advanced(by: ten) }

    @Test(
        arguments: [
            (.every(ten, after: .zero, for: ten * 3), .skip, ["0 to 30"]), (each, .skip, ["10 to 50"]),
            (each, .catchUp(limit: 2), ["10 to 10", "20 to 50"]),
        ] as [(Schedule, Policy, [String])]
    )
    func itIsThatOfTheLastMissedDeadline(schedule: Schedule, policy: Policy, spans: [String]) throws {
        try scene.timer(schedule, missed: policy)
        scene.jump(55)
        #expect(self.spans == spans)
    }

    /// A tick that has missed deadlines moves them all by the jitter of the oldest.
    @Test func withAJitterItHasTheDistanceOfTheMissedDeadlines() throws {
        for _ in 0..<20 { try scene.timer(.every(Self.ten, jitter: Self.ten)) }
        scene.jump(55)
        for tick in scene.log.ticks {
            #expect(tick.deadline.duration(to: tick.latestDeadline) == Self.ten * tick.missed)
            #expect(tick.latestDeadline <= tick.delivered)
        }
        #expect(scene.log.ticks.count { $0.missed >= 3 } == 20)
    }

    @Test func withAJitterItIsNotAfterTheEndOfTheSchedule() throws {
        let end = scene.at(35)
        for _ in 0..<20 { try scene.timer(.every(Self.ten, jitter: Self.ten, for: .milliseconds(35))) }
        scene.jump(55)
        #expect(scene.log.count == 20 && scene.log.ticks.allSatisfy { $0.latestDeadline <= end })
    }

    @Test func aSlowQueueIsToldOfThoseThatPassedOnTheWay() throws {
        let queue = SuspendedQueue()
        try PreciseTimer.schedule(
            .every(Self.ten),
            on: scene.virtual.service,
            deliver: .queue(queue.queue),
            target: scene.log
        ) { $0.note($1) }
        scene.virtual.advanceWithoutSettling(by: .milliseconds(55))
        queue.letRun()
        queue.queue.sync {}
        #expect(spans == ["10 to 50"])
    }

    /// So many are not counted, and the search for the last one halves the time. The clock of a machine may start in
    /// 1970.
    @Test(arguments: [1, 7], [10_001, 10_002, 1_000_003, 1 << 33])
    func ofMoreThanTenThousandComputedDeadlinesItIsExact(step: Int, seconds: Int) throws {
        let length = UInt64(step) * 1_000_000_000
        try scene.timer(.computed { $0.advanced(by: .nanoseconds(length - $0.nanoseconds % length)) })
        scene.virtual.jump(by: .seconds(seconds))
        scene.virtual.advance(by: .zero)
        let tick = try #require(scene.log.ticks.first)
        let latest = scene.virtual.now.nanoseconds / length * length
        #expect(tick.latestDeadline.nanoseconds == latest)
        #expect(tick.missed == min(10_000, Int((latest - tick.deadline.nanoseconds) / length)))
    }

    /// The same if no deadline comes for a long time before now.
    @Test(arguments: [1, 3, 7, 8].map { $0 << 20 }) func itIsExactIfTheDeadlinesThinOut(end: UInt64) throws {
        let (second, scene) = (UInt64(1_000_000_000), scene)
        let start = scene.virtual.now.nanoseconds
        let schedule = Schedule.computed { instant in
            let next = (instant.nanoseconds - start) / second + 1
            return TimerInstant(nanoseconds: start + (next <= end ? next : 1 << 24) * second)
        }
        try scene.timer(schedule)
        scene.virtual.jump(by: .seconds(8 << 20))
        let tick = try #require(scene.log.ticks.first)
        #expect(tick.latestDeadline == scene.at(Int(end) * 1_000) && tick.missed == 10_000)
    }

    // MARK: As a value

    private func tick(_ latest: Int?, delivered: Int? = nil) -> PreciseTimer.Tick {
        PreciseTimer.Tick(
            deadline: scene.at(10),
            latestDeadline: latest.map(scene.at),
            delivered: delivered.map(scene.at),
            missed: latest == nil ? 0 : 2
        )
    }

    @Test func aTickThatIsMadeHasOneDeadlineOrIsDeliveredAfterItsLatest() {
        #expect(tick(nil).latestDeadline == scene.at(10) && tick(10) != tick(30))
        #expect(tick(30).latestDeadline == scene.at(30) && tick(30).delivered == scene.at(30))
        #expect(tick(30, delivered: 31).delivered == scene.at(31) && tick(30).lateness == .milliseconds(20))
    }
}
