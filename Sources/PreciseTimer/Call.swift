internal import TimerAlarms
internal import TimerCore

/// A tick whose handler is to be called now.
struct Call: Sendable {
    let claim: Claim
    let due: Due
    /// When the alarm's thread found it due.
    let woke: TimerInstant
    /// As of when the tick was decided on.
    let look: TimerInstant
    /// What is called; nil for an actor, and for a consumer.
    let recipient: (any Recipient)?
    /// What is called on an actor.
    let isolated: (any IsolatedRecipient)?

    /// The tick, for a handler that is called at this moment.
    func tick(at now: TimerInstant) -> PreciseTimer.Tick {
        let woke = max(woke, due.deadline)
        return PreciseTimer.Tick(
            index: due.index,
            deadline: due.deadline,
            woke: woke,
            // A wall clock may have been stepped back in between.
            delivered: max(now, woke),
            missed: due.missed
        )
    }

    /// What has become of it.
    func delivered(_ tick: PreciseTimer.Tick?) -> Called {
        Called(claim: claim, look: look, lateness: tick?.lateness)
    }

    /// Calls the handler. Nothing of the user's is held by the result.
    consuming func perform(of core: ServiceCore, readingClockOf alarm: any TimerAlarm) -> Called {
        let timer = claim.timer
        // Debug builds only.
        assert(MainActorCheck.begin { core.description(of: timer).warningOfMainActor })
        defer { assert(MainActorCheck.end()) }
        let tick = tick(at: alarm.now)
        return delivered(recipient?.deliver(tick) == true ? tick : nil)
    }

    /// Calls the handler of an actor, on it. Nothing of the user's is held by the result.
    consuming func perform(
        readingClockOf alarm: any TimerAlarm,
        on actor: isolated any Actor,
        as identity: TaskDelivery
    ) async -> Called {
        let tick = tick(at: alarm.now)
        let hasTarget = await TaskDelivery.$current.withValue(identity) { await isolated?.deliver(tick, on: actor) }
        return delivered(hasTarget == true ? tick : nil)
    }
}

/// A delivery whose handler has returned.
struct Called: Sendable {
    let claim: Claim
    /// As of when the tick was decided on.
    let look: TimerInstant
    /// How late the tick was; nil where the target was gone.
    let lateness: Duration?
}
