internal import TimerKernel

/// The lateness of a row over the time of its long stretch, in steps of equal length.
struct LatenessSeries: Codable, Hashable, Sendable {
    /// Nanoseconds of one step.
    let step: UInt64
    /// Nanoseconds: the median and the greatest lateness of the ticks whose deadlines lie in each step; nil for a step
    /// without a tick.
    let medians: [Int64?]
    let maxima: [Int64?]

    private enum CodingKeys: String, CodingKey {
        case step = "step_ns"
        case medians = "median_ns"
        case maxima = "max_ns"
    }

    /// The most steps. A picture has no room for more.
    static let most = 200
    /// Greater numbers are damaged: this is 52 days.
    private static let limit: Int64 = 1 << 52

    /// The series of one stretch, from its ticks in any order; nil without ticks. Steps have a round length, and there
    /// are no more of them than different deadlines. O(*n* log *n*) for *n* ticks.
    init?(_ points: [Point], steps most: Int = Self.most) {
        guard let end = points.map(\.time).max() else { return nil }
        let least = end / UInt64(min(most, Set(points.map(\.time)).count)) + 1
        let step = Duration(wholeNanoseconds: least).rounded(up: true).wholeNanoseconds
        var latenesses = [[Int64]](repeating: [], count: Int(end / step) + 1)
        for point in points { latenesses[Int(point.time / step)].append(point.lateness) }
        for place in latenesses.indices { latenesses[place].sort() }
        self.step = step
        medians = latenesses.map { $0.isEmpty ? nil : $0[($0.count - 1) / 2] }
        maxima = latenesses.map(\.last)
    }

    /// Whether a measurement can have found this, and a page can draw it.
    var isSound: Bool {
        let pairs = zip(medians, maxima)
        return 0 < step && step < Self.limit && medians.count == maxima.count && medians.count <= Self.most
            && pairs.contains { $0.0 != nil }
            && pairs.allSatisfy { median, most in
                guard let median, let most else { return median == nil && most == nil }
                return median <= most && -Self.limit < median && most < Self.limit
            }
    }
}
