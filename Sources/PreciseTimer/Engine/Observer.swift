internal import TimerKernel

/// Sees the ticks of a service for those who want to know of them: the statistics of the service and of its timers, and
/// slow handlers. A service has one as soon as somebody does; in a debug build always, for the warnings. The service's
/// lock protects it.
final class Observer {
    /// The statistics of the service, while they are collected.
    var counts: TickCounts?
    /// How many timers that go on have statistics of their own.
    fileprivate var countedTimers = 0
    /// The places whose handlers were slow.
    private(set) var slowPlaces: [SlowPlace] = []
    private static let mostPlaces = 16

    init() { slowPlaces.reserveCapacity(Self.mostPlaces) }

    /// A timer was delivered a tick, and its handler has returned by now. Without a clock, its time is not known.
    func delivered(_ record: Record, _ served: Served, now: UInt64?) {
        counts?.count(served)
        record.side?.extras.counts?.count(served)
        // What a task awaits has no handler.
        if case .mailbox = record.user.destination { return }
        guard let now else { return }
        // A wall clock may have been set back.
        let time = now - min(now, served.delivered)
        counts?.countHandler(time)
        record.side?.extras.counts?.countHandler(time)
        if time > record.leastPeriod { noteSlow(record, time) }
    }

    /// A rule has found that more deadlines of a timer have passed than its tick knew.
    func missed(_ count: UInt64, by record: Record) {
        counts?.countMissed(count)
        record.side?.extras.counts?.countMissed(count)
    }

    /// Notes that a handler ran for longer than its period. After the first 16 places, others are not noted. O(1).
    private func noteSlow(_ record: Record, _ nanoseconds: UInt64) {
        let (file, line) = unsafe record.storedSite
        let (label, period) = (record.label, record.leastPeriod)
        let known = slowPlaces.firstIndex { unsafe $0.file == file && $0.line == line && $0.label == label }
        if let known {
            slowPlaces[known].count += 1
            if nanoseconds > slowPlaces[known].longest {
                (slowPlaces[known].period, slowPlaces[known].longest) = (period, nanoseconds)
            }
        } else if slowPlaces.count < Self.mostPlaces {
            slowPlaces.append(
                unsafe SlowPlace(label: label, file: file, line: line, period: period, longest: nanoseconds)
            )
        }
    }
}

/// A place in the user's code that scheduled a timer, or many, whose handler was slow.
@safe
struct SlowPlace {
    let label: String?
    let file: UnsafePointer<UInt8>
    let line: UInt32
    /// The period and the time of the slowest call, in nanoseconds.
    var period: UInt64
    var longest: UInt64
    var count: UInt64 = 1
    /// Whether a debug build has warned of it.
    var isReported = false
}

/// The statistics of a timer or a service while they are collected. Counting a tick allocates nothing. The service's
/// lock protects it.
final class TickCounts {
    /// The numbers, as they are copied under the lock.
    struct Numbers {
        var missed: UInt64 = 0
        /// The deadline of the tick with the greatest lateness.
        var longestSince: UInt64 = 0
        /// How late the ticks were. It has one entry for each tick.
        var lateness = LogHistogram()
        var handlerTime = LogHistogram()
    }

    @safe @exclusivity(unchecked) private(set) var numbers = Numbers()

    /// Counts a tick.
    @inline(__always)
    func count(_ served: Served) {
        numbers.missed = numbers.missed.saturatingAdding(served.due.missed)
        if served.lateness >= numbers.lateness.longest { numbers.longestSince = served.due.deadline }
        numbers.lateness.add(served.lateness)
    }

    /// Counts missed deadlines of a tick that is counted on its own.
    func countMissed(_ count: UInt64) { numbers.missed = numbers.missed.saturatingAdding(count) }

    /// Counts the time of a handler.
    @inline(__always)
    func countHandler(_ nanoseconds: UInt64) { numbers.handlerTime.add(nanoseconds) }
}

/// Being observed.
extension ServiceState {
    /// Begins to collect the statistics of a timer, or of the service, or ends it. Exchanges them with those given,
    /// which the caller releases without the lock.
    mutating func collect(_ isWanted: Bool, _ counts: inout TickCounts?, of record: Record?) {
        guard (self.counts(of: record) != nil) != isWanted else { return }
        // The extras of a timer that has ended may be read without the lock.
        if let record, record.hasEnded, isWanted { return }
        let observer = self.observer ?? Observer()
        if let record {
            swap(&counts, &record.onDemand.extras.counts)
            if !record.hasEnded { observer.countedTimers += isWanted ? 1 : -1 }
        } else {
            swap(&counts, &observer.counts)
        }
        self.observer = observer
    }

    /// The statistics of a timer, or of the service; nil if they are not collected.
    func counts(of record: Record?) -> TickCounts? {
        if let record { record.side?.extras.counts } else { observer?.counts }
    }
}

extension Observer {
    /// Whether anybody wants to know of the ticks now.
    var isAwake: Bool {
        #if DEBUG
        true
        #else
        counts != nil || countedTimers > 0
        #endif
    }

    /// A timer has ended.
    func ended(_ record: Record) { if record.side?.extras.counts != nil { countedTimers -= 1 } }

    /// The places that a debug build must still report, each at its third slow call: the machine can hold up any
    /// handler once or twice.
    fileprivate func takeUnreported() -> [SlowPlace] {
        slowPlaces.indices.compactMap { index in
            guard slowPlaces[index].count >= 3, !slowPlaces[index].isReported else { return nil }
            slowPlaces[index].isReported = true
            return slowPlaces[index]
        }
    }

    /// The observer of a new service.
    static var ofNewService: Observer? {
        #if DEBUG
        Observer()
        #else
        nil
        #endif
    }
}

/// Collecting and reading what an observer sees.
extension ServiceCore {
    /// Begins to collect the statistics of a timer, or of the service, or ends it.
    func collectStatistics(_ isWanted: Bool, of record: Record?) {
        var counts = isWanted ? TickCounts() : nil
        locked(inForkedChild: ()) { $0.collect(isWanted, &counts, of: record) }
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
        #if DEBUG
        for place in locked(inForkedChild: [], { $0.observer?.takeUnreported() ?? [] }) { place.warn() }
        #endif
    }

    /// The places whose handlers were slow, in a copy.
    var slowPlaces: [SlowPlace] { locked(inForkedChild: []) { $0.observer?.slowPlaces.map(\.self) ?? [] } }
}
