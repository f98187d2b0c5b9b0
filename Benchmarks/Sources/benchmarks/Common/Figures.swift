import Foundation

/// The figures of one quantity, one of each round.
struct Figures {
    var values: [Double] = []

    var median: Double? {
        if values.isEmpty { return nil }
        let sorted = values.sorted()
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }

    /// The quotients of the same rounds.
    func ratios(to reference: Figures) -> Figures {
        Figures(values: zip(values, reference.values).map { $0 / max($1, .leastNonzeroMagnitude) })
    }

    /// The median of the quotients of the same rounds; nil without a common round.
    func ratio(to reference: Figures?) -> Double? { reference.flatMap { ratios(to: $0).median } }

    /// The median of these quotients, as in `2.15 ×`.
    func quotient(_ reference: Figures?) -> String { ratio(to: reference).map { "\($0.short) ×" } ?? "–" }

    /// The median in a unit, as in `412 ns`.
    func text(_ unit: Unit) -> String { median.map { unit.text($0) } ?? "–" }

    /// The median ratio, then the median, as in `0.43 × (412 ns)`; without a reference the median only.
    func text(_ unit: Unit, against reference: Figures?) -> String {
        guard let ratio = ratio(to: reference) else { return text(unit) }
        return "\(ratio.short) × (\(text(unit)))"
    }
}

/// How a figure is written.
enum Unit {
    case nanoseconds
    /// A time of any length, counted in nanoseconds.
    case time
    case perSecond
    case bytes
    /// A size, counted in bytes.
    case megabytes
    case percent
    case count

    func text(_ value: Double) -> String {
        switch self {
        case .nanoseconds: "\(value.short) ns"
        case .time where value >= 1e9: "\((value / 1e9).short) s"
        case .time where value >= 1e6: "\((value / 1e6).short) ms"
        case .time where value >= 1e3: "\((value / 1e3).short) µs"
        case .time: "\(value.short) ns"
        case .perSecond: value >= 1e6 ? "\((value / 1e6).short) M/s" : "\((value / 1e3).short) k/s"
        case .bytes: "\(value.short) B"
        case .megabytes: "\((value / 1e6).short) MB"
        case .percent: "\(value.short) %"
        case .count: value.short
        }
    }
}

extension Double {
    /// Three significant digits, and all digits before the point; a dash for a quotient without a value, as of a side
    /// that has done nothing in time.
    var short: String {
        if !isFinite { return "–" }
        return switch abs(self) {
        case 100...: "\(Int(rounded()))"
        case 10..<100: String(format: "%.1f", self)
        default: String(format: "%.2f", self)
        }
    }
}

/// Times in nanoseconds, counted in bins that are at most 1/32 wide; the longest is kept exactly.
struct TimeBins: Sendable {
    private var bins = [Int](repeating: 0, count: 64 * 32)
    private(set) var count = 0
    private(set) var longest: UInt64 = 0

    mutating func record(_ time: UInt64) {
        bins[Self.bin(of: time)] += 1
        count += 1
        longest = max(longest, time)
    }

    mutating func merge(_ other: TimeBins) {
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

/// Sentences about rows that are behind another side, or far from a floor. A row that is not has no sentence.
enum Behind {
    /// A ratio above which a row is behind a side that does the same. Below it, the rounds differ more.
    static let peer = 1.05
    /// A ratio above which a row is far from a floor.
    static let floor = 2.0

    /// A row's name and its ratio to the reference; nil if they do not compare.
    typealias Row = (name: String, ratio: Double?)

    /// One sentence for all rows whose ratio is above a limit: “pair” 9.02 ×, “schedule” 7.90 × the C heap, and why.
    /// Nil if there is no such row.
    static func remark(_ rows: [Row], above limit: Double, _ reference: String, _ why: String) -> String? {
        let behind = rows.compactMap { row in row.ratio.flatMap { $0 > limit ? "“\(row.name)” \($0.short) ×" : nil } }
        if behind.isEmpty { return nil }
        return "\(behind.joined(separator: ", ")) \(reference)" + (why.isEmpty ? "." : ": \(why).")
    }
}
