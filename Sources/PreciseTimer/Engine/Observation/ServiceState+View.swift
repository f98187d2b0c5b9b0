/// One timer, as it is seen under the lock. It holds the target, and must be released without the lock.
struct Sight {
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
