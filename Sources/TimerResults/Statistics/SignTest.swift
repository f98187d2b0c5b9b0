/// How often chance alone puts almost all values on one side (the two-sided sign test: J. Arbuthnot, 1710).
package enum SignTest {
    /// The probability that so few values, or fewer, lie on the rarer side, if each is as likely above as below.
    ///
    /// - Parameters:
    ///   - few: the number of values on the rarer side.
    ///   - all: the number of values, at most a thousand.
    /// - Returns: 0 to 1.
    package static func chance(ofAtMost few: Int, of all: Int) -> Double {
        var (binomial, sum) = (1.0, 0.0)
        for side in 0...max(few, 0) {
            if side > 0 { binomial *= Double(all - side + 1) / Double(side) }
            sum += binomial
        }
        return min(1, 2 * sum * (0..<all).reduce(1.0) { share, _ in share / 2 })
    }
}
