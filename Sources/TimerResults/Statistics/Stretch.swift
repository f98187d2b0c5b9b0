/// The lateness in one stretch of time, for a picture of its course.
package struct Stretch: Hashable, Sendable {
    /// Nanoseconds from the beginning of the measurement to the stretch.
    package let time: UInt64
    /// Nanoseconds.
    package let median: Int64
    /// Nanoseconds.
    package let greatest: Int64

    package init(time: UInt64, median: Int64, greatest: Int64) {
        self.time = time
        self.median = median
        self.greatest = greatest
    }

    /// Nanoseconds that a stretch lasts at least, to show what is slower than the period.
    private static let shortest: UInt64 = 12_500_000
    /// The most stretches of a turn.
    private static let most = 64

    /// The stretches of a turn that began `offset` nanoseconds after the measurement.
    package static func of(_ points: [Point], from offset: UInt64) -> [Stretch] {
        guard let last = points.last else { return [] }
        let count = max(1, min(most, points.count, Int(clamping: last.time / shortest)))
        return (0..<count)
            .map { stretch in
                let ticks = points[points.count * stretch / count..<points.count * (stretch + 1) / count]
                let latenesses = ticks.map(\.lateness).sorted()
                return Stretch(
                    time: offset + ticks[ticks.startIndex].time,
                    median: latenesses[latenesses.count / 2],
                    greatest: latenesses[latenesses.count - 1]
                )
            }
    }
}

/// Stretches as a file keeps them: one line of text, `time:median:greatest` with spaces between.
package struct Stretches: Codable, Hashable, Sendable {
    package var all: [Stretch]

    package init(all: [Stretch]) { self.all = all }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let texts = try container.decode(String.self).split(separator: " ")
        all = texts.compactMap(Stretch.init)
        if all.count < texts.count {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "a stretch is not three numbers")
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(all.map { "\($0.time):\($0.median):\($0.greatest)" }.joined(separator: " "))
    }
}

extension Stretch {
    fileprivate init?(_ text: Substring) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let time = UInt64(parts[0]), let median = Int64(parts[1]),
            let greatest = Int64(parts[2]), time < 1 << 52, median.magnitude < 1 << 62, greatest.magnitude < 1 << 62
        else { return nil }
        self.init(time: time, median: median, greatest: greatest)
    }
}
