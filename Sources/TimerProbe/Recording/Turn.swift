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
            let period = Int64(recording.deadlines.period)
            return recording.samples.lazy.flatMap { sample in
                (0..<sample.missed).lazy.map { (number) -> Int64 in sample.lateness - Int64(number + 1) * period }
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

extension Cell {
    /// Counts the recordings of a turn.
    ///
    /// - Parameters:
    ///   - key: the row.
    ///   - turn: its ticks.
    ///   - cost: the kernel's bill for the turn.
    package init(_ key: RowKey, _ turn: Turn, cost: Cost) {
        let samples = turn.recordings.lazy.flatMap(\.samples)
        self.init(
            key,
            missed: turn.recordings.reduce(0) { $0 + $1.missed },
            early: turn.recordings.reduce(0) { $0 + $1.early },
            lateness: Distribution(samples.map(\.lateness)),
            omitted: Distribution(turn.omitted),
            wake: Distribution(samples.map(\.wakeLateness)),
            hop: Distribution(samples.map(\.hopLateness)),
            intervalError: Distribution(turn.intervalErrors),
            drifts: [Drift(turn.points, period: turn.recordings[0].deadlines.period)].compactMap(\.self),
            cost: cost,
            elapsed: turn.elapsed,
            // A peer promises nothing.
            problem: key.kind == .peer ? nil : turn.problem,
            late: turn.late,
            spin: turn.spin
        )
    }
}

/// Every tick as a line of comma-separated values.
package enum SampleLines {
    /// The line with the names of the columns.
    package static let header = "lap,row,load,timer,index,deadline_ns,wake_lateness_ns,lateness_ns,missed\n"

    /// One line for each tick of a turn, timer by timer. Every line has its line end.
    ///
    /// - Parameters:
    ///   - turn: the ticks.
    ///   - key: the row.
    ///   - lap: the number of the lap, from 1. The timers' numbers start at 1, too.
    /// - Returns: the lines.
    /// - Complexity: linear in the ticks.
    package static func lines(_ turn: Turn, of key: RowKey, lap: Int) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(turn.recordings.reduce(0) { $0 + $1.ticks } * 96)
        for (timer, recording) in turn.recordings.enumerated() {
            // Only numbers differ from line to line.
            let start = Array("\(lap),\(key.row),\(key.load),\(timer + 1)".utf8)
            for sample in recording.samples {
                bytes += start
                append(Int64(bitPattern: sample.index), to: &bytes)
                append(Int64(bitPattern: recording.deadlines[sample.index].nanoseconds), to: &bytes)
                append(sample.wakeLateness, to: &bytes)
                append(sample.lateness, to: &bytes)
                append(Int64(bitPattern: sample.missed), to: &bytes)
                bytes.append(UInt8(ascii: "\n"))
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends a comma and a number's digits, without the string that `description` would make: there are millions of
    /// numbers.
    private static func append(_ number: Int64, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: ","))
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        let first = bytes.count
        var rest = number.magnitude
        repeat {
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        } while rest > 0
        bytes[first...].reverse()
    }
}
