import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Input that makes no sense is refused by the call, and leaves no timer behind.
struct RefusalTests {
    /// A call that must be refused.
    struct Request: Sendable {
        var schedule = PreciseTimer.Schedule.every(.seconds(1))
        var tolerance = Duration.zero
        var missedTicks = PreciseTimer.MissedTickPolicy.skip
    }

    private let virtual = VirtualTime()
    private let log = Log()

    @Test(arguments: [
        Request(tolerance: .nanoseconds(-1)), Request(tolerance: .seconds(Int64.min)),
        Request(tolerance: .zero - Duration(secondsComponent: 0, attosecondsComponent: 1)),
        Request(missedTicks: .catchUp(limit: 0)), Request(missedTicks: .catchUp(limit: -3)),
        Request(schedule: .rate(0, per: .seconds(1))), Request(schedule: .rate(-1, per: .seconds(1))),
        Request(schedule: .rate(60, per: .zero)), Request(schedule: .rate(60, per: .seconds(-1))),
        Request(schedule: .rate(2, per: .nanoseconds(1))),
        Request(schedule: .fixedDelay(.zero)), Request(schedule: .fixedDelay(.nanoseconds(-1))),
        Request(schedule: .fixedDelay(.seconds(1), after: .nanoseconds(-1))),
        Request(schedule: .every(.zero)), Request(schedule: .every(.seconds(-1))),
        Request(schedule: .every(.seconds(1), after: .nanoseconds(-1))),
        Request(schedule: .every(.zero - Duration(secondsComponent: 0, attosecondsComponent: 1))),
        Request(schedule: .once(after: .zero - Duration(secondsComponent: 0, attosecondsComponent: 1))),
        Request(schedule: .once(at: TimerInstant(nanoseconds: 5, clock: .wall))),
        Request(schedule: .every(.seconds(1), at: TimerInstant(nanoseconds: 5, clock: .continuous))),
    ])
    func badInputThrowsATypedErrorAndLeavesNoTimer(request: Request) throws {
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { $0.note($1) }
        let error = #expect(throws: TimerError.self) {
            try PreciseTimer.schedule(
                request.schedule,
                on: virtual.service,
                tolerance: request.tolerance,
                missedTicks: request.missedTicks,
                target: log
            ) { $0.note($1) }
        }
        #expect(error?.code == .invalidSchedule)
        #expect(virtual.pendingCount == 1)
        #expect(virtual.service.activeTimers.count == 1)
        virtual.advance(by: .seconds(3))
        #expect(log.count == 3)
    }

    @Test(arguments: [
        Request(tolerance: .seconds(Int64.max)), Request(missedTicks: .catchUp(limit: .max)),
        Request(schedule: .rate(1_000, per: .microseconds(1))), Request(schedule: .rate(1, per: .seconds(Int64.max))),
        Request(schedule: .fixedDelay(.seconds(Int64.max))), Request(schedule: .once(after: .zero)),
        Request(schedule: .fixedDelay(.seconds(1), after: .zero)),
    ])
    func extremeButValidInputIsAccepted(request: Request) throws {
        let timer = try PreciseTimer.schedule(
            request.schedule,
            on: virtual.service,
            tolerance: request.tolerance,
            missedTicks: request.missedTicks,
            target: log
        ) { $0.note($1) }
        #expect(timer.state == .scheduled)
        #expect(virtual.pendingCount == 1)
    }
}
