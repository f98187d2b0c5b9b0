extension PreciseTimer {
    /// How a timer stands.
    @nonexhaustive
    public enum State: Hashable, Sendable {
        /// It is still to tick, or rests until it is rescheduled (``PreciseTimer/Schedule/onDemand``).
        case scheduled
        /// Its ticks are held back until ``PreciseTimer/resume()``.
        case paused
        /// It will not tick any more.
        case ended(EndReason)
    }

    /// Why a timer ended. Every timer ends once, for one reason.
    @nonexhaustive
    public enum EndReason: Hashable, Sendable {
        /// Its last deadline has been delivered. Never of a timer on demand.
        case completed
        /// ``PreciseTimer/cancel()`` was called.
        case cancelled
        /// Its target is gone.
        case targetReleased
        /// It had no target, and its handle was dropped.
        case handleReleased
        /// Its service was shut down.
        case serviceShutDown
        /// Its backend stopped working.
        case backendFailed(TimerError)
    }
}
