package import TimerKernel

/// An alarm whose wall clock is not the kernel's.
package protocol SteppingAlarm: TimerAlarm {
    /// Calls `onStep` for each step of the alarm's wall clock, with its length and the time after it, until the
    /// returned function is called. Calls `onEnd` when the alarm is stopped, or at once if it was.
    func watchSteps(
        _ onStep: @escaping @Sendable (Duration, TimerInstant) -> Void,
        onEnd: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void
}
