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

    /// An own type, because the runtime makes that of an optional or a tuple at its first use, and allocates.
    private enum Blocker {
        case none
        case handler(SlowSite, until: UInt64)
    }

    /// Whether anybody wants to know of the ticks now.
    var isAwake: Bool { isDebugBuild || counts != nil || countedTimers > 0 }

    /// A timer has ended.
    func ended(_ record: Record) { if record.cold?.counts != nil { countedTimers -= 1 } }

    /// A timer was delivered a tick, and its handler has returned by now. Without a clock, its time is not known.
    func delivered(_ record: Record, _ delivered: DeliveredTick, now: UInt64?) {
        counts?.count(delivered)
        record.cold?.counts?.count(delivered)
        // What a task awaits has no handler.
        if case .mailbox = record.user.destination { return }
        guard let now else { return }
        // A wall clock may have been set back.
        let time = now - min(now, delivered.instant)
        counts?.count(delivered, handlerTime: time)
        record.cold?.counts?.count(delivered, handlerTime: time)
        if time > record.timing.leastPeriod {
            slowSites.note(SlowSite(record, time, missed: delivered.expiration.missed))
        }
        if case .none = blocker, time <= Self.longEnough { return }
        if case .inline = record.user.destination { findBlocker(record, delivered, time) }
    }

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
