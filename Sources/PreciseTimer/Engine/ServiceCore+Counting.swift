@_spi(Engine) internal import TimerCore

/// Collecting and reading statistics.
extension ServiceCore {
    /// Begins to collect the statistics of a timer, or of the service, or ends it.
    func collectStatistics(_ isWanted: Bool, of record: TimerRecord?) {
        var counts = isWanted ? TickCounts() : nil
        locked(inForkedChild: ()) { state in
            if state.isCounted(record) != isWanted { state.exchange(&counts, of: record) }
        }
    }

    /// Whether the statistics of a timer, or of the service, are collected.
    func collectsStatistics(of record: TimerRecord?) -> Bool {
        locked(inForkedChild: false) { $0.isCounted(record) }
    }

    /// The statistics of a timer, or of the service; nil if they are not collected.
    func statistics(of record: TimerRecord?) -> PreciseTimer.Statistics? {
        // Only the numbers are copied under the lock.
        let numbers = locked(inForkedChild: nil) { $0.numbers(of: record) }
        return numbers.map { PreciseTimer.Statistics($0, clock) }
    }

    /// The places whose handlers were slow.
    var slowPlaces: [HandlerWatch.SlowPlace] { locked(inForkedChild: []) { $0.handlers.slowPlaces } }
}
