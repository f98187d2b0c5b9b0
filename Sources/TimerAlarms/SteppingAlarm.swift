package import TimerKernel

/// An alarm whose clock is not the kernel's, so that the steps and suspensions of the machine are not its own.
package protocol SteppingAlarm: TimerAlarm {
    /// Calls `onCheck` for each step of the alarm's wall clock and for each suspension, until the returned function is
    /// called. Calls `onEnd` when the alarm is stopped, or at once if it was.
    func watchClock(
        _ onCheck: @escaping @Sendable (ClockChanges) -> Void,
        onEnd: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void
}
