/// The comparison of two rows under one load.
package struct PairReport: Encodable, Hashable, Sendable {
    package let first: RowKey
    package let second: RowKey
    /// The percentile of the corrected lateness that is compared.
    package let percentile: Comparing.Percentile
    /// The first's lateness as a multiple of the second's: the median of the rounds' ratios.
    package let ratio: Double
    /// The ends of the interval of that median.
    package let low: Double
    package let high: Double
    package let verdict: Comparing.Verdict

    /// Compares two rows; nil if no round has both.
    init?(_ first: RowKey, _ second: RowKey, _ percentile: Comparing.Percentile, in results: Results) {
        let comparing = Comparing(first, with: second, in: results, by: percentile)
        guard let ratio = comparing.ratios.median?.rounded(places: 6), let interval = comparing.interval,
            let low = interval.lowerBound.rounded(places: 6), let high = interval.upperBound.rounded(places: 6)
        else { return nil }
        self.first = first
        self.second = second
        self.percentile = percentile
        self.ratio = ratio
        self.low = low
        self.high = high
        verdict = comparing.verdict(in: interval)
    }

    private enum CodingKeys: String, CodingKey {
        case first
        case second
        case percentile = "figure"
        case ratio
        case low
        case high
        case verdict
    }

    /// Whether a reader would compare two rows: any two backends, or a backend and a peer that does the same work.
    package static func isOfInterest(_ first: RowKey, _ second: RowKey) -> Bool {
        guard first.load == second.load, first != second, first.kind == .backend else { return false }
        return second.kind == .backend || second.rival == first.row
    }
}
