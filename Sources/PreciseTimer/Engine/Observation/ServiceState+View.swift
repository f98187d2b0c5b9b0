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
