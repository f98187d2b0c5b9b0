public import TimerCore

extension TimerClock {
    /// The time on this clock. May be read on any thread; no system call on ordinary hosts.
    public var now: TimerInstant { KernelClock.now(self) }
}
