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
    /// When the alarm's thread was last seen in a handler, in nanoseconds.
    private var busyUntil: UInt64 = 0

    /// An own type, because the runtime makes that of an optional or a tuple at its first use, and allocates.
    private enum Blocker {
        case none
        case handler(SlowSite, until: UInt64)
    }

    /// Whether anybody wants to know of the ticks now.
    var isAwake: Bool { isDebugBuild || counts != nil || countedTimers > 0 }

    /// A timer has ended.
    func ended(_ record: Record) { if record.cold?.counts != nil { countedTimers -= 1 } }

    /// Begins to watch the clock of an alarm, or to watch it again.
    func watchClock(of alarm: any TimerAlarm) {
        if steps == nil { steps = StepWatch(alarm) } else { _ = steps?.check(alarm.now.nanoseconds) }
    }

    /// The alarm, which was set to an instant or to `.max`, has woken its thread.
    func woke(at now: UInt64, setTo instant: UInt64) {
        _ = steps?.check(now)
        // An instant that had passed before the alarm was set says nothing of the alarm.
        guard let counts, instant <= now, instant >= busyUntil, instant >= steps?.latest ?? 0 else { return }
        counts.countWakeUp(time: withoutSteps(instant), lateness: now - instant)
    }

    /// A hop has arrived: its tick is decided now.
    func hopArrived(at now: UInt64) { _ = steps?.check(now) }

    /// A timer was delivered a tick, and its handler has returned by now. Without a clock, its time is not known.
    func delivered(_ record: Record, _ delivered: DeliveredTick, woke: UInt64, now: UInt64?) {
        // As of its delivery: a step after that is in the time of its handler.
        let isAfterStep = steps.map { delivered.expiration.deadline < $0.latest } ?? false
        counts?.count(delivered, isAfterStep: isAfterStep)
        let own = record.cold?.counts
        if let own {
            own.count(delivered, isAfterStep: isAfterStep)
            // It was late on purpose until its wake time. An extra tick was not waited for.
            let wakeTime = record.timing.wakeTime(of: delivered.expiration.deadline)
            if !isAfterStep, !delivered.expiration.isExtra, wakeTime <= woke {
                own.countWakeUp(time: withoutSteps(wakeTime), lateness: woke - wakeTime)
            }
        }
        // What a task awaits has no handler.
        if case .mailbox = record.user.destination { return }
        guard let now else { return }
        let hasStep = steps?.check(now) ?? false
        // A wall clock may have been set back.
        let time = now - min(now, delivered.instant)
        counts?.count(delivered, handlerTime: time, hasStep: hasStep)
        own?.count(delivered, handlerTime: time, hasStep: hasStep)
        if hasStep { return }
        if time > record.timing.leastPeriod {
            slowSites.note(SlowSite(record, time, missed: delivered.expiration.missed))
        }
        guard case .inline = record.user.destination else { return }
        busyUntil = now
        if case .none = blocker, time <= Self.longEnough { return }
        findBlocker(record, delivered, time)
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
