/// What is still going on in a service after its last look, for tests on virtual time.
package struct Motion: Equatable, Sendable {
    /// Ticks on their way to a queue, an actor or a task that was woken for them, and handlers that occupy a thread:
    /// these end by themselves.
    package var hops = 0
    /// Handlers that may await something, and consumers that are not back for their next tick.
    package var tasks = 0
    /// Changes with each tick, and with each timer that is added.
    package var activity: UInt64 = 0

    /// Nothing is going on.
    package init() {}
}

/// What a tick may lead to besides an inline handler.
package enum Sequel: Sendable {
    case none
    /// A handler runs elsewhere.
    case handler
    /// A task goes on that the service does not know: after a sleep or, if the timer has no further deadline by itself,
    /// after a time-out.
    case task
}

extension ServiceCore {
    /// What is still going on. O(n) for n timers, under the lock.
    var motion: Motion {
        locked { state in
            var motion = Motion()
            for position in 0..<state.scheduler.count {
                let record = state.scheduler[position]
                motion.activity &+= 1 &+ record.user.ticks
                if case .mailbox(let mailbox) = record.user.destination {
                    let (isAwaited, isWoken) = mailbox.isAwaited
                    motion.hops += isWoken ? 1 : 0
                    motion.tasks += record.isInDelivery || !isAwaited ? 1 : 0
                } else if record.isInDelivery {
                    if record.user.runner.isTask { motion.tasks += 1 } else { motion.hops += 1 }
                }
            }
            for position in 0..<state.scheduler.runningCount {
                let record = state.scheduler.running(at: position)
                guard record.hasEnded, record.user.runner != .nobody else { continue }
                if record.user.runner.isTask { motion.tasks += 1 } else { motion.hops += 1 }
            }
            return motion
        }
    }

    /// What the ticks that come by an instant may lead to. O(n) for n timers that come by then.
    func sequel(by instant: TimerInstant) -> Sequel {
        var sequel = Sequel.none
        let isTask = { (record: Record) in
            if record.nextLook > instant.nanoseconds { return false }
            switch record.user.destination {
            case .inline: return record.grid.repetition == .none || record.isOnDemand
            case .mailbox: return true
            case .queue, .task: sequel = .handler
            }
            return false
        }
        let isAnyTask = locked { state in
            state.scheduler.deadlines.contains(by: instant.nanoseconds, where: isTask)
                || state.scheduler.looks.contains(by: instant.nanoseconds, where: isTask)
        }
        return isAnyTask ? .task : sequel
    }
}
