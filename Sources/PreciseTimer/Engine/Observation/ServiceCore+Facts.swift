internal import TimerAlarms
internal import TimerKernel

/// What a service and its timers tell about themselves.
extension ServiceCore {
    /// The time on the service's clock.
    var now: TimerInstant { nowOfAlarm ?? clock.now }

    /// The time on the clock of a running alarm.
    var nowOfAlarm: TimerInstant? { alarm?.now }

    /// The alarm of a running service.
    var alarm: (any TimerAlarm)? { locked(inForkedChild: nil) { $0.alarm } }

    /// How many timers have not ended.
    var pendingCount: Int { locked { $0.scheduler.count } }

    /// When the earliest timer comes out of its queue. O(n log n) if n timers were postponed, so for virtual time only.
    var nextWakeTime: TimerInstant? {
        let next = locked { state in
            state.scheduler.settle(atMost: .max)
            return state.scheduler.nextWakeTime
        }
        return next.flatMap(instant)
    }

    /// A fact of a timer that has not ended, read under the lock; nil of one that has, and in a forked child.
    func read<Fact>(_ record: Record, _ fact: (inout ServiceState) -> Fact?) -> Fact? {
        locked(inForkedChild: nil) { record.hasEnded ? nil : fact(&$0) }
    }

    /// An instant of the service's clock; nil for never.
    func instant(_ nanoseconds: UInt64) -> TimerInstant? {
        nanoseconds == .max ? nil : TimerInstant(nanoseconds: nanoseconds, clock: clock)
    }

    /// The state of a timer. A released target is an end, also before the service finds it.
    func currentState(of record: Record) -> PreciseTimer.State {
        if lock.isOfAnotherProcess { return .ended(.backendFailed(.inForkedChild("reading a timer"))) }
        let (reason, isPaused) = locked { _ in (record.endReason, record.timing.isPaused) }
        if let reason { return .ended(reason) }
        // Only the target is promoted here, never the handler's captures: `cancel()` must be the one to
        // release those.
        if record.user.target != nil { return isPaused ? .paused : .scheduled }
        return locked { _ in
            if !record.hasEnded { record.becomeOrphan() }
            return .ended(record.endReason ?? .targetReleased)
        }
    }

    /// What a caller wants to know of each timer that has not ended, read in batches, so that other threads get the
    /// lock in between. Ends after a batch that has brought the number to `limit`.
    func survey<Facts>(atLeast limit: Int = .max, _ facts: (TimerView) -> Facts) -> [Facts] {
        var (found, seen) = ([Facts](), Set<ObjectIdentifier>())
        var position = locked(inForkedChild: 0) { $0.scheduler.count }
        // Held to the end: an `ObjectIdentifier` is unique only while its object lives.
        var records: [Record] = []
        while position > 0, found.count < limit {
            let views = locked { $0.views(Scheduler.batch, below: position, facts) }
            position -= Scheduler.batch
            for (view, facts) in views where seen.insert(ObjectIdentifier(view.record)).inserted {
                records.append(view.record)
                found.append(facts)
            }
        }
        return found
    }
}
