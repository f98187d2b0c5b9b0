/// How well a median is known, from the values alone: the interval of the medians of samples that are drawn from the
/// values with repetition (B. Efron, "Bootstrap methods: another look at the jackknife", 1979; the percentile
/// interval).
///
/// The seed is fixed, so the same values always have the same interval.
package enum Bootstrap {
    /// The number of samples.
    private static let draws = 2000

    /// The interval that holds the middle share (as 0.99) of the medians of the samples; nil without values.
    package static func interval(ofMedian values: [Double], share: Double) -> ClosedRange<Double>? {
        interval(of: values, share: share) { $0 }
    }

    /// The same for the ratio of the medians of two independent series, as those of two runs.
    package static func interval(
        ofMedian values: [Double],
        over others: [Double],
        share: Double
    ) -> ClosedRange<Double>? {
        var generator = SplitMix64(seed: 0x0DD5)
        guard !others.isEmpty else { return nil }
        return interval(of: values, share: share) { $0 / (generator.sample(of: others).median ?? .nan) }
    }

    private static func interval(
        of values: [Double],
        share: Double,
        _ figure: (Double) -> Double
    ) -> ClosedRange<Double>? {
        guard !values.isEmpty else { return nil }
        var generator = SplitMix64(seed: 0x5EED)
        let figures = (0..<draws).map { _ in figure(generator.sample(of: values).median ?? .nan) }
        guard figures.allSatisfy(\.isFinite) else { return nil }
        let ordered = figures.sorted()
        let tail = Int((1 - share) / 2 * Double(draws))
        return ordered[tail]...ordered[draws - 1 - tail]
    }
}

extension SplitMix64 {
    /// As many values as there are, drawn with repetition.
    fileprivate mutating func sample(of values: [Double]) -> [Double] {
        values.map { _ in values[Int(next() % UInt64(values.count))] }
    }
}
