internal import Foundation

/// Bins of lateness, each wider than the one before by the same factor, that are the same for all rows of a table.
struct LatenessBins: Hashable, Sendable {
    /// How many bins there are.
    static let count = 10
    /// Nothing that a timer does is told apart below this, in nanoseconds.
    private static let finest: UInt64 = 100

    /// Where the first bin begins, in nanoseconds; what is less is counted in it.
    let low: UInt64
    /// Where the last bin ends, in nanoseconds.
    let high: UInt64

    /// Bins that hold all latenesses of the rows, from one round number to another; nil where there are no ticks.
    init?(_ rows: [RowReport]) {
        let buckets = rows.map(\.distribution.buckets)
        guard let least = buckets.compactMap({ $0.first?.value }).min(),
            let greatest = buckets.compactMap({ $0.last?.value }).max()
        else { return nil }
        var (low, high) = (Self.finest, Self.finest)
        for step in Self.roundNumbers {
            if step <= least { low = max(low, step) }
            high = step
            if step > max(greatest, low) { break }
        }
        self.low = low
        self.high = high
    }

    /// 100, 200, 500, 1000 and so on, to beyond the greatest lateness that is told apart.
    private static let roundNumbers: [UInt64] = {
        var numbers: [UInt64] = []
        var decade = finest
        while decade <= Distribution.greatest {
            numbers += [decade, 2 * decade, 5 * decade]
            decade *= 10
        }
        return numbers
    }()

    /// How far the bins reach.
    var range: String {
        "\(DurationText.format(nanoseconds: low))–\(DurationText.format(nanoseconds: high))"
    }

    /// A bar for each bin, whose height is the bin's share of the values; the fullest bin has the full height, an empty one
    /// has no bar, and one value is enough for the lowest.
    func bars(_ distribution: Distribution) -> String {
        var counts = [UInt64](repeating: 0, count: Self.count)
        for bucket in distribution.buckets { counts[bin(of: bucket.value)] += bucket.count }
        guard let fullest = counts.max(), fullest > 0 else { return "" }
        let bars = Array("▁▂▃▄▅▆▇█")
        let text = counts.map { count -> Character in
            guard count > 0 else { return " " }
            let height = (Double(count) / Double(fullest) * Double(bars.count)).rounded(.up)
            return bars[min(bars.count, Int(height)) - 1]
        }
        return String(text).trimmedAtTheEnd
    }

    private func bin(of value: UInt64) -> Int {
        guard value > low else { return 0 }
        let share = log(Double(value) / Double(low)) / log(Double(high) / Double(low))
        return min(Self.count - 1, Int(share * Double(Self.count)))
    }
}
