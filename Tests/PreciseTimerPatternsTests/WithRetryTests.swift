import PreciseTimer
import PreciseTimerPatterns
import PreciseTimerTestKit
import TestSupport
import Testing

/// Attempts, the pauses between them, and what ends them.
struct WithRetryTests {
    private struct Broken: Error, Equatable { var attempt = 0 }

    private let virtual = VirtualTime()
    private let attempts = Count()

    // MARK: Pauses

    fileprivate typealias Attempt = @Sendable (Int) async throws -> Void

    /// The pauses of an operation whose attempts fail, in milliseconds.
    private func pauses(
        seed: UInt64 = 0,
        _ call: @escaping @Sendable (TimerService, @escaping Attempt) async throws -> Void
    ) async throws -> [Int] {
        let (virtual, times, isOver) = (VirtualTime(seed: seed), Notes<TimerInstant>(), Gate())
        let retrying = Task {
            defer { isOver.open() }
            try await call(virtual.service) { attempt in
                times.append(virtual.now)
                throw Broken(attempt: attempt)
            }
        }
        while !isOver.isPassable {
            await virtual.settle()
            if let next = virtual.nextDeadline { virtual.advanceWithoutSettling(by: virtual.now.duration(to: next)) }
        }
        await #expect(throws: Broken(attempt: times.all.count)) { try await retrying.value }
        return zip(times.all, times.all.dropFirst()).map { Int($0.duration(to: $1) / .milliseconds(1)) }
    }

    enum Form: CaseIterable {
        case numbered, plain, choosingNumbered, choosing

        var chooses: Bool { self == .choosingNumbered || self == .choosing }

        /// Of a pause with jitter, only its limits are certain.
        var facts: [String: String] {
            chooses
                ? ["longestPause jitter on": "500..<1000, 1500..<3000, 1500..<3000"]
                : ["backoff jitter on retryIf": "1000, 2000, 3000"]
        }

        var row: FormRow {
            let options = chooses ? "backoff:longestPause:jitter:on" : "backoff:jitter:on:retryIf"
            let operation = self == .numbered || self == .choosingNumbered ? "(Int) async" : "() async"
            return FormRow("withRetry(attempts:\(options):operation:)", operation, facts: facts)
        }

        /// Has five attempts at most, and does not repeat the fourth one.
        @Sendable fileprivate func call(on service: TimerService, attempt: @escaping Attempt) async throws {
            let (number, longest) = (Count(), Duration.seconds(3))
            let next = { @Sendable in try await attempt(number.add(1)) }
            let backoff = PreciseTimer.Backoff.exponential(from: .seconds(1), upTo: longest)
            let goesOn = { (error: any Error) in (error as? Broken)?.attempt != 4 }
            let pause = { (error: any Error, attempt: Int) -> Duration? in
                goesOn(error) ? attempt == 1 ? .seconds(1) : .seconds(100) : nil
            }
            switch self {
            case .numbered:
                try await withRetry(attempts: 5, backoff: backoff, jitter: .none, on: service, retryIf: goesOn) {
                    try await attempt($0)
                }
            case .plain:
                try await withRetry(attempts: 5, backoff: backoff, jitter: .none, on: service, retryIf: goesOn) {
                    try await next()
                }
            case .choosingNumbered:
                try await withRetry(attempts: 5, backoff: pause, longestPause: longest, jitter: .equal, on: service) {
                    try await attempt($0)
                }
            case .choosing:
                try await withRetry(attempts: 5, backoff: pause, longestPause: longest, jitter: .equal, on: service) {
                    try await next()
                }
            }
        }
    }

    @Test(arguments: Form.allCases) func eachFormHeedsItsOptions(form: Form) async throws {
        let texts = try await pauses(form.call)
            .map { pause in
                let limits = [500..<1_000, 1_500..<3_000].first { $0.contains(pause) && pause % 1_000 != 0 }
                return limits.map { "\($0)" } ?? "\(pause)"
            }
        #expect([texts.joined(separator: ", ")] == Array(form.facts.values))
    }

    @Test(arguments: [true, false]) func aPauseThatTheErrorChoosesIsExact(isNumbered: Bool) async throws {
        let pause = { @Sendable (_: any Error, attempt: Int) -> Duration? in .seconds([1, 0, 100][attempt - 1]) }
        let longest = Duration.seconds(3)
        let chosen = try await pauses { service, attempt in
            if isNumbered {
                try await withRetry(attempts: 4, backoff: pause, longestPause: longest, on: service, operation: attempt)
            } else {
                let number = Count()
                try await withRetry(attempts: 4, backoff: pause, longestPause: longest, on: service) {
                    try await attempt(number.add(1))
                }
            }
        }
        #expect(chosen == [1_000, 0, 3_000])
    }

    @Test func jitterIsTheServicesAndItsSeedRepeatsIt() async throws {
        let pauses = { (jitter: PreciseTimer.Jitter, seed: UInt64) in
            try await self.pauses(seed: seed) {
                try await withRetry(attempts: 5, backoff: .constant(.seconds(1)), jitter: jitter, on: $0, operation: $1)
            }
        }
        let full = try await pauses(.full, 7)
        #expect(try await pauses(.full, 7) == full)
        #expect(try await pauses(.full, 8) != full)
        #expect(Set(full).count > 1 && full.allSatisfy((0...1_000).contains))
        var equal: [Int] = []
        for seed in 0..<20 { equal += try await pauses(.equal, UInt64(seed)) }
        #expect(equal.filter { $0 < 500 || $0 > 1_000 } == [])
        #expect(equal.contains { $0 < 600 } && equal.contains { $0 > 900 })
    }

