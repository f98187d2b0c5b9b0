import PreciseTimer
import PreciseTimerPatterns
import PreciseTimerTestKit
import TestSupport
import Testing

/// How an operation with a deadline ends, and what its caller hears.
struct WithTimeoutTests {
    private struct Broken: Error, Equatable { var number = 0 }

    private let virtual = VirtualTime()
    private var service: TimerService { virtual.service }

    @Test(.waits("real backends keep a deadline"), arguments: Ground.all)
    func anOperationThatEndsInTimeReturnsItsValueAndLeavesNoTimer(ground: Ground) async throws {
        let site = try ground.site()
        let value = try await withTimeout(.seconds(3_600), on: site.service) { 7 }
        #expect(value == 7)
        #expect(site.service.activeTimers.isEmpty)
    }

    @Test(.waits("real backends keep a deadline"), arguments: Ground.all)
    func anOperationIsCancelledAtItsDeadline(ground: Ground) async throws {
        let site = try ground.site()
        let start = site.service.now
        let cancelledAt = Box<TimerInstant>()
        let task = Task {
            try await withTimeout(.milliseconds(20), on: site.service) {
                defer { cancelledAt.value = site.service.now }
                try await Task.sleep(for: .seconds(3_600))
            }
        }
        if let virtual = site.virtual {
            while virtual.pendingCount == 0 { await virtual.settle() }
            virtual.advanceWithoutSettling(by: .milliseconds(20))
        }
        let error = try #require(await #expect(throws: TimeoutError.self) { try await task.value })
        let end = try #require(cancelledAt.value)
        #expect(error.deadline >= start.advanced(by: .milliseconds(20)), "it began after the first look at the clock")
        #expect(end >= error.deadline, "never early")
        #expect(site.service.activeTimers.isEmpty)
        if site.virtual != nil {
            #expect(error == TimeoutError(deadline: start.advanced(by: .milliseconds(20))))
        }
    }

    /// Nothing is delivered inside a call, not even what is due at once.
    @Test func aTimeOutOfZeroPassesWithTheNextRound() async throws {
        let isRunning = Gate()
        let task = Task {
            try await withTimeout(.zero, on: service) {
                isRunning.open()
                try await Task.sleep(for: .seconds(3_600))
            }
        }
        await isRunning.pass()
        await virtual.settle()
        #expect(virtual.pendingCount == 1)
        virtual.advanceWithoutSettling(by: .zero)
        let error = try #require(await #expect(throws: TimeoutError.self) { try await task.value })
        #expect(error == TimeoutError(deadline: virtual.now))
    }

