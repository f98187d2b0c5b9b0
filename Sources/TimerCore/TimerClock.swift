/// A clock of the kernel on which timers can be scheduled.
public enum TimerClock: String, Sendable, Hashable, CaseIterable {
    /// CLOCK_MONOTONIC: never stepped, and stands still while the system is suspended.
    case suspending
}
