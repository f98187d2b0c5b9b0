import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

/// A service's reaction to an alarm that fails, or that refuses an order.
@Suite(.waits("other threads schedule while a start fails"), .timeLimit(.minutes(60))) struct AlarmFailureTests {
    /// An alarm that fails when a test asks it to.
    private final class FailingAlarm: TimerAlarm {
        private struct Callback: Sendable {
            let onFailure: @Sendable (TimerError) -> Void
        }

        private let callback = Lock<Callback?>(nil)
        let stops = Count()
        /// Called inside `start`, before it returns.
        private let onStart: @Sendable (FailingAlarm) -> Void

        init(onStart: @escaping @Sendable (FailingAlarm) -> Void = { _ in }) { self.onStart = onStart }

        var now: TimerInstant { TimerClock.suspending.now }

        func start(onFire: @escaping @Sendable () -> Void, onFailure: @escaping @Sendable (TimerError) -> Void) {
            callback.withLock { $0 = Callback(onFailure: onFailure) }
            onStart(self)
        }

        func set(_ deadline: TimerInstant?) {}

        func stop() { stops.add(1) }

        func fail() { callback.withLock { $0 }?.onFailure(AlarmFailureTests.failure) }
    }

    private static let failure = TimerError(.backendFailed, "failing on purpose")

    @Test func aFailedAlarmIsStoppedAndEndsItsTimers() throws {
        let (alarm, reasons) = (FailingAlarm(), Notes<PreciseTimer.EndReason>())
        let service = try TimerService(alarm: alarm)
        try schedule(on: service, reasons)
        alarm.fail()
        #expect(alarm.stops.value == 1)
        #expect(reasons.all == [.backendFailed(Self.failure)])
        let error = #expect(throws: TimerError.self) { try schedule(on: service, reasons) }
        #expect(error == Self.failure)
    }

    @Test func theFailureOfAnEarlierRunLeavesTheTimersOfTheNewRunAlone() throws {
        let (alarms, reasons) = (Notes<FailingAlarm>(), Notes<PreciseTimer.EndReason>())
        let service = TimerService(startedOnUse: {
            let alarm = FailingAlarm()
            alarms.append(alarm)
            return alarm
        })
        try schedule(on: service, reasons)
        service.shutdown()
        try schedule(on: service, reasons)
        alarms.all[0].fail()
        #expect(reasons.all == [.serviceShutDown])
        #expect(service.pendingCount == 1)
        alarms.all[1].fail()
        #expect(reasons.all == [.serviceShutDown, .backendFailed(Self.failure)])
    }

    @Test func anAlarmThatFailsWhileItStartsRefusesTheSchedule() throws {
        let (alarms, reasons) = (Notes<FailingAlarm>(), Notes<PreciseTimer.EndReason>())
        let service = TimerService(startedOnUse: {
            let isFirst = alarms.all.isEmpty
            let alarm = FailingAlarm { if isFirst { $0.fail() } }
            alarms.append(alarm)
            return alarm
        })
        let error = #expect(throws: TimerError.self) { try schedule(on: service, reasons) }
        #expect(error == Self.failure)
        #expect(alarms.all[0].stops.value == 1)
        try schedule(on: service, reasons)
        #expect(alarms.all.count == 2, "the next timer starts another")
        #expect(reasons.all == [])
    }

    @Test func aCallThatStartsAServiceDoesNotBlockOtherCalls() throws {
        let (isStarting, mayStart) = (Box<Bool>(), Gate())
        let service = TimerService(startedOnUse: {
            FailingAlarm { _ in
                isStarting.value = true
                mayStart.pass()
            }
        })
        let reasons = Notes<PreciseTimer.EndReason>()
        let isScheduled = Box<Bool>()
        try Thread.start("test.schedule") {
            isScheduled.value = (try? schedule(on: service, reasons)) != nil
        }
        #expect(eventually { isStarting.value == true })
        #expect(service.activeTimers == [])
        #expect(service.pendingCount == 0)
        #expect(isScheduled.value == nil)
        mayStart.open()
        #expect(eventually { isScheduled.value == true })
    }

    /// The watchdog checks services on a backend, so it notices an alarm that neither fires nor reports an error.
    @Test func anAlarmThatStaysSilentAfterItsDeadlineFailsWithinSeconds() throws {
        let (alarms, reasons) = (Notes<FailingAlarm>(), Notes<PreciseTimer.EndReason>())
        let service = TimerService(startedOnUse: {
            let alarm = FailingAlarm()
            alarms.append(alarm)
            return alarm
        })
        try schedule(.once(after: .seconds(3_600)), on: service, reasons)
        pause(.seconds(3))
        #expect(reasons.all == [], "the alarm is not due yet")
        try schedule(.once(after: .zero), on: service, reasons)
        #expect(eventually { reasons.all.count == 2 })
        guard case .backendFailed = reasons.all.first else {
            Issue.record("\(reasons.all)")
            return
        }
        #expect(alarms.all[0].stops.value == 1)
    }

    private func schedule(
        _ schedule: PreciseTimer.Schedule = .once(after: .seconds(3_600)),
        on service: TimerService,
        _ reasons: Notes<PreciseTimer.EndReason>
    ) throws {
        let onEnd: @Sendable (PreciseTimer.EndReason) -> Void = { reasons.append($0) }
        try PreciseTimer.schedule(schedule, on: service, target: reasons, onEnd: onEnd) { _, _ in }
    }
}

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
