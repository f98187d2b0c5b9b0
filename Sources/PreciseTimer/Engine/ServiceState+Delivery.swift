internal import TimerAlarms
@_spi(Engine) internal import TimerCore

/// From a firing of the alarm to the handlers: what happens under the lock.
extension ServiceState {
    /// What is to be done next in a look, without the lock.
    enum Turn {
        /// Call a handler here.
        case call(TimerRecord, Due)
        /// Send a tick to where its handler is called.
        case send(TimerRecord)
        /// Say the farewell of a timer.
        case bid(TimerRecord, TimerService?)
        /// Ask again: much is to be done, and others may need the lock.
        case askAgain
        /// Nothing more; the alarm is set, or has refused that.
        case done(Failure?)
    }

    /// What has become of a timer after a delivery.
    enum Outcome {
        /// It waits for its next deadline, or rests; unless the alarm could not be set for that.
        case waits(Failure?)
        /// Another of its late ticks is to be delivered by the same hop.
        case again
        /// It has ended, and its farewell is to be said; the service is there if this was its last timer.
        case ended(TimerService?)
    }

    /// Looks at the clock. Nil for a firing of an earlier run.
    mutating func look(_ run: Int) -> (alarm: any TimerAlarm, woke: TimerInstant)? {
        guard run == self.run, let alarm else { return nil }
        let woke = alarm.now
        scheduler.beginLook(at: woke.nanoseconds)
        return (alarm, woke)
    }

    /// Finds whose turn it is in a look.
    mutating func nextTurn(_ run: Int, lookedAt woke: TimerInstant) -> Turn {
        guard run == self.run else { return .done(nil) }
        switch scheduler.next() {
        case .notFound: return .askAgain
        case .none: return .done(arm(scheduler.endLook()))
        case .of(let timer):
            let record = TimerRecord.of(timer)
            guard case .inline = record.destination, let due = scheduler.begin(record, at: woke.nanoseconds) else {
                return .send(record)
            }
            record.runner = .thisThread
            return .call(record, due)
        }
    }

    /// Decides on the tick of a hop that has arrived. Nil if the timer must not tick any more, or not now: then it has gone
    /// back to wait.
    mutating func begin(_ record: TimerRecord, lookedAt look: TimerInstant, by runner: Runner) -> (Due?, Failure?) {
        if let due = scheduler.begin(record, at: look.nanoseconds) {
            record.runner = runner
            return (due, nil)
        }
        switch scheduler.finish(record, lookedAt: look.nanoseconds, now: look.nanoseconds) {
        case .waits(let order): return (nil, arm(order))
        case .again, .completes, .hasEnded: return (nil, nil)
        }
    }

    /// Ends a delivery: the timer waits for its next deadline, or ends; or another of its late ticks is to be delivered.
    mutating func finish(
        _ record: TimerRecord,
        lookedAt look: TimerInstant,
        _ lateness: UInt64?,
        byHop: Bool
    ) -> Outcome {
        record.runner = .nobody
        if let lateness { record.count(lateness) } else { _ = end(record, record.endingIfTargetIsGone) }
        // The clock is read only if it counts.
        let now = record.awaitsReturn ? self.now ?? look : look
        switch scheduler.finish(record, lookedAt: look.nanoseconds, byHop: byHop, now: now.nanoseconds) {
        case .waits(let order): return .waits(arm(order))
        case .again: return .again
        case .completes, .hasEnded: return .ended(takeServiceIfIdle())
        }
    }
}
