/// What is still going on in a service after its last round, for tests on virtual time.
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
package enum PendingWork: Sendable {
    case none
    /// A handler runs elsewhere.
    case handler
    /// A task goes on that the service does not know: after a sleep or, if the timer has no further deadline by itself,
    /// after a time-out.
    case task
}

extension ServiceCore {
    /// What is still going on. O(n) for n timers, under the lock.
    var activity: Activity {
        locked { state in
            var activity = Activity()
            for position in 0..<state.scheduler.count {
                let record = state.scheduler[position].record
                activity.changes &+= 1 &+ record.user.ticks
                if case .mailbox(let mailbox) = record.user.destination {
                    let (isAwaited, isWoken) = mailbox.isAwaited
                    activity.hops += isWoken ? 1 : 0
                    activity.tasks += record.isInDelivery || !isAwaited ? 1 : 0
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

    /// What the ticks that come by an instant may lead to. O(n) for n timers that come by then.
    func pendingWork(by instant: TimerInstant) -> PendingWork {
        var work = PendingWork.none
        let isTask = { (timer: TimerRecord) in
            let record = timer.record
            if record.timing.wakeTime > instant.nanoseconds { return false }
            switch record.user.destination {
            case .inline: return !record.timing.isRepeating || record.timing.isOnDemand
            case .mailbox: return true
            case .queue, .task: work = .handler
            }
            return false
        }
        let isAnyTask = locked { $0.scheduler.waiting.contains(by: instant.nanoseconds, where: isTask) }
        return isAnyTask ? .task : work
    }
}
