internal import TimerCore

/// Collecting and reading statistics.
extension ServiceCore {
    /// Begins to collect the statistics of a timer, or of the service, or ends it.
    func collectStatistics(_ isWanted: Bool, of record: TimerRecord?) {
        let new = isWanted ? TickCounts() : nil
        locked(inForkedChild: ()) { state in
            if isWanted == ((record.map(\.counts) ?? state.counts) != nil) { return }
            if let record { record.onDemand.counts = new } else { state.counts = new }
        }
    }

    /// The statistics of a timer, or of the service; nil if they are not collected.
    func statistics(of record: TimerRecord?) -> PreciseTimer.Statistics? {
        // Only the numbers are copied under the lock.
        let numbers = locked(inForkedChild: nil) { state in (record.map(\.counts) ?? state.counts)?.numbers }
        return numbers.map { PreciseTimer.Statistics($0, clock) }
    }

    /// The places whose handlers were slow.
    var slowPlaces: [HandlerWatch.SlowPlace] { locked(inForkedChild: []) { $0.handlers.slow } }
}
