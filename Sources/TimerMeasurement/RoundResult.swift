internal import TimerCore

/// One row in one round: what is left of its samples once they are counted.
package struct RoundResult: Sendable {
    /// How many ticks there were.
    package let ticks: Int
    /// How many deadlines got no tick.
    package let missed: UInt64
    /// How many ticks came before their deadline.
    package let early: Int
    /// How late the ticks were.
    package let lateness: Distribution
    /// The slope of their lateness; nil for too few ticks.
    package let drift: Drift?
    /// Time on a processor, in nanoseconds.
    package let cpu: Int64
    /// Nanoseconds from the first deadline to the last tick.
    package let elapsed: UInt64
    /// How often a thread was woken.
    package let wakeUps: Int64
    /// What must never be; nil where all is well.
    package let fault: String?

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
        drift = Drift(recording.samples, period: recording.deadlines.period)
        self.cpu = cpu
        let start = recording.deadlines.start
        elapsed = max(recording.lastReading?.nanoseconds ?? start, start) - start
        self.wakeUps = wakeUps
        fault = recording.fault
    }
}
