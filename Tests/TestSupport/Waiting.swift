internal import PreciseTimer
internal import TimerKernel

/// Waits until a condition holds. Returns false if it does not within a time. The usual half a minute is longer than
/// any stall of a busy host, and is counted in attempts (``Patience``). A wait without a time starts a task after a
/// second, and so Dispatch: a probe whose system calls are refused gives a time.
package func eventually(within time: Duration? = nil, _ condition: () -> Bool) -> Bool {
    var patience = Patience(time)
    while let pause = patience.next() {
        if condition() { return true }
        KernelClock.sleep(for: pause)
    }
    return condition()
}

/// Waits until a condition holds, without blocking a thread that tasks need. Returns false if it does not within
/// half a minute, counted in attempts (``Patience``).
package nonisolated(nonsending) func soon(_ condition: () -> Bool) async -> Bool {
    var patience = Patience(nil)
    while let pause = patience.next() {
        if condition() { return true }
        try? await Task.sleep(for: pause)
    }
    return condition()
}

/// Counts the attempts of a wait. What is waited for may need a thread of the tasks or the main actor, which other
/// tests may have for a minute: if no time is given, attempts count only if each second a task has its turn on both. No
/// wait is ten times as long.
private struct Patience {
    private let (most, isGiven): (Int, Bool)
    private var (used, all) = (0, 0)
    /// Opened by a task.
    private var turn: Gate?

    init(_ time: Duration?) { (most, isGiven) = (40 + Int((time ?? .seconds(30)) / .milliseconds(5)), time != nil) }

    /// The time between two attempts; nil if there were enough. Who has waited for long can wait a little longer, and
    /// many who wait at the same time would keep a processor busy.
    mutating func next() -> Duration? {
        all += 1
        if turn?.isPassable != false {
            used += 1
            turn = nil
        }
        guard used <= most, all <= 10 * most else { return nil }
        if turn == nil, used % 200 == 0, !isGiven {
            let gate = Gate()
            turn = gate
            Task.detached { await MainActor.run { gate.open() } }
        }
        return used <= 50 ? .milliseconds(1) : .milliseconds(5)
    }
}

/// Whether three of five attempts succeed: for what a machine that stands still for some milliseconds can spoil.
package nonisolated(nonsending) func mostSucceed(
    _ attempt: nonisolated(nonsending) () async throws -> Bool
) async rethrows -> Bool {
    var (successes, failures) = (0, 0)
    while successes < 3, failures < 3 { if try await attempt() { successes += 1 } else { failures += 1 } }
    return successes == 3
}

/// When a process that a test has started counts as hung. Half an hour is longer than any needs, also if a busy machine
/// gives it a hundredth of a processor: only a process that hangs takes that long.
package enum Hang {
    package static let seconds: UInt32 = 1_800
}

/// Runs a blocking body on its own thread. There are only as many threads for tasks as processors, and other
/// tests need them.
package func onOwnThread<Success: Sendable>(_ body: @escaping @Sendable () throws -> Success) async throws -> Success {
    try await withCheckedThrowingContinuation { continuation in
        do {
            try Thread.start("test.own") { continuation.resume(with: Result(catching: body)) }
        } catch {
            continuation.resume(throwing: error)
        }
    }
}

/// Lets real time pass.
package func pause(_ duration: Duration) { KernelClock.sleep(for: duration) }

/// Runs a body on a number of threads, started together, and waits for all of them.
package func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) throws {
    let running = try beginThreads(count, body)
    while running.withLock({ $0 }) > 0 { KernelClock.sleep(for: .milliseconds(1)) }
}

/// Runs a body on a number of threads, all begun at once, and waits for all of them without blocking a thread that
/// tasks need.
package func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) async throws {
    let running = try beginThreads(count, body)
    while running.withLock({ $0 }) > 0 { try await Task.sleep(for: .milliseconds(2)) }
}

private func beginThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) throws -> Lock<Int> {
    let running = Lock(count)
    let isOpen = Lock(false)
    for number in 0..<count {
        try Thread.start("test.\(number)") {
            while !isOpen.withLock({ $0 }) { KernelClock.sleep(for: .microseconds(50)) }
            body(number)
            running.withLock { $0 -= 1 }
        }
    }
    isOpen.withLock { $0 = true }
    return running
}
