import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// The deadlines of each schedule, and the refused schedules.
@Suite(.waits("every backend's clock goes on between two schedules")) struct ScheduleTests {
    private let virtual = VirtualTime()
    private let log = Log()

    @Test func theFirstDeadlineOfEveryIsOnePeriodFromNow() throws {
        #expect(try offsets(.every(.milliseconds(10)), within: .milliseconds(30)) == [10, 20, 30])
    }

    @Test func aDelayReplacesTheFirstPeriod() throws {
        #expect(
            try offsets(.every(.milliseconds(10), after: .milliseconds(3)), within: .milliseconds(25)) == [3, 13, 23]
        )
        #expect(try offsets(.every(.milliseconds(10), after: .zero), within: .milliseconds(25)) == [0, 10, 20])
    }

    @Test func aGivenInstantIsTheFirstDeadline() throws {
        let instant = virtual.now.advanced(by: .milliseconds(4))
        #expect(try offsets(.every(.milliseconds(10), at: instant), within: .milliseconds(25)) == [4, 14, 24])
    }

    @Test func onceTicksOnce() throws {
        #expect(try offsets(.once(after: .milliseconds(5)), within: .seconds(5)) == [5])
        let instant = virtual.now.advanced(by: .milliseconds(4))
        #expect(try offsets(.once(at: instant), within: .seconds(5)) == [4])
        #expect(virtual.pendingCount == 0)
    }

    @Test func anInstantInThePastIsDueNowOnce() throws {
        let past = virtual.now.advanced(by: .milliseconds(-500))
        try schedule(.once(at: past))
        virtual.advance(by: .seconds(1))
        #expect(log.ticks.map(\.deadline) == [past])
        #expect(log.ticks.map(\.lateness) == [.milliseconds(500)])
    }

    @Test func nothingIsDeliveredInsideSchedule() throws {
        try schedule(.once(after: .zero))
        #expect(log.count == 0)
        virtual.advance(by: .zero)
        #expect(log.count == 1)
    }

    @Test func fractionsOfNanosecondsAreRoundedUp() throws {
        let start = virtual.now
        try schedule(.every(Duration(secondsComponent: 0, attosecondsComponent: 1)))
        virtual.advance(by: .nanoseconds(2))
        #expect(log.ticks.map { start.duration(to: $0.deadline) } == [.nanoseconds(1), .nanoseconds(2)])
    }

    @Test(arguments: [
        PreciseTimer.Schedule.every(.zero), .every(.nanoseconds(-1)), .every(.seconds(Int64.min)),
        .every(.zero, after: .seconds(1)), .every(.seconds(1), after: .nanoseconds(-1)),
        .once(after: .nanoseconds(-1)), .once(after: .seconds(-5)),
        .every(.zero, at: TimerInstant(nanoseconds: 1)),
    ])
    func aScheduleThatMakesNoSenseIsRefusedOnEveryBackend(schedule: PreciseTimer.Schedule) throws {
        for service in try services() {
            let error = #expect(throws: TimerError.self) {
                try PreciseTimer.schedule(schedule, on: service, target: log) { $0.note($1) }
            }
            #expect(error?.code == .invalidSchedule)
        }
    }

    @Test(arguments: [
        PreciseTimer.Schedule.once(after: .seconds(Int64.max)), .every(.seconds(Int64.max)),
        .every(.nanoseconds(Int64.max)), .every(.seconds(1), after: .seconds(Int64.max)),
        .once(at: TimerInstant(nanoseconds: .max)), .once(at: TimerInstant(nanoseconds: .max - 1)),
        .once(at: TimerInstant(nanoseconds: UInt64(Int64.max))), .once(after: .seconds(9_000_000_000)),
    ])
    func durationsTooLargeBecomeNeverOnEveryBackend(schedule: PreciseTimer.Schedule) throws {
        for service in try services() {
            let timer = try PreciseTimer.schedule(schedule, on: service, target: log) { $0.note($1) }
            pause(.milliseconds(5))
            #expect(timer.state == .scheduled)
            #expect(timer.cancel())
        }
        #expect(log.count == 0)
    }

    @Test(arguments: [(0, Duration.seconds(1)), (-1, .seconds(1)), (1, .zero), (1, .seconds(-1))])
    func aRateOfNothingIsRefusedWithTheReason(rate: Int, duration: Duration) {
        let error = #expect(throws: TimerError.self) {
            try PreciseTimer.schedule(.rate(rate, per: duration), on: virtual.service, target: log) { $0.note($1) }
        }
        #expect(error?.attempted.hasSuffix("(the count and the duration must be more than zero)") == true)
    }

    @Test func aRefusalSaysWhatWasAttempted() {
        let error = #expect(throws: TimerError.self) { try schedule(.every(.zero)) }
        #expect(
            error?.description
                == "scheduling every 0 s (a period must be longer than zero): invalid schedule"
        )
    }

    private func services() throws -> [TimerService] {
        try TimerService.Backend.available.map { try TimerService($0) } + [virtual.service]
    }

    @discardableResult
    private func schedule(_ schedule: PreciseTimer.Schedule) throws -> PreciseTimer {
        try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { $0.note($1) }
    }

    /// The deadlines that come within a duration, in milliseconds from now.
    private func offsets(_ rule: PreciseTimer.Schedule, within duration: Duration) throws -> [Int] {
        let (start, before) = (virtual.now, log.count)
        let timer = try schedule(rule)
        virtual.advance(by: duration)
        timer.cancel()
        return log.ticks.dropFirst(before).map { Int(start.duration(to: $0.deadline) / .milliseconds(1)) }
    }
}
