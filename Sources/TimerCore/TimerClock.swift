/// A clock of the kernel on which timers can be scheduled.
public enum TimerClock: String, Sendable, Hashable, Codable, CaseIterable {
    /// CLOCK_MONOTONIC: never stepped; stands still while the system is suspended.
    case suspending
    /// CLOCK_BOOTTIME: never stepped; continues while the system is suspended.
    case continuous
    /// CLOCK_REALTIME: the time of day, in nanoseconds since 1970 (UTC). People and NTP step and slew it. If a step
    /// passes a deadline, the deadline is due at once; if a step moves a deadline away, the timer waits for it.
    case wall
}

extension TimerClock: CustomStringConvertible {
    /// The name.
    public var description: String { rawValue }
}
