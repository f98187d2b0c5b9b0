@_spi(Engine) internal import TimerCore

/// Collecting and reading statistics.
extension ServiceCore {
    /// Begins to collect the statistics of a timer, or of the service, or ends it.
    func collectStatistics(_ isWanted: Bool, of record: TimerRecord?) {
        let new = isWanted ? TickCounts() : nil
        locked(inForkedChild: ()) { state in
            if isWanted == (state.counts(of: record) != nil) { return }
            guard let record else {
                state.counts = new
                return
            }
            // The extras of a timer that has ended may be read without the lock.
            if !record.hasEnded || !isWanted { record.onDemand.counts = new }
        }
    }

    /// Whether the statistics of a timer, or of the service, are collected.
    func collectsStatistics(of record: TimerRecord?) -> Bool {
        locked(inForkedChild: false) { $0.counts(of: record) != nil }
    }

    /// The statistics of a timer, or of the service; nil if they are not collected.
    func statistics(of record: TimerRecord?) -> PreciseTimer.Statistics? {
        // Only the numbers are copied under the lock.
        let numbers = locked(inForkedChild: nil) { $0.counts(of: record)?.numbers }
        return numbers.map { PreciseTimer.Statistics($0, clock) }
    }

    /// The places whose handlers were slow.
    var slowPlaces: [HandlerWatch.SlowPlace] { locked(inForkedChild: []) { $0.handlers.slowPlaces } }
}
