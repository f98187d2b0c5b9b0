internal import TimerCore

/// A tick that a handler or a consumer has received.
struct Served {
    let due: Due
    /// How late it was, in nanoseconds.
    let lateness: UInt64
    /// How long its handler ran, in nanoseconds; nil if that is not known yet, or if a consumer received it.
    var handlerTime: UInt64?

    /// When the handler was called, in nanoseconds on the service's clock.
    var delivered: UInt64 { due.deadline + lateness }

    /// The tick, with its handler's time until now.
    func handled(by now: TimerInstant) -> Served {
        var served = self
        // A wall clock may have been set back.
        served.handlerTime = now.nanoseconds - min(now.nanoseconds, delivered)
        return served
    }
}
