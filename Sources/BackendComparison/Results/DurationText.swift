internal import TimerKernel

/// Lengths of time in text: `250us`, `1ms`, `1.5ms`, `2s`, `5m`, `1h`, `2d`.
package enum DurationText {
    /// Anything but a number followed by a unit.
    static let malformed = Failure.invalid(
        "write a number and a unit (ns, us, ms, s, m, h, d), as in 250us, 1ms or 1.5s"
    )
    /// More than 292 years.
    static let tooLong = Failure.invalid("that is too long")
    /// A fraction of a nanosecond.
    static let tooFine = Failure.invalid("that is finer than a nanosecond")

    /// Nanoseconds by unit.
    private static let units: [(name: String, nanoseconds: UInt64)] = [
        ("d", 86_400_000_000_000), ("h", 3_600_000_000_000), ("m", 60_000_000_000), ("s", 1_000_000_000),
        ("ms", 1_000_000), ("us", 1000), ("µs", 1000), ("ns", 1),
    ]

    /// Reads a length of time, exactly. No sign, no exponent, no space.
    package static func parse(_ text: String) throws(Failure) -> Duration {
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
    private static func fraction(_ digits: Substring, of scale: UInt64) throws(Failure) -> UInt64 {
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

    /// A number of nanoseconds for a sentence, exactly: `1.5 ms`, `90 µs`.
    static func spaced(nanoseconds: UInt64) -> String { Duration(wholeNanoseconds: nanoseconds).text }
}

/// Periods in text: a length of time, or a rate in Hertz, as `60hz`.
package enum PeriodText {
    /// Reads a period. The period of a rate is rounded to whole nanoseconds: 60hz is 16,666,667 ns.
    package static func parse(_ text: String) throws(Failure) -> Duration {
        if text.lowercased().hasSuffix("hz") {
            let digits = text.dropLast(2)
            guard digits.allSatisfy({ $0 == "." || ($0.isASCII && $0.isNumber) }), digits.first?.isNumber == true,
                let rate = Double(digits), rate.isFinite, rate >= 0.001, rate <= 1_000_000_000
            else {
                throw .invalid("write a rate of 0.001hz to 1000000000hz, as in 60hz")
            }
            return .nanoseconds(Int64((1_000_000_000 / rate).rounded()))
        }
        do throws(Failure) { return try DurationText.parse(text) } catch {
            throw .invalid("\(error); or a rate, as in 60hz")
        }
    }
}

/// Numbers in text. The decimal separator is always a point.
enum NumberText {
    /// A number with a fixed count of digits after the point.
    static func fixed(_ value: Double, places: Int) -> String {
        let scale = (0..<places).reduce(1.0) { scale, _ in scale * 10 }
        guard let scaled = Int64(exactly: (value.magnitude * scale).rounded()) else { return "–" }
        let digits = String(scaled)
        let padded = String(repeating: "0", count: max(0, places + 1 - digits.count)) + digits
        let sign = value < 0 && scaled != 0 ? "-" : ""
        return sign + padded.dropLast(places) + (places > 0 ? "." : "") + padded.suffix(places)
    }
}

extension Duration {
    /// The length in nanoseconds, rounded up. A negative length gives 0, and one of more than 292 years `Int64.max`.
    var wholeNanoseconds: UInt64 { UInt64(max(nanosecondsRoundedUp, 0)) }
}
