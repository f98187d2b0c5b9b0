/// The length of a step between two deadlines: exact, also where it is no whole number of nanoseconds.
package struct Period: Hashable, Sendable {
    /// How long `count` steps take, in nanoseconds; at least 1.
    package let nanoseconds: UInt64
    /// How many steps take that long; at least 1.
    package let count: UInt64

    /// A step of `nanoseconds`, or `count` steps in as many.
    package init(nanoseconds: UInt64, count: UInt64 = 1) {
        assert(nanoseconds > 0 && count > 0, "a period is longer than zero")
        self.nanoseconds = nanoseconds
        self.count = count
    }

    /// The length, cut off to whole attoseconds.
    package var duration: Duration { Duration(wholeNanoseconds: nanoseconds) / count }

    /// Nanoseconds from the beginning to a step, rounded up; nil where they cannot be represented. Constant time.
    package func offset(ofStep step: UInt64) -> UInt64? {
        // Nearly always; a division of 128 bits takes several times as long.
        if count == 1 {
            let (offset, overflow) = nanoseconds.multipliedReportingOverflow(by: step)
            return overflow ? nil : offset
        }
        let product = nanoseconds.multipliedFullWidth(by: step)
        guard product.high < count else { return nil }
        let (quotient, remainder) = count.dividingFullWidth(product)
        return remainder == 0 || quotient == .max ? quotient : quotient + 1
    }

    /// The latest step whose offset, rounded up, is no more than this; saturates. Constant time.
    package func latestStep(within elapsed: UInt64) -> UInt64 {
        // The step itself, exact, is no later than a whole nanosecond exactly where its offset rounded up is not.
        let product = elapsed.multipliedFullWidth(by: count)
        guard product.high < nanoseconds else { return .max }
        return nanoseconds.dividingFullWidth(product).quotient
    }
}
