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

    /// When the alarm must fire, with postponed timers at their places. O(n log n) if n timers were postponed, so for
    /// virtual time only.
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

/// One timer, as it is seen under the lock. It holds the target, and must be released without the lock.
struct TimerView {
    let record: Record
    /// The target; nil if it was released.
    let target: AnyObject?
    /// When its running handler was called, in nanoseconds; nil if it does not run.
    let runningSince: UInt64?
}

extension ServiceState {
    /// The `count` timers below a position, with what a caller wants to know of each. A caller that goes from the last
    /// position to the first misses no timer, and may see some twice. The targets are returned as well, because each
    /// may be the last reference, which must not be released under the lock.
    func views<Facts>(_ count: Int, below position: Int, _ facts: (TimerView) -> Facts) -> [(TimerView, Facts)] {
        let end = min(position, scheduler.count)
        return (max(0, end - count)..<end).reversed()
            .map { position in
                let record = scheduler[position].record
                let view = TimerView(
                    record: record,
                    target: record.user.target,
                    runningSince: scheduler.runningSince(record)
                )
                return (view, facts(view))
            }
    }
}

/// The work of a service that goes on after its last round, for tests on virtual time.
package struct Activity: Equatable, Sendable {
    /// Ticks on their way to a queue, an actor or a task that was woken for them, and handlers that occupy a thread:
    /// these end by themselves.
    package var hops = 0
    /// Handlers that may await something, and consumers that are not back for their next tick.
    package var tasks = 0
    /// Changes with each tick, and with each timer that is added.
    package var changes: UInt64 = 0

    /// Nothing is going on.
    package init() {}
}

/// What a tick may lead to besides an inline handler.
package struct PendingWork: OptionSet, Sendable {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }

    /// A handler runs elsewhere.
    package static let handler = Self(rawValue: 1)
    /// A task goes on that the service does not know: after a sleep or, if the timer has no further deadline by itself,
    /// after a time-out.
    package static let task = Self(rawValue: 2)
}

extension ServiceCore {
    /// The work that is still going on. O(n) for n timers, under the lock.
    var activity: Activity {
        locked { state in
            var activity = Activity()
            for position in 0..<state.scheduler.count {
                let record = state.scheduler[position].record
                activity.changes &+= 1 &+ record.user.ticks
                if case .mailbox(let mailbox) = record.user.destination {
                    let consumer = mailbox.consumer
                    activity.hops += consumer.isWoken ? 1 : 0
                    activity.tasks += record.isInDelivery || !consumer.isWaiting ? 1 : 0
                } else if record.isInDelivery {
                    if record.user.runner.isTask { activity.tasks += 1 } else { activity.hops += 1 }
                }
            }
            for position in 0..<state.scheduler.runningCount {
                let record = state.scheduler.running(at: position).record
                guard record.hasEnded, record.user.runner != .nobody else { continue }
                if record.user.runner.isTask { activity.tasks += 1 } else { activity.hops += 1 }
            }
            return activity
        }
    }

    /// What the ticks of a round at an instant may lead to. O(n) for n timers that are due by then, and those that were
    /// postponed.
    func pendingWork(by instant: TimerInstant) -> PendingWork {
        locked { state in
            var work = PendingWork()
            state.scheduler.eachDue(at: instant.nanoseconds) { timer in
                switch timer.record.user.destination {
                case .inline where timer.timing.isRepeating && !timer.timing.isOnDemand: break
                case .inline, .mailbox: work.insert(.task)
                case .queue, .task: work.insert(.handler)
                }
            }
            return work
        }
    }
}
