internal import TimerAlarms
internal import TimerKernel

/// Sees the ticks of a service, for the statistics of the service and of its timers, and for slow handlers. The engine
/// tells it three things: the clock was read, a tick was delivered, a timer has ended. A service has one if statistics
/// or slow handlers are wanted; in a debug build always, for the warnings. The service's lock protects it.
final class Observer {
    /// The statistics of the service, while they are collected.
    var counts: TickCounts?
    /// How many timers that go on, or are in their last handler, have statistics of their own.
    var countedTimers = 0
    /// The call sites whose handlers were slow.
    var slowSites: [SlowSite] = []

    /// Notices the steps of the service's clock, if it can have some.
    private var steps: StepWatch?

    /// Makes room for all slow sites, because a tick allocates nothing.
    init() { slowSites.reserveCapacity(SlowSite.most) }

    /// Whether anybody wants to know of the ticks now.
    var isAwake: Bool { isDebugBuild || counts != nil || countedTimers > 0 }

    /// Begins to watch the clock of an alarm, or to watch it again.
    func watchClock(of alarm: any TimerAlarm) {
        if steps == nil { steps = StepWatch(alarm) } else { _ = steps?.check(alarm.now.nanoseconds) }
    }

    /// The clock was read, and ticks are decided now: it may have been set since the last ones.
    func checkClock(at now: UInt64) { if isAwake { _ = steps?.check(now) } }

    /// A timer has ended, and no tick of it is being delivered.
    func ended(_ record: Record) { if record.rare?.counts != nil { countedTimers -= 1 } }

    /// A timer was delivered a tick, and its handler has returned by now. There is no clock if the service was shut
    /// down while the handler ran. Without other timers on the service, nothing waits for the handler.
    @inline(__always) func delivered(_ record: Record, _ delivered: DeliveredTick, now: UInt64?, isAlone: Bool) {
        guard let now, steps == nil, record.rare == nil, record.user.hasHandler else {
            return deliveredSpecially(record, delivered, now, isAlone)
        }
        count(record, delivered, isAfterStep: false, time: delivered.handlerTime(now), isAlone)
    }

    /// The same, if the clock can have steps, the timer can have statistics of its own, or the handler's time is not
    /// known.
    // Not inlined: the usual way stays short.
    @inline(never) private func deliveredSpecially(
        _ record: Record,
        _ delivered: DeliveredTick,
        _ now: UInt64?,
        _ isAlone: Bool
    ) {
        let ran = record.user.hasHandler ? now.map(delivered.handlerTime) : nil
        var (time, isAfterStep) = (ran, false)
        if let steps {
            // As of its delivery: a step after that is in the time of its handler.
            isAfterStep = delivered.deadline < steps.latest
            if let now, steps.check(now) { time = nil }
        }
        if let own = record.rare?.counts {
            own.count(delivered, isAfterStep: isAfterStep, handlerTime: time)
            if let ran { own.noteRun(delivered, time: ran) }
        }
        count(record, delivered, isAfterStep: isAfterStep, time: time, isAlone)
    }

    /// Counts a tick of the service, and notes a slow handler.
    @inline(__always) private func count(
        _ record: Record,
        _ delivered: DeliveredTick,
        isAfterStep: Bool,
        time: UInt64?,
        _ isAlone: Bool
    ) {
        counts?.count(delivered, isAfterStep: isAfterStep, handlerTime: time)
        // Nearly every handler is quick.
        if let time, time > min(SlowSite.patience, record.timing.quickLeastPeriod) { noteIfSlow(record, time, isAlone) }
    }

    @inline(never) private func noteIfSlow(_ record: Record, _ time: UInt64, _ isAlone: Bool) {
        var limit = record.timing.leastPeriod
        if time <= limit, !isAlone, case .inline = record.user.destination { limit = SlowSite.patience }
        if time > limit { slowSites.note(SlowSite(record, time, over: limit)) }
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

/// Notices the steps of a service's clock: the wall clock is set, or the machine is suspended while the clock
/// goes on. A timer that a step makes due has no lateness.
private final class StepWatch {
    /// The clock; nil for virtual time, whose alarm counts its steps itself.
    private let clock: TimerClock?
    private let alarm: (any SteppingAlarm)?
    /// How far the clock is ahead of the suspending clock, which has no steps.
    private var offset: ClockOffset
    /// The sum of all steps of virtual time up to now, in nanoseconds.
    private var sum: Int64 = 0
    /// The time just after the latest step was noticed.
    private(set) var latest: UInt64 = 0

    /// A shorter step, in nanoseconds, is shorter than the lateness of most ticks.
    private static var shortest: UInt64 { 10_000 }

    /// Nil for a clock without steps: the suspending clock, and the clock of a user's own alarm that does not show the
    /// kernel's time.
    init?(_ alarm: any TimerAlarm) {
        let (now, alarm) = (alarm.now, alarm as? any SteppingAlarm)
        if now.clock == .suspending { return nil }
        let kernels = now.clock.now.nanoseconds
        let isKernels = max(kernels, now.nanoseconds) - min(kernels, now.nanoseconds) < 1_000_000_000
        guard alarm != nil || isKernels else { return nil }
        self.alarm = alarm
        clock = alarm == nil ? now.clock : nil
        sum = alarm?.steps ?? 0
        offset = alarm == nil ? ClockOffset(of: now.clock, to: .suspending) : ClockOffset(nanoseconds: 0, error: 0)
    }

    /// Whether the clock has made a step since the last check. `now` is its time, read just before.
    func check(_ now: UInt64) -> Bool {
        if let alarm {
            let steps = alarm.steps
            guard steps != sum else { return false }
            (sum, latest) = (steps, now)
            return true
        }
        guard let clock else { return false }
        let ahead = Int64(bitPattern: now &- TimerClock.suspending.now.nanoseconds)
        if (ahead &- offset.nanoseconds).magnitude < Self.shortest { return false }
        // Either a step, or this thread stood still between the two readings.
        let reading = ClockOffset(of: clock, to: .suspending)
        guard offset.jump(to: reading) != nil else { return false }
        (offset, latest) = (reading, clock.now.nanoseconds)
        return true
    }
}
