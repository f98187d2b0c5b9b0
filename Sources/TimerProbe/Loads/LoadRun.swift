package import HostSystem
package import PreciseTimer

/// One use of a load: it is ready after its creation, works from `begin()` to `halt()`, and is gone after `stop()`.
package struct LoadRun {
    private let threads: LoadThreads?
    /// Far timers, which wait from the creation on.
    private let timers: [PreciseTimer]

    /// How long a load works before the first deadline of a turn.
    static func lead(of load: Load) -> Duration { load == .idle ? .zero : .milliseconds(20) }

    /// Makes a load ready.
    ///
    /// - Parameters:
    ///   - load: the load.
    ///   - service: the service whose queue a load of timers uses. Without a service, there is no such load.
    /// - Throws: `SystemError` if the system refuses a thread, or `TimerError` if the service refuses a timer. No
    ///   part of the load stays then.
    package init(_ load: Load, on service: TimerService?) throws {
        threads =
            switch load {
            // The probes do the work of handlers.
            case .idle, .handler, .pending: nil
            case .cpu(let threads): try LoadThreads(threads, named: "load.cpu") { while !$0.isSet {} }
            case .memory: try LoadThreads(1, named: "load.memory", MemoryLoad.run)
            case .churn(let perSecond):
                try service.map { service in
                    try LoadThreads(1, named: "load.churn") { ChurnLoad(service, perSecond).run(until: $0) }
                }
            }
        if case .pending(let count) = load, let service {
            timers = try (0..<count)
                .map { number in
                    let delay = Duration.seconds(3_600) + .milliseconds(number)
                    return try PreciseTimer.schedule(.once(after: delay), on: service) { _, _ in }
                }
        } else {
            timers = []
        }
    }

    /// The kernel's bill for the load's own threads up to now.
    ///
    /// It is exact before `begin()` and after `halt()`, while all threads sleep. Compare it with the account of the
    /// whole process only then. The two are never read at the same moment, and hundreds of spinning threads earn
    /// seconds while the reading thread waits for its processor.
    package var usage: ResourceUsage { threads?.usage ?? .zero }

    /// Starts the work.
    package func begin() { threads?.begin() }

    /// Ends the work, and keeps the threads and their accounts. Returns when the threads sleep.
    package func halt() { threads?.halt() }

    /// Ends the work, the threads and the timers. Returns when no more work is done.
    package func stop() {
        threads?.stop()
        for timer in timers { timer.cancel() }
    }
}
