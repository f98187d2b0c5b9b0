/// What is still going on in a service after its last look, for tests on virtual time.
package struct Motion: Equatable, Sendable {
    /// Ticks on their way to a queue, an actor or a task that was woken for them, and handlers that occupy a thread:
    /// these end by themselves.
    package var hops = 0
    /// Handlers that may await something, and consumers that are not back for their next tick.
    package var tasks = 0
    /// Changes with each tick, and with each timer that is added.
    package var activity: UInt64 = 0
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
}
