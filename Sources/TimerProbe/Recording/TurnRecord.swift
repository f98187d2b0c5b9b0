package import HostSystem
internal import PreciseTimer
package import TimerResults

/// What was recorded of a row in one turn.
package struct TurnRecord: Hashable, Sendable {
    /// One recording for each timer; none if the row failed.
    package let recordings: [Recording]
    /// The kernel's bill; nil if the kernel does not show it.
    package let bill: ResourceUsage?
    /// Nanoseconds that threads of this process were ready to run and waited for a processor; nil if the kernel does
    /// not show it.
    package let runDelay: UInt64?
    /// The causes of the late ticks; nil if the plan does not ask for them.
    package let late: LateTicks?
    /// How the budget limited the row's spinning; nil for a row that does not spin.
    package let spin: SpinCuts?

    package init(
        _ recordings: [Recording],
        bill: ResourceUsage? = nil,
        runDelay: UInt64? = nil,
        late: LateTicks? = nil,
        spin: SpinCuts? = nil
    ) {
        (self.recordings, self.bill, self.runDelay, self.late) = (recordings, bill, runDelay, late)
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

    /// The lateness of all deadlines in ascending order: a missed deadline is late until the tick that carried it.
    /// Without these, coordinated omission would hide the latest.
    package var latenesses: [Int64] {
        recordings.flatMap { recording in
            let period = Int64(recording.deadlines.period)
            return recording.samples.flatMap { sample in
                (0...sample.missed).map { sample.lateness - Int64($0) * period }
            }
        }
        .sorted()
    }

    /// The same turn with a known change of its ticks.
    func changed(by planted: Planted) -> TurnRecord {
        var random = SplitMix64(seed: start)
        let changed = recordings.map { $0.changed(by: planted, &random) }
        return TurnRecord(changed, bill: bill, runDelay: runDelay, late: late, spin: spin)
    }

    /// The first broken promise of a timer; nil if there is none.
    package var problem: String? { recordings.lazy.compactMap(\.problem).first }
}

/// Every tick as a line of comma-separated values.
package enum SampleLines {
    /// The line with the names of the columns.
    package static let header = "lap,row,load,timer,index,deadline_ns,wake_lateness_ns,lateness_ns,missed\n"

    /// One line for each tick of a turn, timer by timer, each with its line end. Laps and timers are counted from 1.
    /// Linear.
    package static func lines(_ turn: TurnRecord, of key: RowKey, lap: Int) -> String {
        turn.recordings.enumerated()
            .flatMap { timer, recording in
                recording.samples.map { sample in
                    "\(lap),\(key.row),\(key.load),\(timer + 1),\(sample.index),"
                        + "\(recording.deadlines[sample.index].nanoseconds),\(sample.wakeLateness),\(sample.lateness),"
                        + "\(sample.missed)\n"
                }
            }
            .joined()
    }
}
