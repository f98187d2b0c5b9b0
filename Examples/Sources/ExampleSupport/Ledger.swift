internal import Glibc
public import PreciseTimer
internal import Synchronization

/// Counts the ticks of one timer, and checks two promises with each: it is not early, and every deadline before its own
/// had a tick or was counted as missed.
public final class Ledger: Sendable {
    private let counts = Mutex<(ticks: Int, deadlines: Int)>((0, 0))

    /// A ledger without a tick.
    public init() {}

    /// How many ticks there were.
    public var ticks: Int { counts.withLock { $0.ticks } }
    /// How many deadlines they stand for.
    public var deadlines: Int { counts.withLock { $0.deadlines } }
    /// How many deadlines got no tick.
    public var missed: Int { counts.withLock { $0.deadlines - $0.ticks } }

    /// Checks and counts a tick.
    public func note(_ tick: PreciseTimer.Tick) {
        counts.withLock { counts in
            check(tick.lateness >= .zero, "a tick was early: \(tick)")
            check(tick.index == counts.deadlines, "deadline \(counts.deadlines) was lost: \(tick)")
            counts = (counts.ticks + 1, counts.deadlines + 1 + tick.missed)
        }
    }
}

/// Ends the program with an error if a promise is broken.
///
/// - Parameters:
///   - isKept: whether the promise is kept.
///   - complaint: what went wrong if it is not.
public func check(_ isKept: Bool, _ complaint: @autoclosure () -> String) {
    if !isKept { fail(complaint()) }
}

/// Ends the program with an error.
public func fail(_ complaint: String) -> Never {
    print("failed:", complaint)
    exit(1)
}

/// Waits until a condition holds. The machine may be busy, so only half a minute is an error.
public func wait(
    for event: String,
    isolation: isolated (any Actor)? = #isolation,
    until condition: () -> Bool
) async throws {
    let limit = ContinuousClock.now.advanced(by: .seconds(30))
    while !condition() {
        check(ContinuousClock.now < limit, "waited for \(event) for half a minute")
        try await Task.sleep(for: .milliseconds(1))
    }
}
