internal import TimerAlarms
internal import TimerCore

/// Calling the handler of a decided tick, outside any lock.
extension TimerRecord {
    /// Calls the handler. Returns how late the tick was, in nanoseconds; nil if the target was released.
    final func call(_ due: Due, woke: TimerInstant, _ alarm: any TimerAlarm) -> UInt64? {
        #if DEBUG
        MainActorCheck.begin { self.warningOfMainActor }
        defer { MainActorCheck.end() }
        #endif
        var lateness: UInt64?
        // The clock is read last, when all else is ready for the call.
        let hasTarget = deliver {
            let tick = PreciseTimer.Tick(due, woke: woke, delivered: alarm.now(notBefore: woke))
            lateness = tick.nanosecondsLate
            return tick
        }
        return hasTarget ? lateness : nil
    }

    /// Calls the handler on its actor. Returns how late the tick was, in nanoseconds; nil if the target was released.
    final func call(
        _ due: Due,
        woke: TimerInstant,
        _ alarm: any TimerAlarm,
        on actor: isolated any Actor,
        as identity: TaskDelivery
    ) async -> UInt64? {
        let tick = PreciseTimer.Tick(due, woke: woke, delivered: alarm.now)
        let hasTarget = await TaskDelivery.$current.withValue(identity) { await deliver(tick, on: actor) }
        return hasTarget ? tick.nanosecondsLate : nil
    }
}

extension PreciseTimer.Tick {
    /// A tick that was found due at one moment and is delivered at another.
    init(_ due: Due, woke: TimerInstant, delivered: TimerInstant) {
        let deadline = TimerInstant(nanoseconds: due.deadline, clock: woke.clock)
        let woke = max(woke, deadline)
        self.init(
            index: due.index,
            deadline: deadline,
            woke: woke,
            // A wall clock may have been set back in between.
            delivered: max(delivered, woke),
            missed: due.missed
        )
    }

    /// ``lateness`` in nanoseconds.
    var nanosecondsLate: UInt64 { delivered.nanoseconds - deadline.nanoseconds }
}
