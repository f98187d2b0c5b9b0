/// The deadlines of a schedule with a period, in nanoseconds on the timer's clock. Each deadline is computed from its
/// step, so rounding errors do not add up.
package struct Grid: Equatable, Sendable {
    /// The instant of step 0, or `.max` if no deadline will come.
    package var origin: UInt64
    /// The length of a step.
    package let period: Period

    package init(_ origin: UInt64, _ period: Period) { (self.origin, self.period) = (origin, period) }

    /// The deadline of a step, which saturates at `.max`. Constant time.
    package func deadline(_ step: UInt64) -> UInt64 { period.offset(ofStep: step).map(origin.saturatingAdding) ?? .max }

    /// The latest step at or before `now`, which must not be before the origin. Constant time: one division, however
    /// many deadlines have passed.
    package func latestStep(at now: UInt64) -> UInt64 {
        assert(origin <= now, "no deadline has passed yet")
        return period.latestStep(within: now - origin)
    }
}

extension FixedWidthInteger {
    /// The sum with a number that is not negative, or the greatest number if the sum overflows.
    package func saturatingAdding(_ other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}

/// The length of a step between two deadlines. It is exact even if it is not a whole number of nanoseconds.
package struct Period: Equatable, Sendable {
    /// The length of `count` steps, in nanoseconds; at least 1.
    package let nanoseconds: UInt64
    /// The number of steps that take this long; at least 1.
    package let count: UInt64

    /// A step of `nanoseconds`, or `count` steps that take that long together.
    package init(nanoseconds: UInt64, count: UInt64 = 1) {
        assert(nanoseconds > 0 && count > 0, "a period is longer than zero")
        self.nanoseconds = nanoseconds
        self.count = count
    }

    /// The first instant after `now` that is a whole number of periods from another instant, which may be before or
    /// after it; saturates. Only for a period of one step. Constant time.
    package func next(after now: UInt64, alignedTo instant: UInt64) -> UInt64 {
        if instant == .max { return .max }
        if instant > now { return instant - (instant - now - 1) / nanoseconds * nanoseconds }
        return (instant + (now - instant) / nanoseconds * nanoseconds).saturatingAdding(nanoseconds)
    }

    /// Nanoseconds from the origin to a step, rounded up; nil if the number overflows. Constant time.
    package func offset(ofStep step: UInt64) -> UInt64? {
        // Nearly every period takes this path; a 128-bit division takes several times as long.
        if count == 1 {
            let (offset, overflow) = nanoseconds.multipliedReportingOverflow(by: step)
            return overflow ? nil : offset
        }
        let product = nanoseconds.multipliedFullWidth(by: step)
        guard product.high < count else { return nil }
        let (quotient, remainder) = count.dividingFullWidth(product)
        return remainder == 0 || quotient == .max ? quotient : quotient + 1
    }

    /// The latest step whose offset, rounded up, is at most `elapsed`; saturates. Constant time.
    package func latestStep(within elapsed: UInt64) -> UInt64 {
        // A step's exact offset is at most a whole number of nanoseconds if and only if its offset rounded up is.
        let product = elapsed.multipliedFullWidth(by: count)
        guard product.high < nanoseconds else { return .max }
        return nanoseconds.dividingFullWidth(product).quotient
    }
}
