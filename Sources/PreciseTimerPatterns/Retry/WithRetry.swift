public import PreciseTimer

extension PreciseTimer {
    /// How long the pauses between the attempts of `withRetry` are.
    public struct Backoff: Hashable, Sendable {
        private let first: Duration
        private let factor: Double
        private let longest: Duration

        /// Pauses that all have the same length.
        public static func constant(_ pause: Duration) -> Backoff { Backoff(first: pause, factor: 1, longest: pause) }

        /// Pauses that each are longer than the one before, up to a limit.
        ///
        /// - Parameters:
        ///   - first: the first pause. Not negative.
        ///   - factor: how many times longer each further pause is. At least 1.
        ///   - longest: the longest pause.
        /// - Returns: the pauses.
        public static func exponential(from first: Duration, factor: Double = 2, upTo longest: Duration) -> Backoff {
            Backoff(first: first, factor: factor, longest: longest)
        }

        /// The pause after a failed attempt, of which the first has the number 1, without jitter.
        public func pause(after attempt: Int) -> Duration {
            let pause = min(first, longest)
            guard factor > 1, pause > .zero, attempt > 1 else { return pause }
            let growth = factor.raised(to: attempt - 1)
            // Compared before it is multiplied, which traps if the product is too great.
            return growth < longest / pause ? min(pause * growth, longest) : longest
        }
    }

    /// How much of a pause between two attempts is random, so that many clients do not come back together.
    @nonexhaustive public enum Jitter: Hashable, Sendable {
        /// The pause is as long as ``PreciseTimer/Backoff`` says.
        case none
        /// At least half of the pause, and at most the whole.
        case equal
        /// Any time from zero up to the whole pause: the load is spread best.
        case full
    }
}

/// Runs an operation, and again after a pause if it throws an error.
///
/// ```swift
/// let reply = try await withRetry(attempts: 5) { attempt in
///     try await withTimeout(.seconds(2) * attempt) { try await peer.ask() }
/// }
/// ```
///
/// The last attempt's error comes out as itself, also if a pause after it ends early: because a deadline passes, the
/// task is cancelled, or the service ends. Then no other attempt begins. So a `withTimeout` around the attempts throws
/// that error instead of a ``TimeoutError``, unless its deadline cancels an attempt that is running. A
/// `CancellationError` of the operation is never retried. The operation runs in the caller's isolation and task. The
/// random part of the pauses is drawn from the service's generator, which a test on virtual time gives a seed.
///
/// - Parameters:
///   - attempts: the most attempts, at least 1.
///   - backoff: how long the pauses are.
///   - jitter: how much of a pause is random.
///   - service: the running backend whose clock measures the pauses.
///   - retryIf: decides whether an error is worth another attempt. Not called for the last one.
///   - operation: the operation, which receives the number of the attempt, from 1.
/// - Returns: the operation's value.
/// - Throws: the operation's error; `CancellationError` if the task was cancelled before the first attempt; or
///   `TimerError` for no attempts, and for a negative pause.
nonisolated(nonsending) public func withRetry<Success, Failure: Error>(
    attempts: Int,
    backoff: PreciseTimer.Backoff = .exponential(from: .milliseconds(100), upTo: .seconds(10)),
    jitter: PreciseTimer.Jitter = .full,
    on service: TimerService = .default,
    retryIf: (Failure) -> Bool = { _ in true },
    operation: nonisolated(nonsending) (_ attempt: Int) async throws(Failure) -> Success
) async throws -> Success {
    let pause = { (error: Failure, attempt: Int) in
        retryIf(error) ? jitter.schedule(backoff.pause(after: attempt)) : nil
    }
    return try await retry(attempts, pause, on: service, operation)
}

/// Runs an operation that does not need the number of the attempt, and again after a pause if it throws an error.
///
/// ```swift
/// let reply = try await withRetry(attempts: 5) { try await peer.ask() }
/// ```
///
/// Otherwise like the form whose operation receives the number, which describes the rest.
nonisolated(nonsending) public func withRetry<Success, Failure: Error>(
    attempts: Int,
    backoff: PreciseTimer.Backoff = .exponential(from: .milliseconds(100), upTo: .seconds(10)),
    jitter: PreciseTimer.Jitter = .full,
    on service: TimerService = .default,
    retryIf: (Failure) -> Bool = { _ in true },
    operation: nonisolated(nonsending) () async throws(Failure) -> Success
) async throws -> Success {
    try await withRetry(attempts: attempts, backoff: backoff, jitter: jitter, on: service, retryIf: retryIf) {
        (_: Int) async throws(Failure) -> Success in try await operation()
    }
}

