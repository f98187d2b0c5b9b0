internal import TimerKernel

/// Collecting and reading what an observer sees.
extension ServiceCore {
    /// Begins to collect the statistics of a timer, or of the service, or ends it.
    func collectStatistics(_ isWanted: Bool, of record: Record?) {
        locked(inForkedChild: ()) { state in
            guard (state.counts(of: record) != nil) != isWanted else { return }
            // The cold fields of a timer that has ended may be read without the lock.
            if let record, record.hasEnded, isWanted { return }
            let (observer, counts) = (state.observer ?? Observer(), isWanted ? TickCounts(clock) : nil)
            state.observer = observer
            if isWanted, let alarm = state.alarm { observer.watchClock(of: alarm) }
            if let record {
                record.needCold().counts = counts
                if !record.hasEnded { observer.countedTimers += isWanted ? 1 : -1 }
            } else {
                observer.counts = counts
            }
        }
    }

    /// In a debug build, warns about handlers that were found to be slow. Without the lock: writing may block.
    func reportSlowHandlers() {
        guard isDebugBuild else { return }
        for site in decide(inForkedChild: [], { $0.observer?.slowSites.takeUnreported() ?? [] }) { site.warn() }
    }
}

extension ServiceState {
    /// The statistics of a timer, or of the service; nil if they are not collected.
    func counts(of record: Record?) -> TickCounts? {
        if let record { record.cold?.counts } else { observer?.counts }
    }
}
