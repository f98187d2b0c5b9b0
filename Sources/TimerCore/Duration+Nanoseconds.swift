/// The one place where lengths of time become whole nanoseconds, and back.
extension Duration {
    /// Whole nanoseconds, rounded up; saturates at the ends of `Int64`, some 292 years either way.
    package var nanosecondsRoundedUp: Int64 {
        // Division truncates towards zero, which already is upward for a negative length.
        let (whole, rest) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return Int64(clamping: rest > 0 ? whole + 1 : whole)
    }

    /// Whole nanoseconds of a length that is not negative, rounded up. One too long to represent becomes the longest that
    /// there is, which no instant can be moved by.
    package var nanosecondsOrForever: UInt64 {
        // A division of 128 bits by 64 takes a fraction of the time of one by 128, and yields no more than forever.
        let (high, low) = (UInt64(truncatingIfNeeded: attoseconds >> 64), UInt64(truncatingIfNeeded: attoseconds))
        if high < 1_000_000_000 / 2 {
            let (whole, rest) = (1_000_000_000 as UInt64).dividingFullWidth((high, low))
            return rest > 0 ? whole + 1 : whole
        }
        let nanoseconds = nanosecondsRoundedUp
        return nanoseconds == .max ? .max : UInt64(nanoseconds)
    }

    /// The exact length of a number of nanoseconds, also of one beyond `Int64`.
    package init(wholeNanoseconds: UInt64) {
        let (seconds, nanoseconds) = wholeNanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        self.init(secondsComponent: Int64(seconds), attosecondsComponent: Int64(nanoseconds) * 1_000_000_000)
    }
}
