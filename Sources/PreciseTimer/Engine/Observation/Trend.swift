/// The sums behind a line through latenesses over time, fitted by least squares.
///
/// They are exact, so the sums of a later reading minus those of an earlier one are the sums of the time in between.
struct Trend: Equatable, Sendable {
    /// The first deadline, in nanoseconds; times count from there.
    private(set) var origin: UInt64 = 0
    private(set) var count: Int128 = 0
    // Sums over the ticks of the time, the lateness, their squares and their product.
    private(set) var times: Int128 = 0
    private(set) var latenesses: Int128 = 0
    private(set) var squaredTimes: Int128 = 0
    private(set) var squaredLatenesses: Int128 = 0
    private(set) var products: Int128 = 0

    /// Times are in units of 65,536 ns, and a lateness counts as 68 s at most. So no sum of ten years with ten thousand
    /// ticks a second exceeds 2¹²⁶.
    private static var unit: Int64 { 1 << 16 }
    private static var longest: UInt64 { 1 << 36 }

    /// Counts a tick. Constant time.
    @inline(__always) mutating func add(deadline: UInt64, lateness: UInt64) {
        if count == 0 { origin = deadline }
        // A wall clock may have been set back.
        let time = Int128(Int64(bitPattern: deadline &- origin) / Self.unit)
        let lateness = Int128(min(lateness, Self.longest))
        count &+= 1
        times &+= time
        latenesses &+= lateness
        squaredTimes &+= time &* time
        squaredLatenesses &+= lateness &* lateness
        products &+= time &* lateness
    }

    /// The sums without those of an earlier reading; nil if that is not one of the same ticks.
    func since(_ earlier: Trend) -> Trend? {
        if earlier.count == 0 { return self }
        guard origin == earlier.origin, count >= earlier.count else { return nil }
        var rest = self
        rest.count &-= earlier.count
        rest.times &-= earlier.times
        rest.latenesses &-= earlier.latenesses
        rest.squaredTimes &-= earlier.squaredTimes
        rest.squaredLatenesses &-= earlier.squaredLatenesses
        rest.products &-= earlier.products
        return rest
    }

    /// The slope of the line and three standard errors of it, in parts per million; nil for fewer than three ticks, or
    /// if all are of one time.
    var line: (slope: Double, noise: Double)? {
        guard count > 2 else { return nil }
        // The middle of the times is subtracted exactly: the time between two readings may be short and long ago.
        let (middle, rest) = times.quotientAndRemainder(dividingBy: count)
        let spread = squaredTimes &- 2 &* middle &* times &+ count &* middle &* middle
        let (number, offset, late) = (Double(count), Double(rest), Double(latenesses))
        let ofTimes = Double(spread) - offset * offset / number
        let together = Double(products &- middle &* latenesses) - offset * late / number
        guard ofTimes > 0 else { return nil }
        let slope = together / ofTimes
        let residuals = max(Double(squaredLatenesses) - late * late / number - slope * together, 0)
        let scale = 1e6 / Double(Self.unit)
        return (slope * scale, 3 * (residuals / (number - 2) / ofTimes).squareRoot() * scale)
    }
}

extension Trend: Codable {
    // As texts: not every coder has integers of 128 bits.
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let texts = try container.decode([String].self)
        let sums = texts.compactMap { Int128($0) }
        guard texts.count == 7, sums.count == 7, let origin = UInt64(exactly: sums[0]), sums[1] >= 0 else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "seven whole numbers are expected")
        }
        (self.origin, count, times, latenesses) = (origin, sums[1], sums[2], sums[3])
        (squaredTimes, squaredLatenesses, products) = (sums[4], sums[5], sums[6])
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        let sums = [Int128(origin), count, times, latenesses, squaredTimes, squaredLatenesses, products]
        try container.encode(sums.map { "\($0)" })
    }
}
