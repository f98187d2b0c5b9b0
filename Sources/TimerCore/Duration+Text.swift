/// How durations read in messages and descriptions.
extension Duration {
    /// The duration in the largest unit of which it is at least one, as in `12.3 µs`; exact to the nanosecond.
    package var text: String {
        let sign = self < .zero ? "-" : ""
        let (nanoseconds, rest) = attoseconds.magnitude.quotientAndRemainder(dividingBy: 1_000_000_000)
        if nanoseconds == 0, rest > 0 { return description }
        let units: [(nanoseconds: UInt128, digits: Int, name: String)] = [
            (1_000_000_000, 9, "s"), (1_000_000, 6, "ms"), (1_000, 3, "µs"), (1, 0, "ns"),
        ]
        // Zero is of the first unit.
        let unit = units.first { nanoseconds == 0 || nanoseconds >= $0.nanoseconds } ?? units[0]
        let (whole, part) = nanoseconds.quotientAndRemainder(dividingBy: unit.nanoseconds)
        if part == 0 { return "\(sign)\(whole) \(unit.name)" }
        let digits = String(part)
        let decimals = String(repeating: "0", count: unit.digits - digits.count) + digits
        return "\(sign)\(whole).\(decimals.prefix(upToLast: "0")) \(unit.name)"
    }
}

extension String {
    /// The characters before the repetitions of a character at the end.
    fileprivate func prefix(upToLast character: Character) -> Substring {
        self[...(lastIndex { $0 != character } ?? startIndex)]
    }
}
