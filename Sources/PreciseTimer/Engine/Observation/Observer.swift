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
    /// The inline handler that lately kept other timers waiting for longest.
    private var blocker = Blocker.none

    /// Notices the steps of the service's clock, if it can have some.
    private var steps: StepWatch?
    /// The latest reading of the clock, in nanoseconds, and the latest before the alarm could fire.
    private var latest: UInt64 = 0
    private var notBefore: UInt64 = 0

    /// An own type, because the runtime makes that of an optional or a tuple at its first use, and allocates.
    private enum Blocker {
        case none
        case handler(SlowSite, until: UInt64)
    }

    /// Whether anybody wants to know of the ticks now.
    var isAwake: Bool { isDebugBuild || counts != nil || countedTimers > 0 }

    /// A timer has ended.
    func ended(_ record: Record) { if record.rare?.counts != nil { countedTimers -= 1 } }

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

    /// A timer was delivered a tick, and its handler has returned by now.
    @inline(__always) func delivered(_ record: Record, _ delivered: DeliveredTick, woke: UInt64, now: UInt64) {
        latest = now
        // A wall clock may have been set back.
        var run = TickCounts.Run(time: now &- min(now, delivered.instant))
        if steps == nil, record.rare == nil, record.user.hasHandler { return note(record, delivered, run) }
        run.hasHandler = record.user.hasHandler
        deliveredSpecially(record, delivered, run, woke: woke, now: now)
    }

    /// The same, if the service was shut down while the handler ran: its time is not known.
    func deliveredWithoutClock(_ record: Record, _ delivered: DeliveredTick, woke: UInt64) {
        let run = TickCounts.Run(time: 0, hasHandler: false)
        deliveredSpecially(record, delivered, run, woke: woke, now: delivered.instant)
    }

    /// The same, if the clock can have steps, the timer can have statistics of its own, or it has no handler.
    // Not inlined: the usual way stays short.
    @inline(never) private func deliveredSpecially(
        _ record: Record,
        _ delivered: DeliveredTick,
        _ run: TickCounts.Run,
        woke: UInt64,
        now: UInt64
    ) {
        var run = run
        if let steps {
            // As of its delivery: a step after that is in the time of its handler.
            run.isAfterStep = delivered.expiration.deadline < steps.latest
            run.hasStep = steps.check(now)
        }
        if let own = record.rare?.counts {
            own.count(delivered, run)
            own.noteRun(delivered, run)
            // Lateness up to the last instant was asked for. An extra tick was not waited for.
            let lastInstant = record.timing.lastInstant(of: delivered.expiration.deadline)
            if !run.isAfterStep, !delivered.expiration.isExtra, delivered.expiration.deadline <= woke {
                own.countWakeUp(time: withoutSteps(lastInstant), lateness: woke - min(woke, lastInstant))
            }
        }
        note(record, delivered, run)
    }

    /// Counts a tick of the service, and notes its handler if it was slow.
    @inline(__always) private func note(_ record: Record, _ delivered: DeliveredTick, _ run: TickCounts.Run) {
        counts?.count(delivered, run)
        guard run.hasHandler, !run.hasStep else { return }
        // Nearly every tick ends here.
        if case .none = blocker, run.time <= min(Self.longEnough, record.timing.quickLeastPeriod) { return }
        noteSlow(record, delivered, run.time)
    }

    @inline(never) private func noteSlow(_ record: Record, _ delivered: DeliveredTick, _ time: UInt64) {
        if time > record.timing.leastPeriod { slowSites.note(SlowSite(record, time)) }
        if case .none = blocker, time <= Self.longEnough { return }
        if case .inline = record.user.destination { findBlocker(record, delivered, time) }
    }

    /// An instant in nanoseconds as a clock without steps would show it.
    private func withoutSteps(_ instant: UInt64) -> Int64 { Int64(bitPattern: instant) &- (steps?.sum ?? 0) }

    /// A handler that is shorter, in nanoseconds, keeps nobody waiting.
    private static var longEnough: UInt64 { 100_000 }

    /// Finds the inline handler that ran while a deadline of another timer passed, for longer than that timer's period.
    /// Each call is noted once.
    private func findBlocker(_ record: Record, _ delivered: DeliveredTick, _ time: UInt64) {
        var longest = Self.longEnough
        if case .handler(var site, let end) = blocker {
            let wasInTheWay = end - site.longest <= delivered.expiration.deadline && delivered.expiration.deadline < end
            if wasInTheWay, site.longest > record.timing.leastPeriod, site.longest <= site.period {
                site.period = record.timing.leastPeriod
                slowSites.note(site)
                blocker = .none
            } else if delivered.instant > end, delivered.instant - end > site.longest {
                blocker = .none
            } else {
                longest = site.longest
            }
        }
        if time > longest { blocker = .handler(SlowSite(record, time), until: delivered.instant + time) }
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
                if !record.hasEnded { observer.countedTimers += isWanted ? 1 : -1 }
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
