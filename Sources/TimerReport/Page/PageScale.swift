internal import Foundation
internal import TimerResults

/// A logarithmic axis of lateness, from one round number to another.
struct PageScale: Hashable, Sendable {
    /// A line across the picture.
    struct Mark: Hashable, Sendable {
        /// Percent of the axis.
        let place: Double
        let text: String
    }

    private let low: Double
    private let high: Double

    /// Nanoseconds. The logarithm of nothing has no place, and smaller differences between timers mean nothing.
    private static let least = 100.0

    /// The most lines that a narrow picture has room for.
    private static let mostMarks = 6
    /// The most powers of ten, whose texts are longer.
    private static let mostDecades = 5

    /// An axis that has room for all values, in nanoseconds.
    init(_ values: [Int64]) {
        let values = values.map { max(Double($0), Self.least) }
        let (least, greatest) = (values.min() ?? Self.least, values.max() ?? Self.least)
        low = Self.roundNumbers.last { $0 <= least } ?? Self.least
        let bound = max(greatest, low.nextUp)
        high = Self.roundNumbers.first { $0 >= bound } ?? bound
    }

    /// 100 ns, 200 ns, 500 ns, 1 µs and so on, to 5,000 s.
    private static let roundNumbers: [Double] = {
        var decades = [least]
        while decades.count < 11 { decades.append(decades[decades.count - 1] * 10) }
        return decades.flatMap { [$0, 2 * $0, 5 * $0] }
    }()

    /// The place of a value, in percent of the axis.
    func place(_ nanoseconds: Int64) -> Double {
        let value = min(max(Double(nanoseconds), low), high)
        return 100 * log(value / low) / log(high / low)
    }

    /// All round numbers. If there is no room for them, only powers of ten, or every second of these, and the ends if
    /// they are far from the rest.
    var marks: [Mark] {
        let all = Self.roundNumbers.filter { (low...high).contains($0) }
        var shown = all.filter { log10($0).rounded() == log10($0) }
        if all.count <= Self.mostMarks {
            shown = all
        } else if shown.count == 2 {
            let ends = [low].filter { $0 * 4 < shown[0] } + [high].filter { $0 > shown[1] * 4 }
            shown = all.filter { (shown + ends).contains($0) }
        } else {
            let step = (shown.count + Self.mostDecades - 1) / Self.mostDecades
            shown = stride(from: 0, to: shown.count, by: max(step, 1)).map { shown[$0] }
        }
        return shown.map { Mark(place: place(Int64($0)), text: DurationText.spaced(nanoseconds: UInt64($0))) }
    }
}
