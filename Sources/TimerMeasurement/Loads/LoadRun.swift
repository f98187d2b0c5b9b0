internal import PreciseTimer
internal import TimerAlarms
internal import TimerCore

/// A load that is on, from its creation to its `stop()`.
struct LoadRun {
    /// Puts a load on.
    ///
    /// - Parameters:
    ///   - load: which one.
    ///   - service: the service whose queue is loaded where the load is one of timers; a row without one stays without.
    /// - Throws: `TimerError` where the system refuses a thread or the service a timer; nothing is left on then.
    init(_ load: Load, on service: TimerService?) throws(TimerError) {}

    /// What the kernel has billed to the load's own threads up to now.
    var usage: ResourceUsage { ResourceUsage(cpuNanoseconds: 0, voluntarySwitches: 0, involuntarySwitches: 0) }

    /// Takes the load off; returns when its threads do no more work.
    func stop() {}
}
