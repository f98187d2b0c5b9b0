internal import TimerResults

/// All rounds one after the other on one axis of time.
///
/// A round's times count from the beginning of its measurement. In merged results several measurements began at 0: the
/// later ones are moved behind the earlier ones.
struct PageTimeline {
    /// A round's place, in nanoseconds.
    struct Span: Hashable, Sendable {
        let start: UInt64
        let end: UInt64
        /// The offset from the round's own times.
        let shift: UInt64
    }

    /// One for each round.
    let spans: [Span]

    init(_ rounds: [Round]) {
        var spans: [Span] = []
        for round in rounds {
            let times = round.cells.lazy.flatMap(\.stretches.all).map(\.time)
            let end = spans.last?.end ?? 0
            let start = times.min() ?? end
            // The end of the last stretch is unknown, but a cell knows how long its ticks took.
            let length = max((times.max() ?? start) - start, round.cells.map(\.elapsed).max() ?? 0)
            let shift = start < end ? end - start : 0
            spans.append(Span(start: start + shift, end: start + shift + length, shift: shift))
        }
        self.spans = spans
    }

    /// The most stretches of a row in the picture.
    static let mostStretches = 400

    /// A row's stretches on the axis. If there are too many, neighbours of one round become one stretch: the median
    /// of their medians, the greatest of their greatest.
    func stretches(of key: RowKey, in rounds: [Round]) -> [Stretch] {
        let all = zip(rounds, spans)
            .map { round, span in
                (round[key]?.stretches.all ?? [])
                    .map { Stretch(time: $0.time + span.shift, median: $0.median, greatest: $0.greatest) }
            }
        let count = all.reduce(0) { $0 + $1.count }
        guard count > Self.mostStretches else { return all.flatMap(\.self) }
        // Each round may leave a remainder. With more rounds than stretches, rounds become one, too.
        guard all.count * 2 <= Self.mostStretches else {
            return Self.thinned(all.flatMap(\.self), by: Self.quotient(count, Self.mostStretches))
        }
        let step = Self.quotient(count, Self.mostStretches - all.count)
        return all.flatMap { Self.thinned($0, by: step) }
    }

    /// Rounded up.
    private static func quotient(_ dividend: Int, _ divisor: Int) -> Int { (dividend + divisor - 1) / divisor }

    private static func thinned(_ stretches: [Stretch], by step: Int) -> [Stretch] {
        stride(from: 0, to: stretches.count, by: step)
            .map { start in
                let group = stretches[start..<min(start + step, stretches.count)]
                return Stretch(
                    time: stretches[start].time,
                    median: group.map(\.median).sorted()[group.count / 2],
                    greatest: group.map(\.greatest).max() ?? 0
                )
            }
    }
}
