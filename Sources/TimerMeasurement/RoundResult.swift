internal import TimerCore

/// One row in one round, or in one turn of it: what is left of its samples once they are counted.
package struct RoundResult: Sendable {
    /// How many ticks there were.
    package private(set) var ticks: Int
    /// How many deadlines got no tick.
    package private(set) var missed: UInt64
    /// How many ticks came before their deadline.
    package private(set) var early: Int
    /// How late the ticks were.
    package private(set) var lateness: Distribution
    /// The slope of their lateness in each turn that had enough ticks.
    package private(set) var drifts: [Drift]
    /// Time on a processor, in nanoseconds.
    package private(set) var cpu: Int64
    /// Nanoseconds from the first deadline to the last tick.
    package private(set) var elapsed: UInt64
    /// How often a thread was woken.
    package private(set) var wakeUps: Int64
    /// What must never be, where it was first; nil where all is well.
    package private(set) var fault: String?

    /// Counts what was recorded.
    ///
    /// - Parameters:
    ///   - recording: the ticks.
    ///   - cpu: nanoseconds on a processor meanwhile, of all threads but the one that waits.
    ///   - wakeUps: how often one of those threads was woken.
    package init(_ recording: Recording, cpu: Int64, wakeUps: Int64) {
        ticks = recording.ticks
        missed = recording.missed
        early = recording.early
        lateness = Distribution(recording.samples.lazy.map(\.lateness))
        drifts = [Drift(recording.samples, period: recording.deadlines.period)].compactMap(\.self)
        self.cpu = cpu
        let start = recording.deadlines.start
        elapsed = max(recording.lastReading?.nanoseconds ?? start, start) - start
        self.wakeUps = wakeUps
        fault = recording.fault
    }

    /// This and a later turn of the same row.
    package func adding(_ later: RoundResult) -> RoundResult {
        var sum = self
        sum.ticks += later.ticks
        sum.missed += later.missed
        sum.early += later.early
        sum.lateness.add(later.lateness)
        sum.drifts += later.drifts
        sum.cpu += later.cpu
        sum.elapsed += later.elapsed
        sum.wakeUps += later.wakeUps
        sum.fault = fault ?? later.fault
        return sum
    }
}
