import PreciseTimer
import PreciseTimerPatterns
import PreciseTimerTestKit
import TestSupport
import Testing

/// Attempts, the pauses between them, and what ends them.
struct WithRetryTests {
    private struct Broken: Error, Equatable { var attempt = 0 }

    /// Lets virtual time go on as long as a task runs. Returns its result.
    private func result<Value: Sendable>(
        _ virtual: VirtualTime,
        _ body: @escaping @Sendable () async throws -> Value
    ) async -> Result<Value, any Error> {
        let (task, isOver) = (Task(operation: body), Gate())
        Task {
            _ = await task.result
            isOver.open()
        }
        while !isOver.isPassable {
            await virtual.settle()
            if let next = virtual.nextDeadline { virtual.advanceWithoutSettling(by: virtual.now.duration(to: next)) }
        }
        return await task.result
    }

    /// The pauses between five attempts that fail, in milliseconds.
    private func pauses(
        _ backoff: PreciseTimer.Backoff,
        _ jitter: PreciseTimer.Jitter,
        seed: UInt64 = 0
    ) async throws -> [Int] {
        let (virtual, times) = (VirtualTime(seed: seed), Notes<TimerInstant>())
        let result = await result(virtual) {
            try await withRetry(attempts: 5, backoff: backoff, jitter: jitter, on: virtual.service) { attempt in
                times.append(virtual.now)
                throw Broken(attempt: attempt)
            }
        }
        #expect(throws: Broken(attempt: 5)) { try result.get() }
        return zip(times.all, times.all.dropFirst()).map { Int($0.duration(to: $1) / .milliseconds(1)) }
    }

    @Test func pausesOfAnyNumbersAreWithinTheirLimits() {
        let durations = [
            Duration.seconds(-1), .zero, .nanoseconds(3), .milliseconds(37), .seconds(10),
            .seconds(75) - Duration(secondsComponent: 0, attosecondsComponent: 1), .seconds(Int64.max),
            .seconds(Int64.max) * 18,
        ]
        let factors = [
            -1, 0, 0.5, 1.nextDown, 1, 1.nextUp, 1.5, 2, 1e30, .greatestFiniteMagnitude, .infinity, -.infinity, .nan,
        ]
        let attempts = [Int.min, -1, 0, 1, 2, 100, .max]
        for first in durations {
            for longest in durations {
                for factor in factors + [(longest / first).nextDown] {
                    let backoff = PreciseTimer.Backoff.exponential(from: first, factor: factor, upTo: longest)
                    let pauses = attempts.map(backoff.pause(after:))
                    let (least, isRising) = (min(first, longest), zip(pauses, pauses.dropFirst()).allSatisfy(<=))
                    let areWithin = pauses.allSatisfy { $0 >= least && $0 <= longest }
                    let areNone = first > .zero || pauses.allSatisfy { $0 == least }
                    #expect(areWithin && isRising && areNone, "\(first) to \(longest), factor \(factor): \(pauses)")
                }
            }
        }
    }

    /// With the least factor, the pauses take longer than any test to reach their limit one by one.
    @Test func thePauseAfterAnyAttemptIsKnownAtOnce() {
        let backoff = PreciseTimer.Backoff.exponential(from: .seconds(1), factor: 1.nextUp, upTo: .seconds(1_000_000))
        let pause = backoff.pause(after: .max)
        #expect(pause > .seconds(1) && pause <= .seconds(1_000_000))
    }

    @Test func aFactorThatIsNoWholeNumberRaisesEachPauseByItself() {
        let backoff = PreciseTimer.Backoff.exponential(from: .seconds(8), factor: 1.5, upTo: .seconds(1_000))
        #expect((1...5).map(backoff.pause(after:)) == [8, 12, 18, 27, 40.5].map(Duration.seconds))
    }

    @Test func aShutdownDuringAPauseIsToldAndBeginsNoAttempt() async throws {
        let (service, attempts) = (try TimerService(.timerFD), Count())
        let retrying = Task {
            try await withRetry(attempts: 5, backoff: .constant(.seconds(3_600)), jitter: .none, on: service) {
                attempts.add(1)
                throw CodingFault()
            }
        }
        #expect(await soon { service.activeTimers.count == 1 })
        service.shutdown()
        let error = await #expect(throws: TimerError.self) { try await retrying.value }
        #expect(error?.code == .shutDown)
        #expect(attempts.value == 1)
    }

    @Test func pausesDoubleUpToALimit() async throws {
        let backoff = PreciseTimer.Backoff.exponential(from: .milliseconds(100), upTo: .milliseconds(350))
        #expect(try await pauses(backoff, .none) == [100, 200, 350, 350])
        #expect(try await pauses(.constant(.milliseconds(30)), .none) == [30, 30, 30, 30])
        let triple = PreciseTimer.Backoff.exponential(from: .milliseconds(1), factor: 3, upTo: .seconds(1))
        #expect(try await pauses(triple, .none) == [1, 3, 9, 27])
    }

