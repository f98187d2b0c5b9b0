/// A clock of the kernel on which timers can be scheduled.
public enum TimerClock: String, Sendable, Hashable, CaseIterable {
    /// CLOCK_MONOTONIC: never stepped, and stands still while the system is suspended.
    case suspending
    /// CLOCK_BOOTTIME: never stepped, and goes on while the system is suspended.
    case continuous
    /// CLOCK_REALTIME: the time of day, in nanoseconds since 1970 (UTC). It is stepped and slewed, by hand or by NTP; a
    /// deadline that a step passes is due at once, one that a step moves away is waited for.
    case wall
}
