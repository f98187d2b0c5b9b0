internal import TimerAlarms
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

/// The statistics of a timer or a service while they are collected. The memory is fixed, so that counting a tick
/// allocates nothing. The service's lock protects it.
///
/// It is no object, because retaining and releasing an object would cost more than counting.
@safe
struct TickCounts: ~Copyable {
    /// The numbers, as they are copied under the lock.
    struct Numbers {
        var missed: UInt64 = 0
        /// The deadline of the tick with the greatest lateness.
        var longestSince: UInt64 = 0
        /// How late the ticks were. It has one entry for each tick.
        var lateness = LogHistogram()
        var handlerTime = LogHistogram()
    }

    private let memory: UnsafeMutablePointer<Numbers>

    init() {
        unsafe memory = .allocate(capacity: 1)
        unsafe memory.initialize(to: Numbers())
    }

    deinit { unsafe memory.deallocate() }

    /// A copy of the numbers.
    var numbers: Numbers { unsafe memory.pointee }

    /// Counts a tick.
    @inline(__always)
    func count(_ served: Served) {
        unsafe memory.pointee.missed = memory.pointee.missed.saturatingAdding(served.due.missed)
        if unsafe served.lateness >= memory.pointee.lateness.longest {
            unsafe memory.pointee.longestSince = served.due.deadline
        }
        unsafe memory.pointee.lateness.add(served.lateness)
    }

    /// Counts the time of a handler.
    @inline(__always)
    func countHandler(_ nanoseconds: UInt64) { unsafe memory.pointee.handlerTime.add(nanoseconds) }
}
