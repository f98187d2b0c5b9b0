extension PreciseTimer {
    /// Whether a timer is scheduled, paused or ended.
    @nonexhaustive
    public enum State: Hashable, Sendable {
        /// It will tick again, or it rests until it is rescheduled (``PreciseTimer/Schedule/onDemand``).
        case scheduled
        /// Its ticks are held back until ``PreciseTimer/resume()``.
        case paused
        /// It will never tick again.
        case ended(EndReason)
    }

    /// Why a timer ended. Every timer ends once, for one reason.
    @nonexhaustive
    public enum EndReason: Hashable, Sendable {
        /// Its last deadline has been delivered. A timer on demand never ends like this.
        case completed
        /// ``PreciseTimer/cancel()`` was called.
        case cancelled
        /// Its target was released.
        case targetReleased
        /// It had no target, and its handle was released.
        case handleReleased
        /// Its service was shut down.
        case serviceShutDown
        /// Its backend stopped working.
        case backendFailed(TimerError)
    }
}
