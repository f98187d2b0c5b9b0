internal import TimerCore

/// Lengths of time as people write them: `250us`, `1ms`, `1.5ms`, `2s`, `5m`.
package enum DurationText {
    /// Why a text is no length of time.
    package enum Problem: Error, Hashable, CustomStringConvertible {
        /// Not a number followed by a unit.
        case malformed
        /// Longer than 292 years.
        case tooLong
        /// With a fraction of a nanosecond.
        case tooFine

        /// One line for whoever wrote it.
        package var description: String {
            switch self {
            case .malformed: "write a number and a unit (ns, us, ms, s, m), as in 250us, 1ms or 1.5s"
            case .tooLong: "that is too long"
            case .tooFine: "that is finer than a nanosecond"
            }
        }
    }

    /// Nanoseconds by unit. The first of two names of one unit is the one that is printed.
    private static let units: [(name: String, nanoseconds: UInt64)] = [
        ("m", 60_000_000_000), ("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1000), ("µs", 1000), ("ns", 1),
    ]

    /// Reads a length of time, exactly. No sign, no exponent, no space.
    package static func parse(_ text: String) throws(Problem) -> Duration {
        let number = text.prefix { $0 == "." || ($0.isASCII && $0.isNumber) }
        let unit = text.dropFirst(number.count)
        let parts = number.split(separator: ".", omittingEmptySubsequences: false)
        guard let scale = units.first(where: { $0.name == unit })?.nanoseconds, (1...2).contains(parts.count),
            !parts.contains("")
        else { throw .malformed }
        guard let whole = UInt64(parts[0]) else { throw .tooLong }
        let (value, overflow) = whole.multipliedReportingOverflow(by: scale)
        // Half of the range is left, so that the fraction, which is below one unit, fits.
        guard !overflow, value <= Int64.max else { throw .tooLong }
        return Duration(wholeNanoseconds: value + (try fraction(parts.dropFirst().first ?? "", of: scale)))
    }

    /// The digits after the point, in nanoseconds of a unit.
    private static func fraction(_ digits: Substring, of scale: UInt64) throws(Problem) -> UInt64 {
        var sum: UInt64 = 0
        var step = scale
        for digit in digits {
            let value = UInt64(digit.wholeNumberValue ?? 0)
            if value != 0, step % 10 != 0 { throw .tooFine }
            step /= 10
            sum += value * step
        }
        return sum
    }

    /// Writes a number of nanoseconds in the largest unit of which it is at least one, exactly: `1.5ms`, `90us`.
    package static func format(nanoseconds: UInt64) -> String {
        // 90 s reads better than 1.5 m.
        let units = units.dropFirst()
        let unit = units.first { $0.nanoseconds <= nanoseconds } ?? ("ns", 1)
        let (whole, rest) = nanoseconds.quotientAndRemainder(dividingBy: unit.nanoseconds)
        guard rest > 0 else { return "\(whole)\(unit.name)" }
        var fraction = String(String(unit.nanoseconds + rest).dropFirst())
        while fraction.last == "0" { fraction.removeLast() }
        return "\(whole).\(fraction)\(unit.name)"
    }
}