/// Runs an operation, and again after the pause that its error asks for.
///
/// ```swift
/// struct Refusal: Error { var retryAfter: Duration? }
///
/// let usual = PreciseTimer.Backoff.exponential(from: .milliseconds(100), upTo: .seconds(10))
/// let pause = { (error: any Error, attempt: Int) in
///     (error as? Refusal).map { $0.retryAfter ?? usual.pause(after: attempt) }        // nil ends the attempts
/// }
/// let reply = try await withRetry(attempts: 5, backoff: pause) { try await peer.ask() }
/// ```
///
/// Otherwise like the form with a fixed backoff, which describes the rest.
///
/// - Parameters:
///   - attempts: the most attempts, at least 1.
///   - backoff: the pause after a failed attempt, from its error and its number, from 1; nil if the error is not worth
///     another attempt. Not called for the last one.
///   - longestPause: the longest pause, whatever an error asks for: a minute if you do not say.
///   - jitter: how much of a pause is random: nothing if you do not say, so that no attempt comes too early.
///   - service: the running backend whose clock measures the pauses.
///   - operation: the operation, which receives the number of the attempt, from 1.
/// - Returns: the operation's value.
/// - Throws: the operation's error; `CancellationError` if the task was cancelled before the first attempt; or
///   `TimerError` for no attempts, and for a negative pause.
nonisolated(nonsending) public func withRetry<Success, Failure: Error>(
    attempts: Int,
    backoff: (_ error: Failure, _ attempt: Int) -> Duration?,
    longestPause: Duration = .seconds(60),
    jitter: PreciseTimer.Jitter = .none,
    on service: TimerService = .default,
    operation: nonisolated(nonsending) (_ attempt: Int) async throws(Failure) -> Success
) async throws -> Success {
    let pause = { (error: Failure, attempt: Int) in
        backoff(error, attempt).map { jitter.schedule(min($0, longestPause)) }
    }
    return try await retry(attempts, pause, on: service, operation)
}

/// Runs an operation that does not need the number of the attempt, and again after the pause that its error asks for.
/// Otherwise like the form whose operation receives the number.
nonisolated(nonsending) public func withRetry<Success, Failure: Error>(
    attempts: Int,
    backoff: (_ error: Failure, _ attempt: Int) -> Duration?,
    longestPause: Duration = .seconds(60),
    jitter: PreciseTimer.Jitter = .none,
    on service: TimerService = .default,
    operation: nonisolated(nonsending) () async throws(Failure) -> Success
) async throws -> Success {
    try await withRetry(attempts: attempts, backoff: backoff, longestPause: longestPause, jitter: jitter, on: service) {
        (_: Int) async throws(Failure) -> Success in try await operation()
    }
}

// `pause` gives the schedule of the pause after a failed attempt; nil if that was the last one.
private nonisolated(nonsending) func retry<Success, Failure: Error>(
    _ attempts: Int,
    _ pause: (Failure, Int) -> PreciseTimer.Schedule?,
    on service: TimerService,
    _ operation: nonisolated(nonsending) (Int) async throws(Failure) -> Success
) async throws -> Success {
    guard attempts > 0 else {
        throw TimerError(.invalidOption, "retrying with \(attempts) attempts (it must be at least 1)")
    }
    try Task.checkCancellation()
    var attempt = 1
    while true {
        let failure: Failure
        do throws(Failure) { return try await operation(attempt) } catch { failure = error }
        let isFinal = attempt >= attempts || Task.isCancelled || failure is CancellationError
        guard !isFinal, let pause = pause(failure, attempt), try await isOver(pause, on: service) else { throw failure }
        attempt += 1
    }
}

/// Waits for the end of a pause. Returns false if the task is cancelled, or if the service has no end for it, because
/// it ended, failed or refused: why the attempt failed says more than why no other one follows.
///
/// - Throws: `TimerError` for a negative pause.
private nonisolated(nonsending) func isOver(
    _ pause: PreciseTimer.Schedule,
    on service: TimerService
) async throws(TimerError) -> Bool {
    var isOver = false
    do {
        for try await _ in PreciseTimer.ticks(pause, on: service, label: "a pause before a retry") { isOver = true }
    } catch let error as TimerError where error.code == .invalidSchedule {
        throw error
    } catch {}
    return isOver && !Task.isCancelled
}

extension Double {
    /// This number to the power of a natural number, in at most 63 steps.
    fileprivate func raised(to exponent: Int) -> Double {
        var (product, square, rest) = (1.0, self, exponent)
        while rest > 0 {
            if rest % 2 == 1 { product *= square }
            (square, rest) = (square * square, rest / 2)
        }
        return product
    }
}

extension PreciseTimer.Jitter {
    /// The deadline at which a pause ends.
    fileprivate func schedule(_ pause: Duration) -> PreciseTimer.Schedule {
        switch self {
        case .none: .once(after: pause)
        case .equal: .once(after: pause / 2, spread: pause - pause / 2)
        case .full: .once(after: .zero, spread: pause)
        }
    }
}