    @Test(arguments: [
        (8, 1.5, [0, 1, 2, 3, 4, 5], [8, 8, 12, 18, 27, 40.5]), (1, 3, [1, 2, 3, 4], [1, 3, 9, 27]),
        (0.1, 2, [0, 1, 1_000_000], [0.1, 0.1, 60]),
    ])
    func thePauseAfterAnAttemptIsKnown(first: Double, factor: Double, attempts: [Int], expected: [Double]) {
        let backoff = PreciseTimer.Backoff.exponential(from: .seconds(first), factor: factor, upTo: .seconds(60))
        #expect(attempts.map(backoff.pause(after:)) == expected.map { .seconds($0) })
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
        // With the least factor, the pauses take longer than any test to reach their limit one by one.
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
        let slow = PreciseTimer.Backoff.exponential(from: .seconds(1), factor: 1.nextUp, upTo: .seconds(1_000_000))
        #expect(slow.pause(after: .max) > .seconds(1), "it rises")
    }

    // MARK: Attempts

    @Test func aCancellationErrorIsNotWorthARetry() async throws {
        await #expect(throws: CancellationError.self) {
            try await withRetry(attempts: 5, on: virtual.service) { throw CancellationError() }
        }
        #expect(virtual.pendingCount == 0)
    }

    @Test func impossibleRequestsAreRefused() async throws {
        let none = await #expect(throws: TimerError.self) {
            try await withRetry(attempts: 0, on: virtual.service) { _ in attempts.add(1) }
        }
        #expect(attempts.value == 0)
        let negative = await #expect(throws: TimerError.self) {
            try await withRetry(attempts: 2, backoff: .constant(.seconds(-1)), on: virtual.service) { throw Broken() }
        }
        #expect([none?.code, negative?.code] == [.invalidOption, .invalidSchedule])
    }

    // MARK: Ends

    /// What ends a pause, or does not let it begin.
    enum Cut: CaseIterable { case timeout, outerDeadline, caller, inAttempt, shutdown, earlierShutdown, failure }

    /// Five attempts with pauses of ten seconds, under the deadlines that a cut needs.
    private func retrying(_ cut: Cut, on service: TimerService) -> Task<Void, any Error> {
        Task { [virtual, attempts] in
            let second = Duration.seconds(1)
            let call = { @Sendable in
                try await withRetry(attempts: 5, backoff: .constant(second * 10), jitter: .none, on: service) {
                    number in
                    attempts.add(1)
                    if cut == .earlierShutdown { service.shutdown() }
                    while cut == .inAttempt, !Task.isCancelled { await Task.yield() }
                    throw Broken(attempt: number)
                }
            }
            switch cut {
            case .timeout: try await withTimeout(second, on: virtual.service) { try await call() }
            case .outerDeadline:
                try await withTimeout(second, on: virtual.service) {
                    try await withTimeout(second * 2, on: virtual.service) { try await call() }
                }
            case .caller, .inAttempt, .shutdown, .earlierShutdown, .failure: try await call()
            }
        }
    }

    @Test(arguments: Cut.allCases)
    func whateverEndsAPauseLetsTheErrorOfTheAttemptOutAndBeginsNoOther(_ cut: Cut) async throws {
        let alarm = RefusingAlarm(settings: 10)
        let service = cut == .failure ? try TimerService(alarm: alarm) : virtual.service
        let task = retrying(cut, on: service)
        let isPaused = { service.activeTimers.contains { $0.label == "a pause before a retry" } }
        if cut != .earlierShutdown { #expect(await soon { cut == .inAttempt ? attempts.value == 1 : isPaused() }) }
        switch cut {
        case .timeout, .outerDeadline: virtual.advanceWithoutSettling(by: .seconds(1))
        case .caller, .inAttempt: task.cancel()
        case .shutdown: service.shutdown()
        case .earlierShutdown: break
        case .failure: alarm.fail()
        }
        await #expect(throws: Broken(attempt: 1)) { try await task.value }
        #expect([attempts.value, virtual.pendingCount] == [1, 0])
    }

    @Test func aCancelledTaskBeginsNoAttempt() async throws {
        let task = Task { [virtual, attempts] in
            unsafe withUnsafeCurrentTask { task in unsafe task?.cancel() }
            _ = try await withRetry(attempts: 5, on: virtual.service) { attempts.add(1) }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(attempts.value == 0)
    }

    // MARK: Isolation

    @MainActor @Test func theOperationRunsInTheCallersIsolation() async throws {
        var reached = 0
        try await withRetry(attempts: 3, backoff: .constant(.zero)) { attempt in
            MainActor.assertIsolated()
            if attempt == 1 { throw Broken() }
            reached = attempt
        }
        #expect(reached == 2)
        try await withRetry(attempts: 1) { MainActor.assertIsolated() }
    }
}
