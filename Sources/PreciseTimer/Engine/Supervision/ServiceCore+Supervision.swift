internal import TimerAlarms
internal import TimerKernel

/// The supervisor's checks and sweeps of a service.
extension ServiceCore {
    /// Whether the supervisor has this service in its list.
    var isSupervised: Bool {
        get { locked { $0.isSupervised } }
        set { locked { $0.isSupervised = newValue } }
    }

    /// Returns whether the service has timers. If it has none, it is not supervised any more.
    func staysSupervised() -> Bool {
        locked { state in
            state.isSupervised = state.scheduler.count > 0
            return state.isSupervised
        }
    }

    /// Sets a late alarm again, at an instant of the supervisor's clock, and returns a failure if it is silent.
    /// A thread that is held up is late, and its alarm has not failed. A thread that runs all the time, and does not
    /// fire, has failed. An alarm that refuses to be set has failed at once.
    func checkAlarm(at now: UInt64, among threads: ThreadList) -> Teardown.Failure? {
        switch locked({ $0.checkAlarm(at: now) }) {
        case .fine: return nil
        case .failed(let failure): return failure
        case .suspect(let limps):
            // Before the alarm is set again, because that may wake the thread for a moment.
            var holdUp = setup.holdUp(among: threads)
            if case .processors(let ran) = holdUp { holdUp = .processors(ran: SupervisorClock.scaled(ran)) }
            return locked { $0.judgeAlarm(heldUpBy: holdUp, limps: limps, at: now) }
        }
    }

    /// Opens what the checks will need, if there will be any: later the system may refuse it.
    func prepareChecks() {
        guard locked({ $0.supervision.watchdog != nil }) else { return }
        let threads = Supervisor.current.threads
        threads.keep()
        setup.keepState(among: threads)
    }

    /// Ends the timers whose target was released, among those of the quota, within the sweep's budget. The next sweep
    /// goes on with the timers after them. Does nothing during another sweep: a callback may keep its thread there.
    func sweep() {
        guard let quota = locked({ $0.beginSweep() }) else { return }
        var (budget, endedTimers) = (SweepBudget(for: quota), false)
        while let part = budget.next(at: Thread.processorTime, endedTimers: endedTimers) {
            endedTimers = endTimersOfDeadTargets(among: part)
        }
        locked(inForkedChild: ()) { $0.supervision.isSweeping = false }
    }

    /// Ends the timers whose target was released, among the next `count` timers. It works in batches, so that no
    /// other thread waits long for the lock. Returns whether it ended any.
    @discardableResult func endTimersOfDeadTargets(among count: Int) -> Bool {
        var hasEnded = false
        for _ in stride(from: 0, to: count, by: Scheduler.batch) {
            let ends = decide(inForkedChild: false) { $0.endTimersOfDeadTargets(among: Scheduler.batch) }
            hasEnded = hasEnded || ends
        }
        return hasEnded
    }
}

extension ServiceState {
    /// What the supervisor knows of a service.
    struct Supervision {
        /// What the checks of the alarm have found. Nil for an alarm on a host's loop or queue: if it is silent, it may
        /// only be waiting for the host.
        var watchdog: AlarmWatchdog?
        var quota = SweepQuota()
        /// Whether a sweep is going on.
        var isSweeping = false
        /// How many timers the sweeps have left of this pass over all timers.
        var position = 0

        init(hasOwnThread: Bool) { watchdog = hasOwnThread ? AlarmWatchdog() : nil }
    }

    /// What a check of the alarm has found.
    enum Check {
        case fine
        /// The alarm refuses to be set.
        case failed(Teardown.Failure)
        /// The alarm is silent or limps, unless something holds it up. It was not set again yet.
        case suspect(limps: Bool)
    }

    /// Adds a check of the alarm, and sets a late alarm again, unless it is silent: overdue for the same instant for
    /// five seconds and at six checks in a row, with no round in progress. The time is in nanoseconds, on a clock that
    /// cannot be set.
    ///
    /// From one check to the next, the calling thread sleeps. So if it finds the alarm silent, timers of the kernel
    /// have expired that it had set just after the alarm.
    fileprivate mutating func checkAlarm(at now: UInt64) -> Check {
        guard let alarm,
            case .late(let instant, let isSilent, let limps)? = supervision.watchdog?
                .finding(overdue: scheduler.overdue(at: alarm.now.nanoseconds), at: now)
        else { return .fine }
        if isSilent { return .suspect(limps: false) }
        if limps, (alarm as? any RenewedAlarm)?.mayLimp == true { return .suspect(limps: true) }
        return setAnew(alarm, instant).map { .failed($0) } ?? .fine
    }

