/// Requests that few timers get.
extension Scheduler where User: ~Copyable {
    /// Lets the time to the next deadline of a paused timer stand still from now on. Constant time.
    package mutating func hold(_ timer: Timer, at now: UInt64) { timer.hold(at: now) }

    /// Resumes a timer that is held: all its deadlines are later by the time of the hold. Returns nil if it is not
    /// paused. O(log n).
    package mutating func release(_ timer: Timer, at now: UInt64) -> AlarmOrder? {
        timer.release(at: now)
        return resume(timer)
    }

    /// Starts a timer's schedule anew, from now on. Returns nil if the timer had ended, or has no schedule that counts
    /// from its beginning. O(log n).
    package mutating func restart(_ timer: Timer, at now: UInt64) -> AlarmOrder? {
        guard let grid = timer.gridAnew(at: now) else { return nil }
        if timer.isHeld { hold(timer, at: now) }
        return reschedule(timer, on: grid)
    }

    /// Lets a timer end after one more tick: the one for deadlines that have passed, or else an extra one. Returns nil
    /// if the timer is paused or had ended. O(log n).
    package mutating func finish(_ timer: Timer, at now: UInt64) -> AlarmOrder? {
        if timer.hasEnded || timer.isPaused { return nil }
        timer.finish(at: now)
        return enqueue(timer)
    }
}
