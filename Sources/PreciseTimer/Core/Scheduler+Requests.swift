/// What the owners of timers ask for. Each method that returns an optional order returns nil if nothing was done, as
/// for a timer that takes no orders. O(log n) unless it says otherwise.
extension Scheduler {
    /// Adds a timer, whose schedule begins at `now`; if it does not count from there, `now` may be anything.
    package mutating func add(_ timer: Timer, _ schedule: borrowing ResolvedSchedule, at now: UInt64) -> AlarmOrder {
        timer.sequence = takeSequence()
        timer.timing.begin(schedule, at: now, using: &random)
        timers.append(timer)
        return enqueue(timer)
    }

    /// Starts a timer on another schedule, as the last among equal deadlines. Constant time if its next deadline
    /// is no earlier than before.
    package mutating func reschedule(
        _ timer: Timer,
        _ schedule: borrowing ResolvedSchedule,
        at now: UInt64
    ) -> AlarmOrder? {
        guard timer.takesOrders else { return nil }
        timer.sequence = takeSequence()
        timer.timing.begin(schedule, at: now, using: &random)
        // A heartbeat that pushes its time-out takes this path: the timer comes out too early, and is queued again.
        if timer.stage == .queued, timer.timing.isAhead(of: max(waiting.element(of: timer).nanoseconds, round ?? 0)) {
            return .leave
        }
        return enqueue(timer)
    }

    /// Gives a timer the steps of another schedule, in the phase of its current one. Nil if it has no phase.
    package mutating func changeSteps(
        _ timer: Timer,
        to schedule: borrowing ResolvedSchedule,
        at now: UInt64
    ) -> AlarmOrder? {
        let hadTurn = hasTurn(timer)
        guard timer.takesOrders, timer.timing.changeSteps(to: schedule, at: now) else { return nil }
        return enqueue(timer, keepsTurn: hadTurn)
    }

    /// Restarts a timer's schedule from now on. Nil if it has no schedule that counts from its beginning.
    package mutating func restart(_ timer: Timer, at now: UInt64) -> AlarmOrder? {
        guard timer.takesOrders, timer.timing.restart(at: now, using: &random) else { return nil }
        if timer.timing.isFrozen { timer.timing.freeze(at: now) }
        timer.sequence = takeSequence()
        return enqueue(timer)
    }

    /// Moves the next deadline of a timer whose deadlines are computed.
    package mutating func move(_ timer: Timer, to deadline: UInt64) -> AlarmOrder {
        timer.sequence = takeSequence()
        timer.timing.move(to: deadline)
        // A burst was of deadlines that had passed, which this one perhaps has not: the clock was set.
        timer.timing.stopCatchingUp()
        return enqueue(timer)
    }

    /// Holds back all ticks until the timer is resumed; its grid stays. Returns false if it was paused already.
    package mutating func pause(_ timer: Timer) -> Bool {
        if !timer.takesOrders || timer.timing.isPaused { return false }
        timer.timing.isPaused = true
        // A timer in delivery keeps its count of late ticks: it may be resumed before the delivery ends.
        if !timer.isInDelivery {
            timer.timing.stopCatchingUp()
            requeue(timer)
        }
        checkInvariants()
        return true
    }

    /// Resumes a paused timer at `now`. If its time stood still, all its deadlines are later by that time;
    /// if not, those that have passed are due at once. Nil if it was not paused.
    package mutating func resume(_ timer: Timer, at now: UInt64) -> AlarmOrder? {
        guard timer.takesOrders, timer.timing.isPaused else { return nil }
        if timer.timing.isFrozen { timer.timing.thaw(at: now) }
        timer.timing.bringExtraForward(to: now)
        timer.timing.isPaused = false
        return enqueue(timer)
    }

    /// Asks for an extra tick, which does not change the grid.
    package mutating func fire(_ timer: Timer, at now: UInt64) -> AlarmOrder? {
        guard timer.takesOrders else { return nil }
        let hadTurn = hasTurn(timer)
        timer.timing.askForExtra(at: now)
        return enqueue(timer, keepsTurn: hadTurn)
    }

    /// Lets a timer end after one more tick: the one for deadlines that have passed, or else an extra one. From now on
    /// it takes no orders, but may be finished again. Nil if the timer is paused or had ended.
    package mutating func finish(_ timer: Timer, at now: UInt64) -> AlarmOrder? {
        if timer.hasEnded || timer.timing.isPaused { return nil }
        let hadTurn = hasTurn(timer)
        timer.takesOrders = false
        timer.timing.finish(at: now)
        return enqueue(timer, keepsTurn: hadTurn)
    }
}
