internal import TimerCore

/// All timers of a case in one turn, as recorded.
package struct Turn: Hashable, Sendable {
    /// A tick's place in time.
    package struct Point: Hashable, Sendable {
        /// Nanoseconds from the turn's first deadline to the tick's.
        package let time: UInt64
        /// Nanoseconds from the tick's deadline to the tick.
        package let lateness: Int64

        package init(time: UInt64, lateness: Int64) {
            self.time = time
            self.lateness = lateness
        }
    }

    /// One of each timer; at least one.
    package let recordings: [Recording]

    package init(_ recordings: [Recording]) { self.recordings = recordings }

    /// What its deadlines are instants of.
    var clock: TimerClock { recordings[0].deadlines.start.clock }

    /// The first deadline of all, in nanoseconds on its clock.
    package var start: UInt64 { recordings.map(\.deadlines.start.nanoseconds).min() ?? 0 }

    /// Nanoseconds from a period before the first deadline to the last tick: the time that the ticks are to be paid for.
    package var elapsed: UInt64 {
        guard let end = recordings.compactMap(\.last?.delivered.nanoseconds).max() else { return 0 }
        return max(end, start) - start + recordings[0].deadlines.period
    }

    /// The ticks of all timers, in the order of their deadlines.
    package var points: [Point] {
        let start = start
        let points = recordings.flatMap { recording in
            recording.samples.map { sample in
                Point(
                    time: recording.deadlines[sample.index].nanoseconds - start,
                    lateness: sample.lateness
                )
            }
        }
        return recordings.count == 1 ? points : points.sorted { $0.time < $1.time }
    }

    /// How late the deadlines were that got no tick of their own, when the tick came that carried them.
    package var omitted: some Sequence<Int64> {
        recordings.lazy.flatMap { recording in
            recording.samples.lazy.flatMap { sample in
                (0..<sample.missed).lazy.map { sample.lateness - Int64($0 + 1) * Int64(recording.deadlines.period) }
            }
        }
    }

    /// By how much the gaps between the ticks of one timer were longer or shorter than their deadlines', without sign.
    package var intervalErrors: some Sequence<Int64> {
        recordings.lazy.flatMap { recording in
            zip(recording.samples, recording.samples.dropFirst()).lazy.map { abs($1.lateness - $0.lateness) }
        }
    }

    /// What must never be, where it was first; nil where all is well.
    package var fault: String? { recordings.lazy.compactMap(\.fault).first }
}
