internal import TimerKernel

/// A tick that a handler or a consumer has received.
struct DeliveredTick {
    let expiration: Expiration
    /// How late it was, in nanoseconds.
    let lateness: UInt64

    /// When the handler was called, in nanoseconds on the service's clock.
    var instant: UInt64 { expiration.deadline &+ lateness }
}

extension PreciseTimer.Tick {
    /// A tick that was found due at one moment and is delivered at another.
    @inline(__always) init(_ expiration: Expiration, woke: TimerInstant, delivered: TimerInstant) {
        let clock = woke.clock
        let woke = max(woke.nanoseconds, expiration.deadline)
        index = Int(clamping: expiration.index)
        deadline = TimerInstant(nanoseconds: expiration.deadline, clock: clock)
        self.woke = TimerInstant(nanoseconds: woke, clock: clock)
        // A wall clock may have been set back in between.
        self.delivered = TimerInstant(nanoseconds: max(delivered.nanoseconds, woke), clock: clock)
        missed = Int(clamping: expiration.missed)
        isExtra = expiration.isExtra
    }

    /// ``lateness`` in nanoseconds. No tick is delivered before its deadline.
    var nanosecondsLate: UInt64 { delivered.nanoseconds &- deadline.nanoseconds }
}
