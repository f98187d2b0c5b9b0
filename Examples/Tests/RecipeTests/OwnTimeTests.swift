import PreciseTimer
import PreciseTimerTestKit
import Synchronization
import Testing

// An alarm of one's own: time of variable speed.

/// Time whose speed may change, on the alarm of another service. Half as fast is 0.5, and 0 stands still.
final class ScaledTime: TimerAlarm {
    private struct State: Sendable {
        /// The same moment on both clocks.
        var (base, own): (TimerInstant, TimerInstant)
        var speed = 1.0
        var deadline: TimerInstant?
        var timer: PreciseTimer?

        func now(at instant: TimerInstant) -> TimerInstant { own.advanced(by: base.duration(to: instant) * speed) }

        /// Sets the other service's timer. Both conversions round up, so it does not tick too early.
        func set() throws(TimerError) {
            guard let deadline, speed > 0 else { return try timer?.reschedule(.onDemand) ?? () }
            try timer?.reschedule(.once(at: base.advanced(by: own.duration(to: deadline) / speed)))
        }
    }

    private let service: TimerService
    private let state: Mutex<State>

    init(on service: TimerService) {
        let start = service.now
        self.service = service
        state = Mutex(State(base: start, own: start))
    }

    var now: TimerInstant { state.withLock { $0.now(at: service.now) } }

    func run(at speed: Double) throws(TimerError) {
        try state.withLock { state throws(TimerError) in
            let now = service.now
            (state.own, state.base, state.speed) = (state.now(at: now), now, speed)
            try state.set()
        }
    }

    func start(
        onFire: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (TimerError) -> Void
    ) throws(TimerError) {
        let onEnd = { @Sendable (reason: PreciseTimer.EndReason) in
            if case .backendFailed(let error) = reason { onFailure(error) }
        }
        let timer = try PreciseTimer.schedule(.onDemand, on: service, onEnd: onEnd) { _, _ in onFire() }
        state.withLock { $0.timer = timer }
    }

    func set(_ deadline: TimerInstant?) throws(TimerError) {
        try state.withLock { state throws(TimerError) in
            state.deadline = deadline
            try state.set()
        }
    }

    func stop() { _ = state.withLock { $0.timer.take() }?.cancel() }
}

struct ScaledTimeTests {
    private let virtual = VirtualTime()
    private let time: ScaledTime
    private let service: TimerService
    private let log: TickLog

    init() throws {
        (time, log) = (ScaledTime(on: virtual.service), TickLog(virtual))
        service = try TimerService(alarm: time)
    }

    /// How many ticks there were after each of some seconds.
    private func counts(_ seconds: Int) -> [Int] {
        (0..<seconds)
            .map { _ in
                virtual.advance(by: .seconds(1))
                return log.ticks.count
            }
    }

    @Test(
        arguments: [(1, [10, 20, 30]), (0.5, [5, 10, 15]), (3, [30, 60, 90]), (0, [0, 0, 0]), (0.3, [3, 6, 9])]
            as [(Double, [Int])]
    )
    func periodsFollowTheSpeed(speed: Double, expected: [Int]) throws {
        try PreciseTimer.schedule(.every(.milliseconds(100)), on: service, target: log) { $0.note($1) }
        try time.run(at: speed)
        #expect(counts(3) == expected)
        #expect(log.ticks.allSatisfy { $0.lateness < .nanoseconds(10) && $0.missed == 0 })
    }

    @Test func aChangeOfSpeedCountsAtOnceAndLosesNoTick() throws {
        try PreciseTimer.schedule(.every(.seconds(1)), on: service, target: log) { $0.note($1) }
        var seen: [Int] = []
        for speed in [0.5, 4, 0, 1, 10] {
            try time.run(at: speed)
            seen += counts(2)
        }
        #expect(seen == [0, 1, 5, 9, 9, 9, 10, 11, 21, 31])
        #expect(log.ticks.map(\.index) == Array(0..<31))
    }

    @Test func aStoppedAlarmLeavesNoTimerBehind() throws {
        try PreciseTimer.schedule(.every(.seconds(1)), on: service, target: log) { $0.note($1) }
        #expect(virtual.pendingCount == 1)
        service.shutdown()
        #expect(virtual.pendingCount == 0)
    }

    @Test func itKeepsTheContractOfAlarms() throws {
        let conformance = AlarmConformance {
            let time = ScaledTime(on: .timerFD)
            try time.run(at: 2)
            return time
        }
        #expect(AlarmConformance.Clause.allCases.flatMap { conformance.violations(of: $0) } == [])
    }
}
