/// How well a median is known, from the values alone: the interval that medians of samples drawn from them, with
/// repetition, fall into (B. Efron, "Bootstrap methods: another look at the jackknife", 1979; the percentile interval).
///
/// The draws come from a fixed seed, so that the same values always have the same interval.
package enum Bootstrap {
    /// How many samples are drawn.
    private static let draws = 2000

    /// The middle share (as 0.99) of the medians of the samples; nil where there are no values.
    package static func interval(ofMedian values: [Double], share: Double) -> ClosedRange<Double>? {
        guard !values.isEmpty else { return nil }
        var generator = SplitMix64(seed: 0x5EED)
        let medians = (0..<draws)
            .map { _ in
                let sample = values.map { _ in values[Int(generator.next() % UInt64(values.count))] }
                return sample.median ?? 0
            }
            .sorted()
        let tail = Int((1 - share) / 2 * Double(draws))
        return medians[tail]...medians[draws - 1 - tail]
    }
}
