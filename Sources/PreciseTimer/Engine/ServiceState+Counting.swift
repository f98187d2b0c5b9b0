internal import TimerAlarms
@_spi(Engine) internal import TimerCore

/// Counting ticks and the time of handlers.
extension ServiceState {
    /// Counts a tick, and the time of its handler as soon as it is known.
    @inline(__always)
    mutating func count(_ served: Served, of record: TimerRecord, isInline: Bool) {
        record.count(served)
        counts?.count(served)
        if let time = served.handlerTime {
            countHandler(of: record, time)
        } else if isInline {
            // This tick was delivered when the handler of the one before had returned.
            if handlers.isOpen { closeHandlerTime(at: served.delivered) }
            let isCounted = counts != nil || record.counts != nil
            let threshold = isCounted ? 0 : record.leastPeriod
            if threshold != .max {
                handlers.noteReturn(of: record, calledAt: served.delivered, threshold: threshold)
            }
        }
    }

    /// The statistics of a timer, or of the service, while they are collected.
    func counts(of record: TimerRecord?) -> TickCounts? { record.map(\.counts) ?? counts }

    /// Ends the time of the inline handler that returned last, if it has not ended.
    mutating func closeHandlerTime() {
        if handlers.isOpen, let now { closeHandlerTime(at: now.nanoseconds) }
    }

    @inline(__always)
    private mutating func closeHandlerTime(at now: UInt64) {
        if let (record, time) = handlers.takeReturned(at: now) { countHandler(of: record, time) }
    }

    @inline(never)
    private mutating func countHandler(of record: TimerRecord, _ nanoseconds: UInt64) {
        if nanoseconds > record.leastPeriod { handlers.noteSlow(record, nanoseconds) }
        counts?.countHandler(nanoseconds)
        record.counts?.countHandler(nanoseconds)
    }
}
