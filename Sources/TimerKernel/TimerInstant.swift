/// An instant on one of the kernel's clocks, in whole nanoseconds since that clock's origin.
///
/// All arithmetic saturates: an instant too far in the future becomes ``never(on:)``, and one before the origin
/// becomes the origin. Durations are rounded up to whole nanoseconds, so that rounding never makes anything early.
///
/// Comparing instants of two different clocks is a programming error.
public struct TimerInstant: InstantProtocol, Hashable, Codable, Sendable {
    /// Nanoseconds since the origin of ``clock``.
    public let nanoseconds: UInt64

    /// The clock that this instant belongs to.
    public let clock: TimerClock

    /// Creates an instant from the nanoseconds since the clock's origin.
    public init(nanoseconds: UInt64, clock: TimerClock = .suspending) {
        self.nanoseconds = nanoseconds
        self.clock = clock
    }

    /// The instant that never comes.
    public static func never(on clock: TimerClock) -> TimerInstant {
        TimerInstant(nanoseconds: .max, clock: clock)
    }

    /// The origin of a clock: its instant of 0 ns. That of the wall clock is the beginning of 1970 (UTC).
    public static func origin(on clock: TimerClock) -> TimerInstant { TimerInstant(nanoseconds: 0, clock: clock) }

    /// Whether this is the instant that never comes.
    public var isNever: Bool { nanoseconds == .max }

    /// This instant moved by a duration, which is rounded up to whole nanoseconds; saturates.
    public func advanced(by duration: Duration) -> TimerInstant {
        if isNever { return self }
        // The distance of two instants may be longer than 64 bits with a sign can tell.
        let sum = Int128(nanoseconds) + duration.exactNanoseconds
        return TimerInstant(nanoseconds: UInt64(clamping: sum), clock: clock)
    }

    /// The exact duration from this instant to another of the same clock; negative if the other is earlier.
    public func duration(to other: TimerInstant) -> Duration {
        precondition(clock == other.clock, "instants of two clocks have no distance")
        return other.nanoseconds >= nanoseconds
            ? Duration(wholeNanoseconds: other.nanoseconds - nanoseconds)
            : .zero - Duration(wholeNanoseconds: nanoseconds - other.nanoseconds)
    }

    /// Whether an instant is earlier than another of the same clock.
    public static func < (left: TimerInstant, right: TimerInstant) -> Bool {
        precondition(left.clock == right.clock, "instants of two clocks cannot be compared")
        return left.nanoseconds < right.nanoseconds
    }

    /// This instant moved towards the future; saturates at never.
    package func moved(by nanoseconds: UInt64) -> TimerInstant {
        let (sum, overflow) = self.nanoseconds.addingReportingOverflow(nanoseconds)
        return TimerInstant(nanoseconds: overflow ? .max : sum, clock: clock)
    }
}

extension TimerInstant: CustomStringConvertible {
    /// The nanoseconds and the clock, as in `1500000000 ns (suspending)`.
    public var description: String {
        isNever ? "never (\(clock.rawValue))" : "\(nanoseconds) ns (\(clock.rawValue))"
    }
}

/// A clock of the kernel on which timers can be scheduled.
public enum TimerClock: String, Sendable, Hashable, Codable, CaseIterable {
    /// CLOCK_MONOTONIC: never stepped; stands still while the system is suspended to RAM or to disk. In suspend to idle
    /// (s2idle) Linux stops it only if a cpuidle driver takes part, as in most guests it does not. It then goes on, and
    /// deadlines that pass in the meantime are late.
    case suspending
    /// CLOCK_BOOTTIME: never stepped; continues while the system is suspended.
    case continuous
    /// CLOCK_REALTIME: the time of day, in nanoseconds since 1970 (UTC). People and NTP step and slew it. If a step
    /// passes a deadline, the deadline is due at once; if a step moves a deadline away, the timer waits for it. In a
    /// sandbox whose kernel does not report steps, such as gVisor, services look at the clock once a minute instead.
    case wall
}

extension TimerClock: CustomStringConvertible {
    /// The name.
    public var description: String { rawValue }
}

/// Instants of the wall clock in seconds, as dates count them. Both directions round up.
extension TimerInstant {
    /// From 1970 to 2001, in seconds.
    private static let from1970: Int128 = 978_307_200

    /// The instant that is so many seconds after the beginning of 2001 (UTC), rounded up to the nanosecond. One before
    /// 1970 becomes the clock's origin; one after 21 July 2554, 23:34 UTC, and a number that is not one, become never.
    package init(secondsSince2001 interval: Double) {
        // A number that is not one is in no range.
        guard interval < 1e11 else {
            self = .never(on: .wall)
            return
        }
        // Whole seconds and their fraction apart: a `Double` of the nanoseconds since 1970 would be less precise, and
        // one of the seconds since 1970 would round the last moments of a second up to the next second.
        let interval = max(interval, -1e11)
        let second = interval.rounded(.down)
        let nanoseconds = Int128(((interval - second) * 1e9).rounded(.up))
        let sum = (Int128(second) + Self.from1970) * 1_000_000_000 + nanoseconds
        self.init(nanoseconds: UInt64(clamping: sum), clock: .wall)
    }

