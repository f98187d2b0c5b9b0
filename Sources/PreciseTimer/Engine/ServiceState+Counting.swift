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
            let isCounted = counts != nil || record.isCounted
            let threshold = isCounted ? 0 : record.leastPeriod
            if threshold != .max {
                handlers.noteReturn(of: record, calledAt: served.delivered, threshold: threshold)
            }
        }
    }

    /// Whether the statistics of a timer, or of the service, are collected.
    func isCounted(_ record: TimerRecord?) -> Bool { record.map(\.isCounted) ?? (counts != nil) }

    /// The statistics of a timer, or of the service; nil if they are not collected.
    mutating func numbers(of record: TimerRecord?) -> TickCounts.Numbers? {
        if let record { record.numbers } else { counts?.numbers }
    }

    /// Exchanges the statistics of a timer, or of the service, with those given.
    mutating func exchange(_ new: inout TickCounts?, of record: TimerRecord?) {
        guard let record else { return swap(&new, &counts) }
        // The extras of a timer that has ended may be read without the lock.
        if !record.hasEnded || new == nil { swap(&new, &record.onDemand.counts) }
    }

    /// Ends the time of the inline handler that returned last, if it has not ended.
    mutating func closeHandlerTime() {
        if handlers.isOpen, let now { closeHandlerTime(at: now.nanoseconds) }
    }

    @inline(__always)
    private mutating func closeHandlerTime(at now: UInt64) {
        guard let (record, time) = unsafe handlers.takeReturned(at: now) else { return }
        unsafe record._withUnsafeGuaranteedRef { countHandler(of: $0, time) }
    }

    @inline(__always)
    private mutating func countHandler(of record: TimerRecord, _ nanoseconds: UInt64) {
        if nanoseconds > record.leastPeriod { handlers.noteSlow(record, nanoseconds) }
        counts?.countHandler(nanoseconds)
        record.countHandler(nanoseconds)
    }
}
