/// The lateness in one stretch of time, for a picture of how it went.
package struct Stretch: Hashable, Sendable {
    /// Nanoseconds from the beginning of the measurement to the stretch.
    package let time: UInt64
    /// The median lateness, in nanoseconds.
    package let median: Int64
    /// The greatest lateness, in nanoseconds.
    package let greatest: Int64

    package init(time: UInt64, median: Int64, greatest: Int64) {
        self.time = time
        self.median = median
        self.greatest = greatest
    }

    /// A stretch lasts at least so long, so that it holds what is slower than the period.
    private static let shortest: UInt64 = 12_500_000
    /// No turn is cut into more stretches.
    private static let most = 64

    /// The stretches of a turn that began `offset` nanoseconds after the measurement.
    package static func of(_ points: [Turn.Point], from offset: UInt64) -> [Stretch] {
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
