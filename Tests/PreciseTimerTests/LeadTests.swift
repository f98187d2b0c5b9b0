import Dispatch
import PreciseTimer
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

/// An alarm that fires early on purpose: its ticks are decided early, and delivered on time.
@Suite(.waits("a thread waits awake for the deadline"), .timeLimit(.minutes(60))) struct LeadTests {
    private let alarm = LeadingAlarm()
    private let log = Log()
    private let deadline = TimerInstant(nanoseconds: 10_000)
    /// The alarm's time in each call of the handler. A tick's own instants are never before its deadline.
    private let calls = Notes<TimerInstant>()

    private func schedule(_ delivery: PreciseTimer.Delivery = .inline) throws -> TimerService {
        let service = try TimerService(alarm: alarm)
        try PreciseTimer.schedule(
            .every(.microseconds(100), at: deadline),
            on: service,
            deliver: delivery,
            target: log
        ) { [alarm, calls] log, tick in
            calls.append(alarm.now)
            log.note(tick)
        }
        return service
    }

    @Test func aTickThatIsDecidedEarlyIsDeliveredWhenItsDeadlineHasCome() throws {
        let service = try schedule()
        alarm.fire(at: TimerInstant(nanoseconds: 9_100))
        let tick = try #require(log.ticks.first)
        #expect(log.count == 1)
        #expect(tick.deadline == deadline)
        #expect(tick.woke == deadline, "the thread has waited until then")
        #expect(try #require(calls.all.first) >= deadline)
        #expect(tick.lateness <= .nanoseconds(LeadingAlarm.reading))
        #expect(tick.missed == 0)
        service.shutdown()
    }

    @Test func aFiringThatIsEarlierThanTheLeadSetsTheAlarmAgain() throws {
        let service = try schedule()
        alarm.fire(at: TimerInstant(nanoseconds: 8_500))
        #expect(log.count == 0)
        #expect(alarm.deadline == deadline)
        alarm.fire(at: TimerInstant(nanoseconds: 9_500))
        #expect(log.count == 1)
        service.shutdown()
    }

    @Test func aTickForAQueueIsSentWhenItsDeadlineHasCome() throws {
        let queue = DispatchQueue(label: "test")
        let service = try schedule(.queue(queue))
        alarm.fire(at: TimerInstant(nanoseconds: 9_100))
        #expect(alarm.now >= deadline)
        #expect(eventually { log.count == 1 })
        #expect(try #require(log.ticks.first).delivered >= deadline)
        service.shutdown()
    }

    @Test func aLateFiringIsLate() throws {
        let service = try schedule()
        alarm.fire(at: TimerInstant(nanoseconds: 250_000))
        let tick = try #require(log.ticks.first)
        #expect(tick.deadline == deadline)
        #expect(tick.missed == 2)
        #expect(tick.wakeLateness >= .microseconds(240))
        service.shutdown()
    }

    /// Otherwise the thread would spin until the clock has caught up.
    @Test func aClockThatIsSetBackDuringTheWaitEndsIt() throws {
        let service = try schedule()
        alarm.setBack(by: .nanoseconds(5_000), atReading: 3)
        alarm.fire(at: TimerInstant(nanoseconds: 9_100))
        #expect(log.count == 1)
        #expect(alarm.now < deadline)
        #expect(log.ticks.first?.lateness == .zero)
        service.shutdown()
    }
}

/// An alarm that fires when a test asks it to, up to a microsecond before its deadline. Each reading of its clock takes
/// some time.
final class LeadingAlarm: TimerAlarm {
    /// Nanoseconds that a reading of the clock takes.
    static let reading = 25

    private struct State: Sendable {
        var now = TimerInstant(nanoseconds: 1_000)
        var deadline: TimerInstant?
        var onFire: (@Sendable () -> Void)?
        var stepBack: (Duration, readings: Int)?
    }

    private let state = Lock(State())

    let lead: UInt64 = 1_000

    var deadline: TimerInstant? { state.withLock { $0.deadline } }

    var now: TimerInstant {
        state.withLock { state in
            if let (distance, readings) = state.stepBack {
                state.stepBack = readings > 0 ? (distance, readings - 1) : nil
                if readings == 0 { state.now = state.now.advanced(by: .zero - distance) }
            }
            state.now = state.now.advanced(by: .nanoseconds(Self.reading))
            return state.now
        }
    }

    func start(onFire: @escaping @Sendable () -> Void, onFailure: @escaping @Sendable (TimerError) -> Void) {
        state.withLock { $0.onFire = onFire }
    }

    func set(_ deadline: TimerInstant?) { state.withLock { $0.deadline = deadline } }

    func stop() {}

    func fire(at now: TimerInstant) {
        state.withLock { $0.now = now }
        state.withLock { $0.onFire }?()
    }

    /// Sets the clock back after a number of readings.
    func setBack(by distance: Duration, atReading readings: Int) {
        state.withLock { $0.stepBack = (distance, readings) }
    }
}
