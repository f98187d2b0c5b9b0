/// A line through latenesses over time, and how well its slope is known: a reading of ``BatchSums``.
package struct Trend: Equatable, Sendable {
    /// The time that filled the first batch; 0 without a batch.
    private let first: Int64
    /// The sums of all lengths of batches that have one, from the shortest.
    private let sums: [LineSums]

    package init(_ batches: BatchSums) { (first, sums) = (batches.first, batches.sums) }

    private init(_ first: Int64, _ sums: [LineSums]) { (self.first, self.sums) = (first, sums) }

    /// The trend of the batches that were filled after an earlier reading; nil if that is not one of the same points.
    package func since(_ earlier: Trend) -> Trend? {
        if earlier.sums.isEmpty { return self }
        guard first == earlier.first, sums.count >= earlier.sums.count else { return nil }
        let pairs = sums.enumerated().map { ($1, $0 < earlier.sums.count ? earlier.sums[$0] : LineSums()) }
        if pairs.contains(where: { $0.count < $1.count }) { return nil }
        let rest = Trend(first, pairs.map { $0.since($1) }.filter { $0.count > 0 })
        return rest.isPossible ? rest : nil
    }

    /// Whether points can have made the sums.
    private var isPossible: Bool {
        // Two batches make one of the next length, if both were filled between two readings.
        let fits = zip(sums, sums.dropFirst()).allSatisfy { ($0.count - 2 * $1.count).magnitude <= 1 }
        return fits && sums.allSatisfy { $0.count > 0 && $0.isPossible }
    }

    /// The slope of the line through the shortest batches, and its noise, in parts per million. Nil for fewer than
    /// three batches, or if all are of one time; infinite noise if there are too few for it.
    package var line: (slope: Double, noise: Double)? {
        guard let line = sums.first?.line else { return nil }
        let scale = 1e6 / Double(BatchSums.unit)
        return (line.slope * scale, noise * scale)
    }

    /// The fewest batches of one length that show how far batches differ.
    private static var fewest: Int128 { 16 }

    /// How far the slope may be from the true one: the greatest of the answers of the shortest length and the three
    /// longest.
    ///
    /// If the noise still grows from one length to the next, a batch is shorter than the levels that the lateness
    /// keeps. So twice this growth is added. Of a few stalls, the shorter lengths know more; and only the shortest one
    /// has all points of the slope.
    private var noise: Double {
        let known = sums.prefix { $0.count >= Self.fewest }
            .compactMap { sums in
                sums.line.map { (variance: $0.variance, degrees: Double(sums.count - 2)) }
            }
        guard known.count > 1 else { return .infinity }
        let squares = ([0] + known.indices.suffix(3))
            .map { place in
                let (variance, degrees) = known[place]
                let growth = place > 0 ? max(variance - known[place - 1].variance, 0) : 0
                // Student's t, which 1 of 200 slopes exceeds in either direction.
                let factor = 2.81 * (1 + 2.6 / degrees)
                return (variance + 2 * growth) * factor * factor
            }
        return (squares.max() ?? .infinity).squareRoot()
    }
}

extension Trend {
    /// The numbers, for a file.
    package var numbers: [Int128] { [Int128(first)] + sums.flatMap(\.numbers) }

    /// Reads the numbers; nil if no points have made them.
    package init?(_ numbers: [Int128]) {
        guard let first = numbers.first.flatMap({ Int64(exactly: $0) }), numbers.count % 6 == 1,
            numbers.count / 6 <= BatchSums.lengths
        else { return nil }
        let starts = stride(from: 1, to: numbers.count, by: 6)
        self.init(first, starts.compactMap { LineSums(numbers[$0..<$0 + 6]) })
        guard 6 * sums.count + 1 == numbers.count, isPossible else { return nil }
    }
}
