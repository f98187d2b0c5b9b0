/// Times in nanoseconds, counted in bins that are at most 1/32 wide; the longest is kept exactly.
struct Histogram: Sendable {
    private var bins = [Int](repeating: 0, count: 64 * 32)
    private(set) var count = 0
    private(set) var longest: UInt64 = 0

    mutating func record(_ time: UInt64) {
        bins[Self.bin(of: time)] += 1
        count += 1
        longest = max(longest, time)
    }

    mutating func merge(_ other: Histogram) {
        for bin in bins.indices { bins[bin] += other.bins[bin] }
        count += other.count
        longest = max(longest, other.longest)
    }

    /// The time that a share of all do not exceed; 0 without any times.
    func percentile(_ share: Double) -> Double {
        var left = Int((Double(count) * share).rounded(.up))
        for (bin, number) in bins.enumerated() where number > 0 {
            left -= number
            if left <= 0 { return min(Double(longest), Self.end(of: bin)) }
        }
        return Double(longest)
    }

    private static func bin(of time: UInt64) -> Int {
        if time < 32 { return Int(time) }
        let shift = 63 - time.leadingZeroBitCount - 5
        return (shift + 1) * 32 + Int(time >> UInt64(shift)) - 32
    }

    private static func end(of bin: Int) -> Double {
        if bin < 32 { return Double(bin) }
        let shift = bin / 32 - 1
        return Double((UInt64(bin % 32 + 32) + 1) << UInt64(shift)) - 1
    }
}
