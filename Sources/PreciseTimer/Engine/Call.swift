internal import TimerAlarms
@_spi(Engine) internal import TimerCore

/// A tick whose handler is to be called now.
struct Call: Sendable {
    let record: TimerRecord
    let due: Due
    /// When the alarm's thread found it due.
    let woke: TimerInstant
    /// As of when the tick was decided on.
    let look: TimerInstant
    /// Whose clock is read.
    let alarm: any TimerAlarm

    /// The tick, for a handler that is called at this moment.
    var tick: PreciseTimer.Tick {
        let deadline = TimerInstant(nanoseconds: due.deadline, clock: woke.clock)
        let woke = max(woke, deadline)
        return PreciseTimer.Tick(
            index: due.index,
            deadline: deadline,
            woke: woke,
            // A wall clock may have been stepped back in between.
            delivered: max(alarm.now, woke),
            missed: due.missed
        )
    }

    /// Calls the handler. Returns how late the tick was, in nanoseconds; nil if the target was gone.
    func perform() -> UInt64? {
        #if DEBUG
        MainActorCheck.begin { [record] in record.warningOfMainActor }
        defer { MainActorCheck.end() }
        #endif
        let tick = tick
        return record.deliver(tick) ? tick.nanosecondsLate : nil
    }

    /// Calls the handler of an actor, on it. Returns the same.
    func perform(on actor: isolated any Actor, as identity: TaskDelivery) async -> UInt64? {
        let tick = tick
        let hasTarget = await TaskDelivery.$current.withValue(identity) { await record.deliver(tick, on: actor) }
        return hasTarget ? tick.nanosecondsLate : nil
    }

}

extension PreciseTimer.Tick {
    /// ``lateness`` in nanoseconds.
    var nanosecondsLate: UInt64 { delivered.nanoseconds - deadline.nanoseconds }
}
