internal import TimerKernel

/// Collecting and reading what an observer sees.
extension ServiceCore {
    /// Begins to collect the statistics of a timer, or of the service, or ends it.
    func collectStatistics(_ isWanted: Bool, of record: Record?) {
        // Exchanged with the former ones, which are released without the lock.
        var counts = isWanted ? TickCounts(clock) : nil
        locked(inForkedChild: ()) { state in
            guard (state.counts(of: record) != nil) != isWanted else { return }
            // The extras of a timer that has ended may be read without the lock.
            if let record, record.hasEnded, isWanted { return }
            let observer = state.observer ?? Observer()
            if let record {
                swap(&counts, &record.onDemand.extras.counts)
                if !record.hasEnded { observer.countedTimers += isWanted ? 1 : -1 }
            } else {
                swap(&counts, &observer.counts)
            }
            state.observer = observer
        }
    }

    /// Whether the statistics of a timer, or of the service, are collected.
    func collectsStatistics(of record: Record?) -> Bool {
        locked(inForkedChild: false) { $0.counts(of: record) != nil }
    }

    /// The numbers of a timer's or the service's statistics, which are all that is copied under the lock; nil if they
    /// are not collected.
    func statistics(of record: Record?) -> TickCounts.Numbers? {
        locked(inForkedChild: nil) { $0.counts(of: record)?.numbers }
    }

    /// In a debug build, warns about handlers that were found to be slow. Without the lock: writing may block.
    func reportSlowHandlers() {
        guard isDebugBuild else { return }
        for site in locked(inForkedChild: [], { $0.observer?.slowSites.takeUnreported() ?? [] }) { site.warn() }
    }

    /// The call sites whose handlers were slow, and those whose handlers run at this moment for longer than their
    /// period. Of many that run, a portion is among them.
    var slowSites: [SlowSite] {
        locked(inForkedChild: []) { state in
            var sites = state.observer?.slowSites ?? []
            let now = state.now?.nanoseconds ?? 0
            for position in 0..<min(state.scheduler.runningCount, Scheduler<UserSide>.portion) {
                let record = state.scheduler.running(at: position)
                let time = now - min(now, state.scheduler.runningSince(record) ?? now)
                if time > record.leastPeriod { sites.note(SlowSite(record, time)) }
            }
            return sites
        }
    }
}

extension ServiceState {
    /// The statistics of a timer, or of the service; nil if they are not collected.
    fileprivate func counts(of record: Record?) -> TickCounts? {
        if let record { record.side?.extras.counts } else { observer?.counts }
    }
}
