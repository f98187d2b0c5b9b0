/// One case in one round, or in one turn of it: what is left of its ticks once they are counted.
package struct Cell: Hashable, Sendable {
    /// What was measured.
    package let `case`: Case
    /// How many ticks there were.
    package internal(set) var ticks: Int
    /// How many deadlines got no tick of their own.
    package internal(set) var missed: UInt64
    /// How many ticks came before their deadline.
    package internal(set) var early: Int
    /// How late the ticks were.
    package internal(set) var lateness: Distribution
    /// How late the missed deadlines were when the tick came that carried them: what coordinated omission hides.
    package internal(set) var omitted: Distribution
    /// How late the alarm's thread was.
    package internal(set) var wake: Distribution
    /// How much later the handler was.
    package internal(set) var hop: Distribution
    /// By how much the gaps between ticks were longer or shorter than their deadlines', without sign.
    package internal(set) var intervalError: Distribution
    /// The slope of the lateness in each turn that had enough ticks.
    package internal(set) var drifts: [Drift]
    /// The lateness as it went.
    package internal(set) var stretches: [Stretch]
    /// What it cost.
    package internal(set) var cost: Cost
    /// Nanoseconds from a period before the first deadline to the last tick, of all turns.
    package internal(set) var elapsed: UInt64
    /// What must never be, where it was first; nil where all is well. Of peers nothing is expected.
    package internal(set) var fault: String?

    /// Counts what was recorded in a turn.
    ///
    /// - Parameters:
    ///   - case: what was measured.
    ///   - turn: its ticks.
    ///   - cost: what the kernel billed meanwhile.
    ///   - time: nanoseconds from the beginning of the measurement to the turn's first deadline.
    package init(_ case: Case, _ turn: Turn, cost: Cost, at time: UInt64) {
        self.case = `case`
        ticks = turn.recordings.reduce(0) { $0 + $1.ticks }
        missed = turn.recordings.reduce(0) { $0 + $1.missed }
        early = turn.recordings.reduce(0) { $0 + $1.early }
        let samples = turn.recordings.lazy.flatMap(\.samples)
        lateness = Distribution(samples.map(\.lateness))
        omitted = Distribution(turn.omitted)
        wake = Distribution(samples.map(\.wakeLateness))
        hop = Distribution(samples.map(\.hopLateness))
        intervalError = Distribution(turn.intervalErrors)
        let points = turn.points
        drifts = [Drift(points)].compactMap(\.self)
        stretches = Stretch.of(points, from: time)
        self.cost = cost
        elapsed = turn.elapsed
        fault = `case`.kind == .peer ? nil : turn.fault
    }

    /// Takes in a later turn of the same case.
    package mutating func add(_ later: Cell) {
        ticks += later.ticks
        missed += later.missed
        early += later.early
        lateness.add(later.lateness)
        omitted.add(later.omitted)
        wake.add(later.wake)
        hop.add(later.hop)
        intervalError.add(later.intervalError)
        drifts += later.drifts
        stretches += later.stretches
        cost.add(later.cost)
        elapsed += later.elapsed
        fault = fault ?? later.fault
    }

    /// The lateness of all deadlines, those that got no tick of their own included: the lateness corrected for coordinated
    /// omission.
    package var corrected: Distribution {
        var all = lateness
        all.add(omitted)
        return all
    }
}
