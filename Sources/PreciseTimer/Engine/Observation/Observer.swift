internal import TimerAlarms
internal import TimerKernel

/// Sees the ticks of a service for those who want to know of them: the statistics of the service and of its timers, and
/// slow handlers. A service has one as soon as somebody does; in a debug build always, for the warnings. The service's
/// lock protects it.
final class Observer {
    /// The statistics of the service, while they are collected.
    var counts: TickCounts?
    /// How many timers that go on have statistics of their own.
    var countedTimers = 0
    /// The call sites whose handlers were slow.
    var slowSites: [SlowSite] = []

    /// Notices the steps of the service's clock, if it can have some.
    private var steps: StepWatch?
    /// The latest reading of the clock, in nanoseconds, and the latest before the alarm could fire.
    private var latest: UInt64 = 0
    private var notBefore: UInt64 = 0

    /// Makes room for all slow sites, because a tick allocates nothing.
    init() { slowSites.reserveCapacity(SlowSite.most) }

    /// Whether anybody wants to know of the ticks now.
    var isAwake: Bool { isDebugBuild || counts != nil || countedTimers > 0 }

    /// A timer has ended, and no tick of it is being delivered.
    func forget(_ record: Record) { if record.rare?.counts != nil { countedTimers -= 1 } }

    /// Begins to watch the clock of an alarm, or to watch it again.
    func watchClock(of alarm: any TimerAlarm) {
        if steps == nil { steps = StepWatch(alarm) } else { _ = steps?.check(alarm.now.nanoseconds) }
    }

    /// The alarm is set, or goes on to repeat after a round.
    func alarmMayFire() { notBefore = latest }

    /// The alarm, which was set to an instant or to `.max`, has woken its thread.
    func woke(at now: UInt64, setTo instant: UInt64) {
        _ = steps?.check(now)
        // An instant that had passed before the alarm could fire says nothing of the alarm.
        guard let counts, instant <= now, instant >= notBefore, instant >= steps?.latest ?? 0 else { return }
        counts.countWakeUp(time: withoutSteps(instant), lateness: now - instant)
    }

    /// A hop has arrived: its tick is decided now.
    func hopArrived(at now: UInt64) { _ = steps?.check(now) }

    /// A timer was delivered a tick, and its handler has returned by now. Returns the handler's time if that may have
    /// been slow; otherwise 0.
    @inline(__always) func delivered(
        _ record: Record,
        _ delivered: DeliveredTick,
        woke: UInt64,
        now: UInt64
    ) -> UInt64 {
        latest = now
        // A wall clock may have been set back.
        var run = TickCounts.Run(time: now &- min(now, delivered.instant))
        if steps == nil, record.rare == nil, record.user.hasHandler { return note(record, delivered, run) }
        run.hasHandler = record.user.hasHandler
        return deliveredSpecially(record, delivered, run, woke: woke, now: now)
    }

    /// The same, if the service was shut down while the handler ran: its time is not known.
    func deliveredWithoutClock(_ record: Record, _ delivered: DeliveredTick, woke: UInt64) {
        let run = TickCounts.Run(time: 0, hasHandler: false)
        _ = deliveredSpecially(record, delivered, run, woke: woke, now: delivered.instant)
    }

    /// The same, if the clock can have steps, the timer can have statistics of its own, or it has no handler.
    // Not inlined: the usual way stays short.
    @inline(never) private func deliveredSpecially(
        _ record: Record,
        _ delivered: DeliveredTick,
        _ run: TickCounts.Run,
        woke: UInt64,
        now: UInt64
    ) -> UInt64 {
        var run = run
        if let steps {
            // As of its delivery: a step after that is in the time of its handler.
            run.isAfterStep = delivered.deadline < steps.latest
            run.hasStep = steps.check(now)
        }
        if let own = record.rare?.counts {
            own.count(delivered, run)
            own.noteRun(delivered, run)
            // Lateness up to the last instant was asked for. An extra tick was not waited for.
            let lastInstant = record.timing.lastInstant(of: delivered.deadline)
            if !run.isAfterStep, !delivered.isExtra, delivered.deadline <= woke {
                own.countWakeUp(time: withoutSteps(lastInstant), lateness: woke - min(woke, lastInstant))
            }
        }
        return note(record, delivered, run)
    }

    /// Counts a tick of the service.
    @inline(__always) private func note(_ record: Record, _ delivered: DeliveredTick, _ run: TickCounts.Run) -> UInt64 {
        counts?.count(delivered, run)
        // Nearly every handler is quick.
        if run.time <= min(Self.longEnough, record.timing.quickLeastPeriod) { return 0 }
        return run.hasHandler && !run.hasStep ? run.time : 0
    }

    /// A shorter handler, in nanoseconds, keeps no timer waiting.
    private static var longEnough: UInt64 { 100_000 }
    /// How long a timer may wait for the handler of another one, in nanoseconds.
    static var patience: UInt64 { 5_000_000 }

    /// An instant in nanoseconds as a clock without steps would show it.
    private func withoutSteps(_ instant: UInt64) -> Int64 { Int64(bitPattern: instant) &- (steps?.sum ?? 0) }
}

extension ServiceState {
    /// Notes a handler that has returned now, if it was slow: it ran for longer than its period or, inline, kept the
    /// next timer waiting for longer than that one's period, or than timers may wait.
    @inline(never) func noteIfSlow(_ record: Record, _ time: UInt64, now: UInt64) {
        let period = record.timing.leastPeriod
        if time > period { return note(record, time, over: period) }
        guard case .inline = record.user.destination, let next = scheduler.next(after: record) else { return }
        let (due, other) = (next.timing.lastInstant, next.timing.leastPeriod)
        guard due < now else { return }
        if time > other {
            note(record, time, over: other)
        } else if min(time, now - due) > Observer.patience {
            note(record, time, over: Observer.patience)
        }
    }

    private func note(_ record: Record, _ time: UInt64, over limit: UInt64) {
        observer?.slowSites.note(SlowSite(record, time, over: limit))
    }
}

/// Collecting and reading what an observer sees.
extension ServiceCore {
    /// Begins to collect the statistics of a timer, or of the service, or ends it.
    func collectStatistics(_ isWanted: Bool, of record: Record?) {
        locked(inForkedChild: ()) { state in
            guard (state.counts(of: record) != nil) != isWanted else { return }
            // The rare fields of a timer that has ended may be read without the lock.
            if let record, record.hasEnded, isWanted { return }
            let (observer, counts) = (state.observer ?? Observer(), isWanted ? TickCounts(clock) : nil)
            state.observer = observer
            if isWanted, let alarm = state.alarm { observer.watchClock(of: alarm) }
            if let record {
                record.needRare().counts = counts
                if !record.hasEnded || record.isInHandler { observer.countedTimers += isWanted ? 1 : -1 }
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
        if let record { record.rare?.counts } else { observer?.counts }
    }
}
