internal import PreciseTimer
package import TimerResults

/// The recordings of all timers of a row in one turn.
package struct Turn: Hashable, Sendable {
    /// One recording for each timer; at least one.
    package let recordings: [Recording]

    /// The causes of the late ticks; nil if the plan does not ask for them.
    package let late: LateTicks?

    /// How the budget limited the row's spinning; nil for a row that does not spin.
    package let spin: SpinCuts?

    package init(_ recordings: [Recording], late: LateTicks? = nil, spin: SpinCuts? = nil) {
        self.recordings = recordings
        self.late = late
        self.spin = spin
    }

    /// The first deadline, in nanoseconds on its clock.
    package var start: UInt64 { recordings.map(\.deadlines.start.nanoseconds).min() ?? 0 }

    /// Nanoseconds from a period before the first deadline to the last tick: the time over which the cost is spread.
    package var elapsed: UInt64 {
        guard let end = recordings.compactMap(\.last?.delivered.nanoseconds).max() else { return 0 }
        return max(end, start) - start + recordings[0].deadlines.period
    }

    /// The ticks of all timers, in the order of their deadlines.
    package var points: [Point] {
        let start = start
        let points = recordings.flatMap { recording in
            recording.samples.map { sample in
                Point(time: recording.deadlines[sample.index].nanoseconds - start, lateness: sample.lateness)
            }
        }
        return recordings.count == 1 ? points : points.sorted { $0.time < $1.time }
    }

    /// How late each missed deadline was when the tick came that carried it.
    package var omitted: some Sequence<Int64> {
        recordings.lazy.flatMap { recording in
            recording.samples.lazy.flatMap { sample in
                (0..<sample.missed).lazy.map { sample.lateness - Int64($0 + 1) * Int64(recording.deadlines.period) }
            }
        }
    }

    /// The difference between the gap of two ticks of a timer and the gap of their deadlines, without sign.
    package var intervalErrors: some Sequence<Int64> {
        recordings.lazy.flatMap { recording in
            zip(recording.samples, recording.samples.dropFirst()).lazy.map { abs($1.lateness - $0.lateness) }
        }
    }

    /// The same turn with another lateness of each tick.
    func stretched(by factor: Double) -> Turn {
        Turn(recordings.map { $0.stretched(by: factor) }, late: late, spin: spin)
    }

    /// The first broken promise of a timer; nil if there is none.
    package var problem: String? { recordings.lazy.compactMap(\.problem).first }
}
