internal import TimerAlarms
internal import TimerKernel

/// The caretaker's once-a-second checks of a service.
extension ServiceCore {
    /// Whether the caretaker looks after this service.
    var isCaredFor: Bool {
        get { locked { $0.isCaredFor } }
        set { locked { $0.isCaredFor = newValue } }
    }

    /// Returns a failure if the alarm is silent, at an instant of the care clock. A thread that only waits for a
    /// processor, or that a debugger may hold up, is late, and its alarm has not failed. A thread that runs all the
    /// time, and does not fire, has failed.
    func listen(at now: UInt64) -> ServiceState.Failure? {
        guard let silence = locked({ $0.listen(at: now) }) else { return nil }
        switch setup.holdUp {
        case nil: return silence
        case .debugger: return nil
        case .processors(let ran): return locked { $0.care.silence.hasRun(CareClock.scaled(ran)) } ? silence : nil
        }
    }

    /// Whether the service has timers, and so needs further care.
    func goesOnCaring() -> Bool { locked { $0.goesOnCaring() } }

    /// Ends the timers whose target was released, among a quarter of the timers or more. Does nothing while another
    /// thread does the same: a callback may keep it there.
    func takeCare() {
        guard let share = locked({ $0.beginCare() }) else { return }
        endTimersOfDeadTargets(among: share)
        locked(inForkedChild: ()) { $0.endCare() }
    }

    /// Ends the timers whose target was released, among the next `count` timers. It works in portions, so that no
    /// other thread waits long for the lock.
    func endTimersOfDeadTargets(among count: Int) {
        for _ in 0..<(count + Scheduler<UserSide>.portion - 1) / Scheduler<UserSide>.portion {
            // The targets are released and the farewells said here, and each may fork.
            let found = locked(inForkedChild: ServiceState.Found()) {
                $0.findDeadTargets(among: Scheduler<UserSide>.portion)
            }
            for record in found.ended.records { record.sayFarewell() }
        }
    }
}

/// One timer, as it is seen under the lock. It holds the target, and must be released without the lock.
struct Sight {
    let record: Record
    /// The target; nil if it was released.
    let target: AnyObject?
    /// When its running handler was called, in nanoseconds; nil if it does not run.
    let runningSince: UInt64?
}

/// The caretaker's checks, and the snapshots: both read the timers under the lock, in portions.
extension ServiceState {
    /// The caretaker's progress in this service.
    struct Care {
        /// Whether the alarm has its own thread. On a host's loop or queue, a silent alarm may only be
        /// waiting for the host.
        let hasOwnThread: Bool
        /// How many timers remain to be checked in this pass.
        var position = 0
        /// How many timers the next look checks.
        var share = CareShare()
        /// Whether a look for dead targets is going on.
        var isLooking = false
        /// What the looks at the alarm have found.
        var silence = Silence()
    }

    /// The outcome of a check, to be released and reported outside the lock.
    struct Found {
        /// Held until the lock is released: each may be the last reference to its target.
        var targets: [AnyObject] = []
        var ended = Ended()
    }

    /// Ends the timers whose target was released, among the next `count` timers of this pass.
    mutating func findDeadTargets(among count: Int) -> Found {
        var found = Found()
        for _ in 0..<min(count, scheduler.count) {
            care.position = (care.position > 0 ? min(care.position, scheduler.count) : scheduler.count) - 1
            let record = scheduler[care.position]
            if let target = record.user.target {
                found.targets.append(target)
            } else if end(record, record.endingIfTargetIsGone) == true {
                found.ended.records.append(record)
            }
            if scheduler.count == 0 { break }
        }
        found.ended.service = takeServiceIfIdle()
        return found
    }

    /// Begins a look for dead targets. Returns how many timers it checks; nil if the last one is still going on.
    mutating func beginCare() -> Int? {
        if care.isLooking { return nil }
        care.isLooking = true
        return care.share.next(of: scheduler.count)
    }

    /// Ends a look for dead targets.
    mutating func endCare() { care.isLooking = false }

    /// Returns a failure if the alarm is silent: overdue for the same instant for five seconds and at six checks in a
    /// row, with no look of its own going on. The time is in nanoseconds, on a clock that cannot be set.
    mutating func listen(at now: UInt64) -> Failure? {
        guard care.hasOwnThread, let alarm else { return nil }
        guard care.silence.lasts(overdue: scheduler.overdue(at: alarm.now.nanoseconds), at: now) else { return nil }
        let attempted =
            "waiting for \(type(of: alarm)), which did not fire for 5 s (schedule the timers anew on another service)"
        return Failure(error: TimerError(.backendFailed, attempted), run: run)
    }

    /// Whether the service has timers, and so needs further care.
    mutating func goesOnCaring() -> Bool {
        isCaredFor = scheduler.count > 0
        return isCaredFor
    }

    /// The `count` timers below a position, with what a caller wants to know of each. A caller that goes from the last
    /// position to the first misses no timer, and may see some twice. The targets are returned as well, because each
    /// may be the last reference, which must not be released under the lock.
    func see<Facts>(_ count: Int, below position: Int, _ facts: (Sight) -> Facts) -> [(Sight, Facts)] {
        let end = min(position, scheduler.count)
        return (max(0, end - count)..<end).reversed()
            .map { position in
                let record = scheduler[position]
                let sight = Sight(
                    record: record,
                    target: record.user.target,
                    runningSince: scheduler.runningSince(record)
                )
                return (sight, facts(sight))
            }
    }
}
