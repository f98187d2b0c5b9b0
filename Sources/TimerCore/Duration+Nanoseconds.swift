/// The one place where lengths of time become whole nanoseconds, and back.
extension Duration {
    /// Whole nanoseconds, rounded up; saturates at the ends of `Int64`, some 292 years either way.
    package var nanosecondsRoundedUp: Int64 {
        let (seconds, attoseconds) = components
        // Division truncates towards zero, which already is upward where the attoseconds are negative.
        let (quotient, remainder) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        let fraction = remainder > 0 ? quotient + 1 : quotient
        let (whole, tooLarge) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflow) = whole.addingReportingOverflow(fraction)
        if tooLarge || overflow { return seconds < 0 ? .min : .max }
        return sum
    }

    /// Whole nanoseconds of a length that is not negative, rounded up. One too long to represent becomes the longest that
    /// there is, which no instant can be moved by.
    package var nanosecondsOrForever: UInt64 {
        let nanoseconds = nanosecondsRoundedUp
        return nanoseconds == .max ? .max : UInt64(nanoseconds)
    }

    /// The exact length of a number of nanoseconds, also of one beyond `Int64`.
    package init(wholeNanoseconds: UInt64) {
        let (seconds, nanoseconds) = wholeNanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        self.init(secondsComponent: Int64(seconds), attosecondsComponent: Int64(nanoseconds) * 1_000_000_000)
    }
}