    /// The first number of seconds after the beginning of 2001 (UTC) that is not before this instant of the wall clock.
    ///
    /// A number that is less than a nanosecond before it has this instant, and is the one that the instant was made of.
    /// So it counts as not before it, except for a whole millisecond: a formatter would cut that off.
    package var secondsSince2001: Double {
        let sum = Int128(nanoseconds) - Self.from1970 * 1_000_000_000
        let (seconds, rest) = sum.quotientAndRemainder(dividingBy: 1_000_000_000)
        // Off by less than the distance of two numbers.
        let near = Double(seconds) + Double(rest) / 1e9
        // By how many nanoseconds it is later: rounded once, so the sign is exact.
        let whole = near.rounded(.towardZero)
        let later = (-Double(sum - Int128(whole) * 1_000_000_000)).addingProduct(near - whole, 1e9)
        let isBefore = nanoseconds % 1_000_000 == 0 ? later < 0 : later <= -1
        return isBefore ? near.nextUp : near
    }
}

/// Conversions between durations and whole nanoseconds, which no other file makes, and sums that never trap.
extension Duration {
    /// Whole nanoseconds, rounded up: exact for any length.
    package var exactNanoseconds: Int128 {
        // Division truncates towards zero, which for a negative length already is upwards.
        let (whole, rest) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return rest > 0 ? whole + 1 : whole
    }

    /// Whole nanoseconds, rounded up; saturates at the ends of `Int64`, about 292 years either way.
    package var nanosecondsRoundedUp: Int64 { Int64(clamping: exactNanoseconds) }

    /// Whole nanoseconds of a length that is not negative, rounded down, as a bound is; saturates.
    package var nanosecondsRoundedDown: UInt64 { UInt64(clamping: attoseconds / 1_000_000_000) }

    /// Whole nanoseconds, rounded up; nil if the length is negative. A length beyond the range of `Int64` becomes
    /// `UInt64.max`, which stands for forever.
    package var nanosecondsUnlessNegative: UInt64? {
        let attoseconds = attoseconds
        // Nearly every length takes this path: dividing unsigned numbers is faster, and the sum cannot overflow.
        if attoseconds >= 0, attoseconds < Int128(Int64.max) * 1_000_000_000 {
            return UInt64(truncatingIfNeeded: (UInt128(truncatingIfNeeded: attoseconds) + 999_999_999) / 1_000_000_000)
        }
        if attoseconds < 0 { return nil }
        let nanoseconds = nanosecondsRoundedUp
        return nanoseconds == .max ? .max : UInt64(nanoseconds)
    }

    /// The same of a length that must not be negative.
    package var nanosecondsOrForever: UInt64 {
        guard let nanoseconds = nanosecondsUnlessNegative else { preconditionFailure("a length is not negative") }
        return nanoseconds
    }

    /// The sum; saturates.
    package func saturatingAdding(_ other: Duration) -> Duration {
        let (sum, overflow) = attoseconds.addingReportingOverflow(other.attoseconds)
        return Duration(attoseconds: overflow ? (other < .zero ? .min : .max) : sum)
    }

    /// The difference; saturates.
    package func saturatingSubtracting(_ other: Duration) -> Duration {
        let (difference, overflow) = attoseconds.subtractingReportingOverflow(other.attoseconds)
        return Duration(attoseconds: overflow ? (other < .zero ? .max : .min) : difference)
    }

    /// The exact duration of a number of nanoseconds, even of one beyond `Int64`.
    package init(wholeNanoseconds: UInt64) {
        let (seconds, nanoseconds) = wholeNanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        self.init(secondsComponent: Int64(seconds), attosecondsComponent: Int64(nanoseconds) * 1_000_000_000)
    }
}

/// How durations read in messages, descriptions and what the command writes.
extension Duration {
    /// The duration in the largest unit of which it is at least one, as in `12.3 µs`; exact to the nanosecond, and
    /// exact if it is shorter than that.
    package var text: String {
        let parts = attoseconds.magnitude % 1_000_000_000
        let shown = attoseconds.magnitude - (attoseconds.magnitude < 1_000_000_000 ? 0 : parts)
        let units: [(attoseconds: UInt128, digits: Int, name: String)] = [
            (1_000_000_000_000_000_000, 18, "s"), (1_000_000_000_000_000, 15, "ms"), (1_000_000_000_000, 12, "µs"),
            (1_000_000_000, 9, "ns"),
        ]
        // Zero is of the first unit.
        let unit = units.first { shown == 0 || shown >= $0.attoseconds } ?? units[units.count - 1]
        let (whole, part) = shown.quotientAndRemainder(dividingBy: unit.attoseconds)
        let digits = String(part)
        let decimals = String(repeating: "0", count: unit.digits - digits.count) + digits
        let fraction = part == 0 ? "" : ".\(decimals.prefix(upToLast: "0"))"
        return "\(self < .zero ? "-" : "")\(whole)\(fraction) \(unit.name)"
    }

    /// The duration, rounded to three digits, up or down; one that is negative or forever stays as it is.
    package func rounded(up isUp: Bool) -> Duration {
        guard let nanoseconds = nanosecondsUnlessNegative, nanoseconds < .max else { return self }
        var step: UInt64 = 1
        while nanoseconds / step >= 1_000 { step *= 10 }
        return Duration(wholeNanoseconds: (nanoseconds + (isUp ? step - 1 : 0)) / step * step)
    }
}

extension String {
    /// The characters before the repetitions of a character at the end.
    fileprivate func prefix(upToLast character: Character) -> Substring {
        self[...(lastIndex { $0 != character } ?? startIndex)]
    }
}
