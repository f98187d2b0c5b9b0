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

    /// What the ticks of a round at an instant may lead to. O(n) for n timers that are due by then, and those that were
    /// postponed.
    func pendingWork(by instant: TimerInstant) -> PendingWork {
        locked { state in
            var work = PendingWork.none
            state.scheduler.eachDue(at: instant.nanoseconds) { timer in
                switch timer.record.user.destination {
                case .inline where timer.timing.isRepeating && !timer.timing.isOnDemand: break
                case .inline, .mailbox: work = .task
                case .queue, .task: if case .none = work { work = .handler }
                }
            }
            return work
        }
    }
}
