package import PreciseTimer
package import TimerAlarms
package import TimerCore

/// A load that is on, from its creation to its `stop()`.
package struct LoadRun {
    private let work: (any LoadWork)?

    /// Puts a load on.
    ///
    /// - Parameters:
    ///   - load: which one.
    ///   - service: the service whose queue is loaded where the load is one of timers; a row without one stays without.
    /// - Throws: `TimerError` where the system refuses a thread or the service a timer; nothing is left on then.
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

    /// What the kernel has billed to the load's own threads up to now. To be read before the account of the whole process
    /// that it is taken from: see ``KernelThread/usage``.
    package var usage: ResourceUsage { work?.usage ?? .none }

    /// Takes the load off; returns when its threads do no more work.
    package func stop() { work?.stop() }
}

/// What makes a load.
protocol LoadWork: Sendable {
    /// What the kernel has billed to its own threads up to now.
    var usage: ResourceUsage { get }

    /// Ends it; returns when it does no more.
    func stop()
}
