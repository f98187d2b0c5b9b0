/// How long before a deadline an alarm fires, so that the service's decision takes no time of the tick. A pure value.
/// Lengths are in nanoseconds.
///
/// The lead grows by a microsecond after each decision that took longer, and shrinks by five nanoseconds after each
/// other one. So in the end one decision in two hundred takes longer, and an outlier hardly moves it. This is a
/// quantile estimated in constant memory: Ma, Muthukrishnan and Sandler, "Frugal Streaming for Estimating Quantiles"
/// (2013).
package struct Lead: Sendable {
    /// In the lead a service sees neither an earlier deadline nor a cancellation.
    package static var longest: UInt64 { 20_000 }
    package static var shortest: UInt64 { 2_000 }
    private static var growth: UInt64 { 1_000 }
    private static var rarity: UInt64 { 200 }

    package private(set) var length = Self.shortest

    package init(length: UInt64 = Self.shortest) { self.length = length }

    /// Learns how long a decision took.
    package mutating func learn(decision: UInt64) {
        length =
            decision > length
            ? min(length + Self.growth, Self.longest) : max(length - Self.growth / Self.rarity, Self.shortest)
    }
}
