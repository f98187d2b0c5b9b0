import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

@Suite(.waits("operations run in tasks that only real time ends"), .timeLimit(.minutes(60))) struct WithTimeoutTests {
    private struct Broken: Error, Equatable { var number = 0 }

    @Test(arguments: Ground.all)
    func anOperationThatEndsInTimeReturnsItsValueAndLeavesNoTimer(ground: Ground) async throws {
        let site = try ground.site()
        let value = try await withTimeout(.seconds(3_600), on: site.service) { 7 }
        #expect(value == 7)
        #expect(site.service.activeTimers.isEmpty)
    }

    @Test(arguments: Ground.all)
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
        let error = await #expect(throws: PreciseTimer.TimeoutError<any Error>.self) { try await task.value }
        guard case .timedOut(after: .milliseconds(20), let reason) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason is CancellationError)
        #expect(try #require(cancelledAt.value) >= start.advanced(by: .milliseconds(20)), "never early")
    }

    @Test func theErrorOfTheOperationHasItsType() async {
        let virtual = VirtualTime()
        do throws(PreciseTimer.TimeoutError<Broken>) {
            try await withTimeout(.seconds(1), on: virtual.service) { () throws(Broken) in throw Broken(number: 3) }
            Issue.record("it throws")
        } catch {
            guard case .failed(Broken(number: 3)) = error else {
                Issue.record("\(error)")
                return
            }
        }
        #expect(virtual.pendingCount == 0)
    }

    @Test func aValueIsReturnedEvenAfterTheDeadline() async throws {
        let virtual = VirtualTime()
        let value = try await withTimeout(.seconds(1), on: virtual.service) {
            virtual.advanceWithoutSettling(by: .seconds(2))
            // The caller may not have handed the task over yet.
            while !Task.isCancelled { await Task.yield() }
            return 7
        }
        #expect(value == 7, "it was cancelled, and its value is not lost")
    }

    @Test func aTimeOutOfZeroCancelsAtOnce() async throws {
        let service = try TimerService(.usual)
        let error = await #expect(throws: PreciseTimer.TimeoutError<any Error>.self) {
            try await withTimeout(.zero, on: service) { try await Task.sleep(for: .seconds(3_600)) }
        }
        guard case .timedOut(after: .zero, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        service.shutdown()
    }

    /// The timer ends while the task of the operation is being made.
    @Test func aTimeOutThatComesBeforeItsTaskIsNotLost() async {
        await #expect(processExitsWith: .success) {
            let (virtual, firings) = (VirtualTime(), Count())
            try #require(
                NewTaskHook.set {
                    if virtual.pendingCount == 1, firings.add(1) == 1 { virtual.advance(by: .zero) }
                }
            )
            let isLost = try? await withTimeout(.zero, on: virtual.service) {
                // Longer than a machine holds the caller up, which cancels this task.
                try await Task.sleep(for: .seconds(20))
                return true
            }
            #expect(firings.value == 1)
            #expect(isLost == nil, "the operation was not cancelled")
        }
    }

    @Test func aTimeOutThatCannotBeScheduledDoesNotBeginTheOperation() async throws {
        let service = try TimerService(.usual)
        service.shutdown()
        let begun = Count()
        for (timeout, code) in [(Duration.seconds(1), TimerError.Code.shutDown), (.seconds(-1), .invalidSchedule)] {
            let error = await #expect(throws: PreciseTimer.TimeoutError<Never>.self) {
                try await withTimeout(timeout, on: service) { () async throws(Never) in begun.add(1) }
            }
            guard case .timer(let refusal) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(refusal.code == code)
        }
        #expect(begun.value == 0)
    }

    @Test(arguments: Ground.all)
    func aServiceThatEndsCancelsTheOperationAndIsNamed(ground: Ground) async throws {
        let site = try ground.site()
        let task = Task {
            try await withTimeout(.seconds(3_600), on: site.service) { try await Task.sleep(for: .seconds(3_600)) }
        }
        #expect(await soon { !site.service.activeTimers.isEmpty })
        site.service.shutdown()
        let error = await #expect(throws: PreciseTimer.TimeoutError<any Error>.self) { try await task.value }
        guard case .timer(let reason) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.code == .shutDown)
    }

    @Test func cancellingTheCallerCancelsTheOperation() async throws {
        let virtual = VirtualTime()
        let task = Task {
            try await withTimeout(.seconds(1), on: virtual.service) { try await Task.sleep(for: .seconds(3_600)) }
        }
        #expect(await soon { virtual.pendingCount == 1 })
        task.cancel()
        let error = await #expect(throws: PreciseTimer.TimeoutError<any Error>.self) { try await task.value }
        guard case .failed(let reason) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason is CancellationError)
        #expect(virtual.pendingCount == 0)
    }

    @Test func theOperationHasTheTaskLocalValuesOfTheCaller() async throws {
        let virtual = VirtualTime()
        let seen = try await Local.$value.withValue(5) {
            try await withTimeout(.seconds(1), on: virtual.service) { Local.value }
        }
        #expect(seen == 5)
    }

    private enum Local {
        @TaskLocal static var value = 0
    }
}