    @Test func aDeadlineIsAnInstantOfTheServicesClock() async throws {
        let deadline = virtual.now.advanced(by: .seconds(2))
        let error = await #expect(throws: TimeoutError.self) {
            try await withDeadline(deadline, on: service) {
                virtual.advanceWithoutSettling(by: .seconds(2) - .nanoseconds(1))
                try Task.checkCancellation()
                virtual.advanceWithoutSettling(by: .nanoseconds(1))
                try Task.checkCancellation()
            }
        }
        #expect(error?.deadline == deadline)
        let refusal = await #expect(throws: TimerError.self) {
            try await withDeadline(TimerClock.wall.now, on: service) { Issue.record("it was begun") }
        }
        #expect(refusal?.code == .invalidSchedule)
    }

    /// An operation that computes, and now and then asks whether it is cancelled.
    @Test func anOperationThatNeverSuspendsIsCancelled() async throws {
        let error = await #expect(throws: TimeoutError.self) {
            try await withTimeout(.seconds(2), on: service) {
                for _ in 1...10 {
                    try Task.checkCancellation()
                    virtual.advanceWithoutSettling(by: .seconds(1))
                }
            }
        }
        #expect(error == TimeoutError(deadline: virtual.now))
    }

    // MARK: What the operation does counts

    @Test(arguments: [false, true]) func anErrorOfTheOperationComesOutAsItself(isLate: Bool) async throws {
        do {
            try await withTimeout(.seconds(1), on: service) { () async throws(Broken) in
                if isLate { virtual.advanceWithoutSettling(by: .seconds(2)) }
                throw Broken(number: 3)
            }
            Issue.record("it throws")
        } catch is Broken {
            #expect(virtual.pendingCount == 0)
        }
    }

    @Test func aValueIsReturnedEvenAfterTheDeadline() async throws {
        let value = try await withTimeout(.seconds(1), on: service) {
            virtual.advanceWithoutSettling(by: .seconds(2))
            #expect(Task.isCancelled)
            return 7
        }
        #expect(value == 7, "it was cancelled, and its value is not lost")
    }

    @Test func anOperationThatGoesOnAfterItsDeadlineIsReported() async throws {
        for (overrun, isIgnored) in [(Duration.milliseconds(100), false), (.seconds(3), true)] {
            let deadline = virtual.now.advanced(by: .seconds(1))
            let error = await #expect(throws: TimeoutError.self) {
                try await withTimeout(.seconds(1), on: service) {
                    virtual.advanceWithoutSettling(by: .seconds(1))
                    virtual.advanceWithoutSettling(by: overrun)
                    try Task.checkCancellation()
                }
            }
            #expect(error == TimeoutError(deadline: deadline, overrun: overrun))
            #expect(error?.ignoredCancellation == isIgnored)
        }
    }

    @Test func theOverrunCountsFromTheCancellation() async throws {
        virtual.inject(.wakeLate(by: .seconds(3)))
        let error = await #expect(throws: TimeoutError.self) {
            try await withTimeout(.seconds(1), on: service) {
                virtual.advanceWithoutSettling(by: .seconds(5))
                try Task.checkCancellation()
            }
        }
        #expect(error?.overrun == .seconds(1))
    }

    @Test func aWallClockThatIsSetBackMakesNoNegativeOverrun() async throws {
        let virtual = VirtualTime(clock: .wall)
        let error = await #expect(throws: TimeoutError.self) {
            try await withTimeout(.seconds(1), on: virtual.service) {
                virtual.advanceWithoutSettling(by: .seconds(1))
                virtual.inject(.stepClock(by: .seconds(-60)))
                virtual.advanceWithoutSettling(by: .zero)
                try Task.checkCancellation()
            }
        }
        #expect(error?.overrun == .zero)
    }

    /// Round instants are shared; the first one from two seconds on is 2^31 nanoseconds.
    @Test func anOperationWithAToleranceIsCancelledAtASharedInstant() async throws {
        let wasCancelled = Notes<Bool>()
        try await withTimeout(.seconds(1), tolerance: .seconds(2), on: service) {
            for _ in 0..<2 {
                virtual.advanceWithoutSettling(by: .seconds(1))
                wasCancelled.append(Task.isCancelled)
            }
        }
        #expect(wasCancelled.all == [false, true])
    }

    @Test func aCancellationErrorOfItsOwnIsNotATimeOut() async throws {
        await #expect(throws: CancellationError.self) {
            try await withTimeout(.seconds(1), on: service) { throw CancellationError() }
        }
    }

    // MARK: Refusals, and services that end

    @Test func anOperationWhoseDeadlineCannotBeScheduledIsNotBegun() async throws {
        let begun = Count()
        let negative = await #expect(throws: TimerError.self) {
            try await withTimeout(.seconds(-1), on: service) { begun.add(1) }
        }
        #expect(negative?.code == .invalidSchedule)
        service.shutdown()
        let shutDown = await #expect(throws: TimerError.self) {
            try await withTimeout(.seconds(1), on: service) { begun.add(1) }
        }
        #expect(shutDown?.code == .shutDown)
        #expect(begun.value == 0)
    }

    @Test func aServiceThatEndsCancelsTheOperationAndIsNamed() async throws {
        let error = await #expect(throws: TimerError.self) {
            try await withTimeout(.seconds(1), on: service) {
                service.shutdown()
                try Task.checkCancellation()
            }
        }
        #expect(error?.code == .shutDown)
    }

    @Test func aBackendThatFailsCancelsTheOperationAndIsNamed() async throws {
        let alarm = RefusingAlarm(settings: 10)
        let failing = try TimerService(alarm: alarm)
        let error = await #expect(throws: TimerError.self) {
            try await withTimeout(.seconds(1), on: failing) {
                alarm.fail()
                try Task.checkCancellation()
            }
        }
        #expect(error == RefusingAlarm.refusal)
    }

    @Test func anErrorComesOutAsItselfAfterTheServiceHasEnded() async throws {
        await #expect(throws: Broken.self) {
            try await withTimeout(.seconds(1), on: service) {
                service.shutdown()
                throw Broken()
            }
        }
    }

    // MARK: The surrounding task

    @Test func cancellingTheCallerIsNotATimeOut() async throws {
        let task = Task { [virtual, service] in
            try await withTimeout(.seconds(1), on: service) {
                while !Task.isCancelled { await Task.yield() }
                // The deadline passes as well, but later.
                virtual.advanceWithoutSettling(by: .seconds(2))
                try Task.checkCancellation()
            }
        }
        #expect(await soon { virtual.pendingCount == 1 })
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(virtual.pendingCount == 0)
    }

    @Test func aCallerThatWasCancelledBeforeIsNotATimeOut() async throws {
        let task = Task { [virtual, service] in
            unsafe withUnsafeCurrentTask { task in unsafe task?.cancel() }
            try await withTimeout(.seconds(1), on: service) {
                virtual.advanceWithoutSettling(by: .seconds(2))
                try Task.checkCancellation()
            }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test(arguments: [(1, 2), (2, 1), (1, 1)])
    func ofTwoDeadlinesTheEarlierOneCancelsAndIsNamed(outer: Int, inner: Int) async throws {
        let start = virtual.now
        let error = await #expect(throws: TimeoutError.self) {
            try await withTimeout(.seconds(outer), on: service) {
                do {
                    try await withTimeout(.seconds(inner), on: service) {
                        virtual.advanceWithoutSettling(by: .seconds(3))
                        try Task.checkCancellation()
                    }
                } catch {
                    #expect(error is CancellationError == (outer <= inner), "who throws the error: \(error)")
                    throw error
                }
            }
        }
        #expect(error?.deadline == start.advanced(by: .seconds(1)))
    }

    @Test func theOperationHasTheTaskLocalValuesOfTheCaller() async throws {
        let seen = try await Local.$value.withValue(5) {
            try await withTimeout(.seconds(1), on: service) { Local.value }
        }
        #expect(seen == 5)
    }

    private enum Local {
        @TaskLocal static var value = 0
    }
}
