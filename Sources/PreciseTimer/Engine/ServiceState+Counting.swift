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
            // This tick was delivered when the one before had been handled.
            if handlers.returned != nil { closeHandlerTime(at: served.delivered) }
            let matters = record.leastPeriod != .max || counts != nil || record.counts != nil
            if matters { handlers.noteReturn(of: record, calledAt: served.delivered) }
        }
    }

    /// Ends the time of the inline handler that returned last, if it has not ended.
    mutating func closeHandlerTime() {
        if handlers.returned != nil, let now { closeHandlerTime(at: now.nanoseconds) }
    }

    private mutating func closeHandlerTime(at now: UInt64) {
        guard let (record, time) = handlers.takeReturned(at: now) else { return }
        countHandler(of: record, time)
    }

    private mutating func countHandler(of record: TimerRecord, _ nanoseconds: UInt64) {
        if nanoseconds > record.leastPeriod { handlers.noteSlow(record, nanoseconds) }
        counts?.countHandler(nanoseconds)
        record.counts?.countHandler(nanoseconds)
    }
}
