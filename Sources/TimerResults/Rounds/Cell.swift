/// One row in a turn or in some laps, after its ticks were counted.
package struct Cell: Codable, Hashable, Sendable {
    package private(set) var key: RowKey
    /// The median lateness of each turn in nanoseconds, missed deadlines included; nil for a turn without ticks.
    package private(set) var medians: [Int64?]
    /// Deadlines that got no tick of their own.
    package private(set) var missed: UInt64
    /// Ticks that came before their deadline.
    package private(set) var early: Int
    /// From the deadline to the handler.
    package private(set) var lateness: Distribution
    /// How late each missed deadline was when the tick came that carried it. Coordinated omission hides these values.
    package private(set) var omitted: Distribution
    /// From the deadline to the alarm's thread.
    package private(set) var wake: Distribution
    /// From the alarm's thread to the handler.
    package private(set) var hop: Distribution
    /// The difference between the gap of two ticks and the gap of their deadlines, without sign.
    package private(set) var intervalError: Distribution
    /// One slope of the lateness for each turn that had enough ticks.
    package private(set) var drifts: [Drift]
    package private(set) var cost: Cost
    /// Nanoseconds from one period before the first deadline to the last tick, for all turns together.
    package private(set) var elapsed: UInt64
    /// The first broken promise of the library, in one line; nil if there is none. A peer promises nothing.
    package private(set) var problem: String?
    /// The causes of the late ticks; nil if the plan did not ask for them.
    package private(set) var late: LateTicks?
    /// How the budget limited the row's spinning; nil for a row that does not spin.
    package private(set) var spin: SpinCuts?

    /// The cell of one turn.
    package init(
        _ key: RowKey,
        missed: UInt64,
        early: Int,
        lateness: Distribution,
        omitted: Distribution,
        wake: Distribution,
        hop: Distribution,
        intervalError: Distribution,
        drifts: [Drift],
        cost: Cost,
        elapsed: UInt64,
        problem: String?,
        late: LateTicks? = nil,
        spin: SpinCuts? = nil
    ) {
        var all = lateness
        all.add(omitted)
        self.key = key
        medians = [all.moments.count > 0 ? all.percentile(50) : nil]
        self.missed = missed
        self.early = early
        self.lateness = lateness
        self.omitted = omitted
        self.wake = wake
        self.hop = hop
        self.intervalError = intervalError
        self.drifts = drifts
        self.cost = cost
        self.elapsed = elapsed
        self.problem = problem
        self.late = late
        self.spin = spin
    }

    private enum CodingKeys: String, CodingKey {
        case key
        case medians = "turn_medians_ns"
        case missed
        case early
        case lateness = "lateness_ns"
        case omitted = "omitted_ns"
        case wake = "wake_lateness_ns"
        case hop = "hop_lateness_ns"
        case intervalError = "interval_error_ns"
        case drifts
        case cost
        case elapsed = "elapsed_ns"
        case problem
        case late = "late_ticks"
        case spin
    }

    package var ticks: Int { lateness.moments.count }

    /// The lateness of all deadlines, missed ones included: the lateness corrected for coordinated omission.
    package var corrected: Distribution {
        var all = lateness
        all.add(omitted)
        return all
    }

    /// Adds a later turn or round of the same row.
    package mutating func add(_ later: Cell) {
        medians += later.medians
        missed += later.missed
        early += later.early
        lateness.add(later.lateness)
        omitted.add(later.omitted)
        wake.add(later.wake)
        hop.add(later.hop)
        intervalError.add(later.intervalError)
        drifts += later.drifts
        cost.add(later.cost)
        elapsed += later.elapsed
        problem = problem ?? later.problem
        if let more = later.late, late?.add(more) == nil { late = more }
        if let more = later.spin, spin?.add(more) == nil { spin = more }
    }

    /// The same measurement under another name.
    func renamed(_ row: String, _ kind: RowKey.Kind) -> Cell {
        var cell = self
        cell.key = RowKey(row: row, kind: kind, load: key.load)
        return cell
    }

    /// The counts that are added up over all rounds, as one sum. A sum that is small enough does not overflow, and
    /// neither does any part of it.
    var counts: Double {
        let lengths = [missed, elapsed, cost.cpu.magnitude, cost.wakeUps.magnitude, cost.contextSwitches.magnitude]
        let latenesses = [lateness, omitted, wake, hop, intervalError].map(\.moments.count)
        return lengths.reduce(0) { $0 + Double($1) } + latenesses.reduce(0) { $0 + Double($1) }
            + Double(late?.count ?? 0) + Double(spin?.cuts ?? 0)
    }

    /// Whether a measurement can have made this cell. A cell from a file may be damaged.
    var isSound: Bool {
        medians.allSatisfy { 0...1 << 52 ~= $0 ?? 0 }
            && (0...ticks).contains(early) && wake.moments.count == ticks && hop.moments.count == ticks
            && UInt64(omitted.moments.count) == missed && drifts.allSatisfy(\.isSound)
            && late?.isSound ?? true && spin?.isSound ?? true
    }
}

/// What the kernel billed for a row, without the threads that wait, show progress or make the load.
package struct Cost: Codable, Hashable, Sendable {
    /// Time on a processor, in nanoseconds.
    package private(set) var cpu: Int64
    /// The wake-ups of threads.
    package private(set) var wakeUps: Int64
    /// How often a thread left its processor, voluntarily or not.
    package private(set) var contextSwitches: Int64

    package init(cpu: Int64, wakeUps: Int64, contextSwitches: Int64) {
        self.cpu = cpu
        self.wakeUps = wakeUps
        self.contextSwitches = contextSwitches
    }

    private enum CodingKeys: String, CodingKey {
        case cpu = "cpu_ns"
        case wakeUps = "wakeups"
        case contextSwitches = "context_switches"
    }

    /// Adds another cost.
    package mutating func add(_ other: Cost) {
        cpu += other.cpu
        wakeUps += other.wakeUps
        contextSwitches += other.contextSwitches
    }
}

/// How the budget of a row that spins limited it.
package struct SpinCuts: Codable, Hashable, Sendable {
    /// How many deadlines had a shorter spin than the wake-ups needed, because the budget was used up.
    package private(set) var cuts: UInt64
    /// Why the row did not spin at all; nil if it may spin.
    package private(set) var obstacle: String?

    package init(cuts: UInt64, obstacle: String? = nil) {
        self.cuts = cuts
        self.obstacle = obstacle
    }

    /// Adds a later turn.
    package mutating func add(_ later: SpinCuts) {
        cuts += later.cuts
        obstacle = obstacle ?? later.obstacle
    }

    /// Whether a measurement can have counted these.
    var isSound: Bool { cuts < 1 << 52 }
}
