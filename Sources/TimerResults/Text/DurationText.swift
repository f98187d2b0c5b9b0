/// Lengths of time in text: `250us`, `1ms`, `1.5ms`, `2s`, `5m`, `1h`, `2d`.
package enum DurationText {
    /// Anything but a number followed by a unit.
    package static let malformed = Problem(
        "write a number and a unit (ns, us, ms, s, m, h, d), as in 250us, 1ms or 1.5s"
    )
    /// More than 292 years.
    package static let tooLong = Problem("that is too long")
    /// A fraction of a nanosecond.
    package static let tooFine = Problem("that is finer than a nanosecond")

    /// Nanoseconds by unit. If a unit has two names, the first is printed.
    private static let units: [(name: String, nanoseconds: UInt64)] = [
        ("d", 86_400_000_000_000), ("h", 3_600_000_000_000), ("m", 60_000_000_000), ("s", 1_000_000_000),
        ("ms", 1_000_000), ("us", 1000), ("µs", 1000), ("ns", 1),
    ]

    /// Reads a length of time, exactly. No sign, no exponent, no space.
    package static func parse(_ text: String) throws(Problem) -> Duration {
        let number = text.prefix { $0 == "." || ($0.isASCII && $0.isNumber) }
        let unit = text.dropFirst(number.count)
        let parts = number.split(separator: ".", omittingEmptySubsequences: false)
        guard let scale = units.first(where: { $0.name == unit })?.nanoseconds, (1...2).contains(parts.count),
            !parts.contains("")
        else { throw malformed }
        guard let whole = UInt64(parts[0]) else { throw tooLong }
        let (value, overflow) = whole.multipliedReportingOverflow(by: scale)
        // The fraction is below one unit, and fits into the other half of the range.
        guard !overflow, value <= Int64.max else { throw tooLong }
        return .nanoseconds(Int64(clamping: value + (try fraction(parts.dropFirst().first ?? "", of: scale))))
    }

    /// The digits after the point, in nanoseconds.
    private static func fraction(_ digits: Substring, of scale: UInt64) throws(Problem) -> UInt64 {
        var sum: UInt64 = 0
        var step = scale
        for digit in digits {
            let value = UInt64(digit.wholeNumberValue ?? 0)
            if value != 0, step % 10 != 0 { throw tooFine }
            step /= 10
            sum += value * step
        }
        return sum
    }

    /// The same for a sentence: `1.5 ms`, `90 µs`.
    package static func spaced(nanoseconds: UInt64) -> String {
        let text = format(nanoseconds: nanoseconds)
        let number = text.prefix { !$0.isLetter }
        let unit = text.dropFirst(number.count)
        return "\(number) \(unit == "us" ? "µs" : String(unit))"
    }

    /// Writes a number of nanoseconds exactly, in the largest unit that fits into it: `1.5ms`, `90us`.
    package static func format(nanoseconds: UInt64) -> String {
        // 90 s reads better than 1.5 m.
        let units = units.drop { $0.name != "s" }
        let unit = units.first { $0.nanoseconds <= nanoseconds } ?? ("ns", 1)
        let (whole, rest) = nanoseconds.quotientAndRemainder(dividingBy: unit.nanoseconds)
        guard rest > 0 else { return "\(whole)\(unit.name)" }
        var fraction = String(String(unit.nanoseconds + rest).dropFirst())
        while fraction.last == "0" { fraction.removeLast() }
        return "\(whole).\(fraction)\(unit.name)"
    }
}
