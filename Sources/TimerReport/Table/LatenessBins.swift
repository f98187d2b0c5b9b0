internal import Foundation
internal import TimerResults

/// Bins of lateness for all rows of a table. Each bin is wider than the last by the same factor.
struct LatenessBins: Hashable, Sendable {
    static let count = 10
    /// Nanoseconds. Smaller differences between timers mean nothing.
    private static let finest: UInt64 = 100

    /// The start of the first bin, in nanoseconds. The first bin counts smaller values, too.
    let low: UInt64
    /// The end of the last bin, in nanoseconds.
    let high: UInt64

    /// Bins for all latenesses of the rows, from one round number to another; nil without ticks.
    init?(_ rows: [RowReport]) {
        let buckets = rows.map(\.lateness.buckets)
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

    /// 100, 200, 500, 1000 and so on, to beyond the greatest lateness of a distribution.
    private static let roundNumbers: [UInt64] = {
        var numbers: [UInt64] = []
        var decade = finest
        while decade <= Distribution.greatest {
            numbers += [decade, 2 * decade, 5 * decade]
            decade *= 10
        }
        return numbers
    }()

    /// The start and the end of the bins.
    var range: String {
        "\(DurationText.format(nanoseconds: low))–\(DurationText.format(nanoseconds: high))"
    }

    /// A bar for each bin, scaled to the fullest bin. An empty bin has no bar; one value is enough for the lowest bar.
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
        return String(text.reversed().drop { $0 == " " }.reversed())
    }

    private func bin(of value: UInt64) -> Int {
        guard value > low else { return 0 }
        let share = log(Double(value) / Double(low)) / log(Double(high) / Double(low))
        return min(Self.count - 1, Int(share * Double(Self.count)))
    }
}
