extension Duration {
    /// The length in nanoseconds, rounded up. A negative length gives 0, and one of more than 292 years `Int64.max`.
    package var wholeNanoseconds: UInt64 {
        let (whole, rest) = max(attoseconds, 0).quotientAndRemainder(dividingBy: 1_000_000_000)
        return UInt64(Int64(clamping: rest > 0 ? whole + 1 : whole))
    }
}
