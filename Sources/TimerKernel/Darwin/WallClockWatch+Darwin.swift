#if canImport(Darwin) || KQUEUE
/// A watch for steps of the wall clock and for suspensions. A Mac has none yet: making one throws, so the methods are
/// never called.
package final class WallClockWatch: Sendable {
    /// - Throws: `TimerError`, in any case.
    package init(longestSleep: Duration = .seconds(60)) throws(TimerError) {
        throw TimerError(.unavailable, "watching the wall clock (not on a Mac: only Dispatch follows its steps there)")
    }

    package func start(
        onCheck: @escaping @Sendable (ClockChanges) -> Void,
        onFailure: @escaping @Sendable (TimerError) -> Void
    ) throws(TimerError) {}

    package func stop() {}
}
#endif
