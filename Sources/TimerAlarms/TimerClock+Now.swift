public import TimerCore

extension TimerClock {
    /// The time on this clock. Any thread may read it; on ordinary hosts this makes no system call.
    public var now: TimerInstant { KernelClock.now(self) }
}
