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

/// Collects points of time and lateness as the means of batches: of 16 points, of 32, and so on.
///
/// Lateness keeps a level for many ticks, so neighbouring ticks say the same thing again. The means of long batches are
/// nearly independent, and the spread of those means shows how well a line is known. Which length is long enough is
/// only seen afterwards, so the sums of all lengths are kept: two batches of one length make one of the next, as in
/// G. S. Fishman and L. S. Yarberry, "An implementation of the batch means method" (1997).
///
/// What each tick calls is public, as in ``LogHistogram``.
public struct BatchSums: Sendable {
    /// The points of the shortest batch, and the number of lengths: the longest batch has eight million.
    @inlinable static var shortest: UInt64 { 16 }
    static var lengths: Int { 20 }
    /// Nanoseconds in a unit of time. With it, the sums of ten years with ten thousand points a second fit.
    static var unit: Int64 { 1 << 12 }

    /// Batches of one length.
    private struct Length: Sendable {
        var sums = LineSums()
        /// The mean of the latest batch while it waits for a second one.
        var time: Int64 = 0
        var lateness: UInt64 = 0
    }

    // The points of a batch that is not full: their number, and the sums of their times and latenesses.
    @usableFromInline var points: UInt64 = 0
    @usableFromInline var times: Int64 = 0
    @usableFromInline var latenesses: UInt128 = 0
    /// The time that filled the first batch. It tells these points from others.
    private(set) var first: Int64 = 0
    private var batches = InlineArray<20, Length>(repeating: Length())

    /// The sums of all lengths that have a batch, from the shortest.
    var sums: [LineSums] { (0..<Self.lengths).map { batches[$0].sums }.filter { $0.count > 0 } }

    package init() {}

    /// Counts a point, in nanoseconds. Constant time: a batch costs two sums on average.
    @inlinable @inline(__always) public mutating func add(time: Int64, lateness: UInt64) {
        times &+= time >> 12
        latenesses &+= UInt128(lateness)
        points &+= 1
        if points == Self.shortest { fill(time) }
    }

    // Not inlined: one point of 16 comes here.
    @usableFromInline @inline(never) mutating func fill(_ latest: Int64) {
        var (time, lateness) = (times >> 4, UInt64(truncatingIfNeeded: latenesses >> 4))
        (points, times, latenesses) = (0, 0, 0)
        if batches[0].sums.count == 0 { first = latest }
        for length in 0..<Self.lengths {
            batches[length].sums.add(time: Int128(time), lateness: Int128(lateness))
            let (otherTime, otherLateness) = (batches[length].time, batches[length].lateness)
            if batches[length].sums.count & 1 == 1 {
                (batches[length].time, batches[length].lateness) = (time, lateness)
                return
            }
            time = (time &+ otherTime) >> 1
            lateness = lateness & otherLateness &+ (lateness ^ otherLateness) >> 1
        }
    }
}

/// The sums behind a line through points of time and lateness, fitted by least squares.
///
/// They are exact, so the sums of a later reading minus those of an earlier one are the sums of the time in between.
/// They wrap around. A line needs only their distances from the means, which fit for all points of ten years.
package struct LineSums: Equatable, Sendable {
    /// The number of points.
    private(set) var count: Int128 = 0
    // Sums over the points of the time, the lateness, their squares and their product.
    private var times: Int128 = 0
    private var latenesses: Int128 = 0
    private var squaredTimes: Int128 = 0
    private var squaredLatenesses: Int128 = 0
    private var products: Int128 = 0

    package init() {}

    /// Adds a point. Constant time.
    package mutating func add(time: Int128, lateness: Int128) {
        count &+= 1
        times &+= time
        latenesses &+= lateness
        squaredTimes &+= time &* time
        squaredLatenesses &+= lateness &* lateness
        products &+= time &* lateness
    }

    /// The sums without those of an earlier reading.
    func since(_ earlier: LineSums) -> LineSums {
        var rest = self
        rest.count &-= earlier.count
        rest.times &-= earlier.times
        rest.latenesses &-= earlier.latenesses
        rest.squaredTimes &-= earlier.squaredTimes
        rest.squaredLatenesses &-= earlier.squaredLatenesses
        rest.products &-= earlier.products
        return rest
    }

    /// The line's slope, and the square of the slope's standard error if the points are independent; nil for fewer than
    /// three points, or if all are of one time.
    package var line: (slope: Double, variance: Double)? {
        guard count > 2 else { return nil }
        let spread = spreads
        guard spread.ofTimes > 0 else { return nil }
        let slope = spread.together / spread.ofTimes
        let residuals = max(spread.ofLatenesses - slope * spread.together, 0)
        return (slope, residuals / Double(count - 2) / spread.ofTimes)
    }

    /// The sums of the squares and the products of the distances from the means.
    private var spreads: (ofTimes: Double, ofLatenesses: Double, together: Double) {
        // The means are subtracted exactly: an interval may be short and long after the first point, and great
        // latenesses may differ little.
        let (time, ofTime) = times.quotientAndRemainder(dividingBy: count)
        let (lateness, ofLateness) = latenesses.quotientAndRemainder(dividingBy: count)
        let (number, restOfTime, restOfLateness) = (Double(count), Double(ofTime), Double(ofLateness))
        let squaresOfTime = squaredTimes &- 2 &* time &* times &+ count &* time &* time
        let squaresOfLateness = squaredLatenesses &- 2 &* lateness &* latenesses &+ count &* lateness &* lateness
        let both = products &- time &* latenesses &- lateness &* times &+ count &* time &* lateness
        return (
            Double(squaresOfTime) - restOfTime * restOfTime / number,
            Double(squaresOfLateness) - restOfLateness * restOfLateness / number,
            Double(both) - restOfTime * restOfLateness / number
        )
    }
}

extension LineSums {
    /// The numbers, for a file.
    var numbers: [Int128] { [count, times, latenesses, squaredTimes, squaredLatenesses, products] }

    /// Reads six numbers; nil if there are others, or the first is no number of points.
    init?(_ numbers: some RandomAccessCollection<Int128>) {
        guard numbers.count == 6, let count = numbers.first, count >= 0, count < 1 << 64 else { return nil }
        let rest = Array(numbers.dropFirst())
        (self.count, times, latenesses) = (count, rest[0], rest[1])
        (squaredTimes, squaredLatenesses, products) = (rest[2], rest[3], rest[4])
    }

    /// Whether points can have made the sums.
    var isPossible: Bool {
        if count == 0 { return self == LineSums() }
        let spread = spreads
        // By Cauchy's inequality, but for what doubles round.
        let most = (spread.ofTimes * spread.ofLatenesses).squareRoot()
        let areSquares = spread.ofTimes >= 0 && spread.ofLatenesses >= 0
        return areSquares && spread.together.magnitude <= most * (1 + 1e-9) + 1
    }
}
