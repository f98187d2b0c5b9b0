internal import PreciseTimer

/// Two cases of one load held against each other: what of either can be said, and how surely.
package struct PairReport: Encodable, Hashable, Sendable {
    /// The one that is judged.
    package let first: Case
    /// The one that it is held against.
    package let second: Case
    /// Which figure of the lateness is compared.
    package let figure: Comparing.Figure
    /// The median of the rounds' ratios, the first's to the second's.
    package let ratio: Double
    /// Where that median may well lie.
    package let low: Double
    package let high: Double
    /// What follows.
    package let verdict: Comparing.Verdict

    /// Compares; nil where no round has both.
    init?(_ first: Case, _ second: Case, _ figure: Comparing.Figure, in results: Results) {
        let comparing = Comparing(first, with: second, in: results, by: figure)
        guard let ratio = comparing.ratios.median?.rounded(places: 6), let interval = comparing.interval,
            let low = interval.lowerBound.rounded(places: 6), let high = interval.upperBound.rounded(places: 6)
        else { return nil }
        self.first = first
        self.second = second
        self.figure = figure
        self.ratio = ratio
        self.low = low
        self.high = high
        verdict = comparing.verdict(in: interval)
    }

    private enum CodingKeys: String, CodingKey {
        case first
        case second
        case figure
        case ratio
        case low
        case high
        case verdict
    }

    /// Whether a reader would hold these two against each other: any two backends, and a peer against the backend that it
    /// stands beside.
    package static func isOfInterest(_ first: Case, _ second: Case) -> Bool {
        guard first.load == second.load, first != second else { return false }
        switch (first.kind, second.kind) {
        case (.backend, .backend): return true
        case (.backend, .peer): return Peer(rawValue: second.row)?.backend.rawValue == first.row
        default: return false
        }
    }
}