    /// Returns the failure of an alarm that was found silent or limping. If something may hold it up, sets it again.
    /// Does nothing if it has fired since.
    fileprivate mutating func judgeAlarm(heldUpBy holdUp: HoldUp?, limps: Bool, at now: UInt64) -> Teardown.Failure? {
        guard let alarm, let instant = supervision.watchdog?.overdue,
            scheduler.overdue(at: alarm.now.nanoseconds) == instant
        else { return nil }
        guard supervision.watchdog?.hasFailed(heldUpBy: holdUp, limps: limps, at: now) == true else {
            return setAnew(alarm, instant)
        }
        let length = holdUp == .unknown ? "a minute, while the states of its threads were unknown" : "5 s"
        let fault = limps ? "fired for a minute only when it was set again" : "did not fire for \(length)"
        let attempted = "waiting for \(type(of: alarm)), which \(fault) (schedule the timers again on another service)"
        return Teardown.Failure(error: TimerError(.backendFailed, attempted), epoch: epoch)
    }

    /// Returns a failure if the alarm refuses.
    private func setAnew(_ alarm: any TimerAlarm, _ instant: UInt64) -> Teardown.Failure? {
        do throws(TimerError) { try alarm.setAnew(TimerInstant(nanoseconds: instant, clock: clock)) } catch {
            return Teardown.Failure(error: error, epoch: epoch)
        }
        return nil
    }

    /// Begins a sweep. Returns its quota; nil if the last sweep is still going on.
    fileprivate mutating func beginSweep() -> Int? {
        if supervision.isSweeping { return nil }
        supervision.isSweeping = true
        return supervision.quota.next(of: scheduler.count)
    }

    /// Ends the timers whose target was released, among the next `count` timers of this pass. Returns whether it ended
    /// any.
    fileprivate mutating func endTimersOfDeadTargets(among count: Int) -> Bool {
        let before = scheduler.count
        var living: [AnyObject] = []
        living.reserveCapacity(count)
        for _ in 0..<min(count, scheduler.count) where scheduler.count > 0 {
            let remaining = supervision.position > 0 ? min(supervision.position, scheduler.count) : scheduler.count
            supervision.position = remaining - 1
            let record = scheduler[supervision.position].record
            if let target = record.user.target {
                // Without `consume` a second reference is made and dropped, and a look takes twice the time.
                living.append(consume target)
            } else {
                _ = end(record, record.endingIfTargetIsGone)
            }
        }
        // These may be the last references to the targets. This hold of the lock leaves no others.
        teardown.needRare().released = living
        return scheduler.count < before
    }
}

/// How many timers of a service a sweep covers at most: enough for each timer to have its turn in one of the next four
/// sweeps, however many timers end, if the sweeps' budget suffices. A pure value.
package struct SweepQuota: Sendable {
    /// The least quota, unless there are fewer timers.
    private static var least: Int { 4_096 }

    /// The numbers of timers at the last four sweeps, the latest first.
    private var counts = SIMD4<Int>()

    package init() {}

    /// Decides on the next sweep. A quarter of the current number alone would shrink with each sweep that ends timers:
    /// the last of a million would wait for some 20 sweeps. Constant time.
    ///
    /// - Parameter count: the number of timers.
    /// - Returns: the quota of the sweep.
    package mutating func next(of count: Int) -> Int {
        counts = SIMD4(count, counts.x, counts.y, counts.z)
        return min(count, max(Self.least, (counts.max() + 3) / 4))
    }
}

/// Divides a sweep's quota into parts, and ends the sweep early once looks at living targets have used its processor
/// time: a million timers at rest take less than 1 % of a processor. A pure value.
package struct SweepBudget: Sendable {
    /// How many timers a part has. The time is read once for each part, which is a system call.
    private static var part: Int { 256 }
    /// The processor time of a sweep, in nanoseconds. There is one sweep in each second.
    private static var most: UInt64 { 8_000_000 }

    private var remaining: Int
    private var used: UInt64 = 0
    /// The thread's processor time at the beginning of the last part.
    private var last: UInt64?

    package init(for quota: Int) { remaining = quota }

    /// Decides on the next part. Constant time.
    ///
    /// - Parameters:
    ///   - time: the thread's processor time in nanoseconds; nil if the system refuses to tell it, which uses nothing.
    ///   - endedTimers: whether the last part ended timers. It used nothing then: most of its time was the user's, and
    ///     the next timers may have the same released target.
    /// - Returns: the number of timers in the part; nil if the sweep is over.
    package mutating func next(at time: UInt64?, endedTimers: Bool) -> Int? {
        if !endedTimers, let time, let last { used += time - min(last, time) }
        last = time
        guard remaining > 0, used < Self.most else { return nil }
        defer { remaining -= Self.part }
        return min(remaining, Self.part)
    }
}
