/// How often chance alone lets almost all of some values lie on one side (the two-sided sign test: J. Arbuthnot, 1710).
package enum SignTest {
    /// The share of all series of values, each as likely above as below, that have so few or fewer on their rarer side.
    ///
    /// - Parameters:
    ///   - few: how many lie on the rarer side.
    ///   - all: how many there are, at most a thousand.
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
