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
    private(set) var slowPlaces = SlowPlaces()
    /// The inline handler that lately kept the service's thread for longest.
    private var keeper = Keeper.nobody

    /// An own type, because the runtime makes that of an optional or a tuple at its first use, and allocates.
    private enum Keeper {
        case nobody
        case handler(Hold)

        /// For how long it kept the thread, in nanoseconds.
        var length: UInt64 {
            switch self {
            case .nobody: 0
            case .handler(let hold): hold.end - hold.start
            }
        }
    }

    private struct Hold {
        let place: SlowPlace
        let start: UInt64
        let end: UInt64
    }

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
        if let own = record.side?.extras.counts {
            own.countHandler(time)
            own.lastCall = (served.delivered, now)
        }
        if time > record.leastPeriod {
            slowPlaces.note(SlowPlace(record, record.leastPeriod, time, missed: served.due.missed))
        }
        if keeper.length > 0 || time > Self.longHold, case .inline = record.user.destination {
            watch(record, served, now, time)
        }
    }

    /// A rule has found that more deadlines of a timer have passed than its tick knew.
    func missed(_ count: UInt64, by record: Record) {
        counts?.countMissed(count)
        record.side?.extras.counts?.countMissed(count)
    }

    /// A handler that is shorter, in nanoseconds, keeps nobody waiting.
    private static var longHold: UInt64 { 100_000 }

    /// Finds the inline handler that kept the thread while a deadline of another timer passed, for longer than that
    /// timer's period. Each call is noted once.
    private func watch(_ record: Record, _ served: Served, _ now: UInt64, _ time: UInt64) {
        if case .handler(let last) = keeper {
            let length = keeper.length
            let wasInTheWay = last.start <= served.due.deadline && served.due.deadline < last.end
            if wasInTheWay, length > record.leastPeriod, length <= last.place.period {
                slowPlaces.note(last.place.exceeding(record.leastPeriod))
                keeper = .nobody
            } else if served.delivered > last.end, served.delivered - last.end > length {
                keeper = .nobody
            }
        }
        if time > max(keeper.length, Self.longHold) {
            keeper = .handler(Hold(place: SlowPlace(record, record.leastPeriod, time), start: now - time, end: now))
        }
    }
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
    /// The clock of these numbers.
    private let clock: TimerClock
    /// When the latest call of the handler began and ended, in nanoseconds; only for one timer.
    fileprivate var lastCall: (start: UInt64, end: UInt64)?

    init(_ clock: TimerClock) { self.clock = clock }

    /// The latest call of the handler.
    var lastRun: PreciseTimer.HandlerRun? {
        lastCall.map { call in
            PreciseTimer.HandlerRun(
                start: TimerInstant(nanoseconds: call.start, clock: clock),
                end: TimerInstant(nanoseconds: call.end, clock: clock)
            )
        }
    }

    /// Counts a tick.
    @inline(__always) func count(_ served: Served) {
        numbers.missed = numbers.missed.saturatingAdding(served.due.missed)
        if served.lateness >= numbers.lateness.longest { numbers.longestSince = served.due.deadline }
        numbers.lateness.add(served.lateness)
    }

    /// Counts missed deadlines of a tick that is counted on its own.
    func countMissed(_ count: UInt64) { numbers.missed = numbers.missed.saturatingAdding(count) }

    /// Counts the time of a handler.
    @inline(__always) func countHandler(_ nanoseconds: UInt64) { numbers.handlerTime.add(nanoseconds) }
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

    /// See ``SlowPlaces/takeUnreported()``.
    fileprivate func takeUnreported() -> [SlowPlace] { slowPlaces.takeUnreported() }

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
        var counts = isWanted ? TickCounts(clock) : nil
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

    /// The places whose handlers were slow, and those whose handlers run at this moment for longer than their period.
    /// Of many that run, a portion is looked at.
    var slowPlaces: [SlowPlace] {
        locked(inForkedChild: []) { state in
            var places = state.observer?.slowPlaces ?? SlowPlaces()
            let now = state.now?.nanoseconds ?? 0
            for position in 0..<min(state.scheduler.runningCount, Scheduler<UserSide>.portion) {
                let record = state.scheduler.running(at: position)
                guard let since = state.scheduler.runningSince(record), since < now else { continue }
                if now - since > record.leastPeriod { places.note(SlowPlace(record, record.leastPeriod, now - since)) }
            }
            return places.places
        }
    }
}