    @Test func jitterIsTheServicesAndItsSeedRepeatsIt() async throws {
        let backoff = PreciseTimer.Backoff.constant(.seconds(1))
        let full = try await pauses(backoff, .full, seed: 7)
        #expect(try await pauses(backoff, .full, seed: 7) == full)
        #expect(try await pauses(backoff, .full, seed: 8) != full)
        #expect(Set(full).count > 1)
        let outside = full.filter { $0 < 0 || $0 > 1_000 }
        #expect(outside == [])
        var equal: [Int] = []
        for seed in 0..<20 { equal += try await pauses(backoff, .equal, seed: UInt64(seed)) }
        let tooFar = equal.filter { $0 < 500 || $0 > 1_000 }
        #expect(tooFar == [])
        #expect(equal.contains { $0 < 600 } && equal.contains { $0 > 900 })
    }

    @Test func aPauseOfManyAttemptsIsAtMostTheLimit() {
        let backoff = PreciseTimer.Backoff.exponential(from: .milliseconds(100), upTo: .seconds(60))
        #expect(backoff.pause(after: 1_000_000) == .seconds(60))
        #expect(backoff.pause(after: 1) == .milliseconds(100) && backoff.pause(after: 0) == .milliseconds(100))
    }

    @Test func theFirstSuccessIsReturned() async throws {
        let virtual = VirtualTime()
        let result = await result(virtual) {
            try await withRetry(attempts: 5, on: virtual.service) { attempt in
                if attempt < 3 { throw Broken() }
                return attempt
            }
        }
        #expect(try result.get() == 3)
        #expect(virtual.pendingCount == 0)
    }

    @Test func anErrorThatIsNotWorthARetryComesOutAtOnce() async throws {
        let (virtual, attempts) = (VirtualTime(), Count())
        let isWorthRetry: @Sendable (any Error) -> Bool = { ($0 as? Broken)?.attempt == 1 }
        await #expect(throws: Broken(attempt: 2)) {
            try await withRetry(attempts: 5, backoff: .constant(.zero), retryIf: isWorthRetry) { attempt in
                attempts.add(1)
                throw Broken(attempt: attempt)
            }
        }
        #expect(attempts.value == 2)
        await #expect(throws: CancellationError.self) {
            try await withRetry(attempts: 5, on: virtual.service) { _ in throw CancellationError() }
        }
        #expect(virtual.pendingCount == 0)
    }

    @Test func cancellingThePauseEndsItAtOnce() async throws {
        let (virtual, attempts) = (VirtualTime(), Count())
        let task = Task {
            try await withRetry(attempts: 5, on: virtual.service) { _ in
                attempts.add(1)
                throw Broken()
            }
        }
        #expect(await soon { virtual.pendingCount == 1 })
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(attempts.value == 1 && virtual.pendingCount == 0)
    }

    @Test func aCancelledTaskBeginsNoAttempt() async throws {
        let (virtual, attempts) = (VirtualTime(), Count())
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            _ = try await withRetry(attempts: 5, on: virtual.service) { attempts.add(1) }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(attempts.value == 0)
    }

    @Test func cancellingDuringAnAttemptLetsItsErrorOutAndBeginsNoOther() async throws {
        let (virtual, attempts) = (VirtualTime(), Count())
        let task = Task {
            try await withRetry(attempts: 5, on: virtual.service) { _ in
                attempts.add(1)
                while !Task.isCancelled { await Task.yield() }
                throw Broken()
            }
        }
        #expect(await soon { attempts.value == 1 })
        task.cancel()
        await #expect(throws: Broken()) { try await task.value }
        #expect(attempts.value == 1)
    }

    @Test func impossibleRequestsAreRefused() async throws {
        let (virtual, attempts) = (VirtualTime(), Count())
        await #expect(throws: TimerError.self) {
            try await withRetry(attempts: 0, on: virtual.service) { _ in attempts.add(1) }
        }
        #expect(attempts.value == 0)
        let error = await #expect(throws: TimerError.self) {
            try await withRetry(attempts: 2, backoff: .constant(.seconds(-1)), on: virtual.service) { _ in
                throw Broken()
            }
        }
        #expect(error?.code == .invalidSchedule)
    }

    @MainActor private final class Model {
        var reply = ""

        func load(_ service: TimerService) async throws {
            try await withRetry(attempts: 3, backoff: .constant(.zero), on: service) { attempt in
                MainActor.assertIsolated()
                if attempt == 1 { throw Broken() }
                reply = "attempt \(attempt)"
            }
            try await withRetry(attempts: 3, on: service) { reply += "!" }
            reply += try await withRetry(attempts: 3, on: service) { try await mark() }
            let isolation = try await withRetry(attempts: 3, on: service) { await currentIsolation() }
            #expect(isolation === MainActor.shared, "the operation hands its actor on")
            // With Swift 6.2, the value of a function without an isolation of its own gets none.
            #if compiler(>=6.3)
            let other = try await withRetry(attempts: 3, on: service, operation: currentIsolation)
            #expect(other === MainActor.shared)
            #endif
        }

        private func mark() async throws -> String { "?" }
    }

    @MainActor @Test func theOperationRunsInTheCallersIsolation() async throws {
        let model = Model()
        try await model.load(.default)
        #expect(model.reply == "attempt 2!?")
    }
}

private nonisolated(nonsending) func currentIsolation() async -> (any Actor)? { #isolation }

private struct CodingFault: Error {}
