package import PreciseTimer
package import TimerAlarms
package import TimerCore

/// A load: ready from its creation, on from `begin()` to `halt()`, gone after `stop()`.
package struct LoadRun {
    private let work: (any LoadWork)?

    /// How long a load is on before the first deadline of a turn, in nanoseconds.
    static let lead: UInt64 = 20_000_000

    /// Makes a load ready. Far timers wait in the service's queue from now on.
    ///
    /// - Parameters:
    ///   - load: which one.
    ///   - service: the service whose queue is loaded where the load is one of timers; a row without one stays without.
    /// - Throws: `TimerError` if the system refuses a thread or the service a timer; nothing is left then.
    package init(_ load: Load, on service: TimerService?) throws(TimerError) {
        switch load {
        // Handlers are the probes' work.
        case .idle, .handler: work = nil
        case .cpu(let threads): work = try LoadThreads(threads, named: "load.cpu") { while !$0.isSet {} }
        case .memory: work = try LoadThreads(1, named: "load.memory", MemoryLoad.run)
        case .churn(let perSecond):
            work = try service.map { service throws(TimerError) in
                try LoadThreads(1, named: "load.churn") { ChurnLoad(service, perSecond).run(until: $0) }
            }
        case .pending(let timers):
            work = try service.map { service throws(TimerError) in
                try PendingLoad(timers, on: service)
            }
        }
    }

    /// What the kernel has billed to the load's own threads up to now.
    ///
    /// Exact before `begin()` and after `halt()`, while they all sleep. The account of the whole process can be compared
    /// with it only then: the two are never read at the same moment, and hundreds of spinning threads earn seconds while
    /// the reading thread waits for its processor.
    package var usage: ResourceUsage { work?.usage ?? .none }

    /// Puts the load on.
    package func begin() { work?.begin() }

    /// Takes the load off, and keeps its threads and their accounts. Returns when they do no more work.
    package func halt() { work?.halt() }

    /// Ends the load and its threads. Returns when they do no more work.
    package func stop() { work?.stop() }
}

/// What makes a load.
protocol LoadWork: Sendable {
    /// What the kernel has billed to its own threads up to now.
    var usage: ResourceUsage { get }

    /// Lets it work.
    func begin()

    /// Ends its work; returns when it does no more.
    func halt()

    /// Ends it; returns when it does no more.
    func stop()
}
