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
