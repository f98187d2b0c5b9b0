/// Where one thread sleeps until an instant, and how other threads end its sleep.
///
/// A thread sleeps in a read of a timer of the kernel. To wake it, another thread sets that timer.
///
/// A Linux with PREEMPT_RT lets such a timer expire in a thread of its own, `ktimers/N` of SCHED_FIFO 1, which gets no
/// processor beside any real-time thread that is busy. The time-outs of a real-time thread's own calls expire in the
/// interrupt: see `__hrtimer_setup_sleeper` in kernel/time/hrtimer.c, and Documentation/findings/rt-timerfd-starves.sh.
/// So there a real-time thread sleeps in a call with a time-out, and another thread wakes it without a timer
/// (``WakeUp``). The timer is set only if it hears what a time-out does not: that the wall clock was set, or that the
/// machine was suspended. On other kernels such a sleep would end about a microsecond later than a read.
package struct ThreadTimer: ~Copyable, Sendable {
    private let timer: TimerDescriptor
    private let clock: TimerClock
    /// Ends the sleep of a thread that sleeps by a time-out; nil for one that sleeps in a read.
    private let wakeUp: WakeUp?

    /// - Parameters:
    ///   - clock: the clock of the instants.
    ///   - sleepsByTimeOut: whether the thread sleeps by a time-out.
    /// - Throws: `TimerError` if the system refuses a descriptor.
    package init(_ clock: TimerClock, sleepsByTimeOut: Bool = false) throws(TimerError) {
        let wakeUp = sleepsByTimeOut ? try WakeUp() : nil
        timer = try TimerDescriptor(clock)
        (self.clock, self.wakeUp) = (clock, wakeUp)
    }

    /// Sets the timer, before the thread sleeps until then.
    package borrowing func set(_ nanoseconds: UInt64) throws(TimerError) {
        if wakeUp != nil, clock == .suspending { return }
        try timer.set(instant(nanoseconds))
    }

    /// Sleeps until the instant for which the timer was set, or less long.
    package borrowing func sleep(until nanoseconds: UInt64) throws(TimerError) {
        guard let wakeUp else { return try timer.wait() }
        let now = clock.now.nanoseconds
        if now >= nanoseconds { return }
        try wakeUp.wait(nanoseconds - now, orFor: clock == .suspending ? nil : timer.number)
    }

    /// Lets the sleep of another thread end at an earlier instant, or now.
    package borrowing func shorten(to nanoseconds: UInt64) throws(TimerError) {
        if let wakeUp { try wakeUp.signal() } else { try timer.set(instant(nanoseconds)) }
    }

    private borrowing func instant(_ nanoseconds: UInt64) -> TimerInstant {
        TimerInstant(nanoseconds: nanoseconds, clock: clock)
    }
}

/// Decides when a real-time thread that is behind must sleep once, before the process's limit on such threads ends the
/// process (``RealTimeLimit``). A pure value but for its beginning; lengths are in nanoseconds of processor time.
package struct RealTimeRest: Sendable {
    /// The processor time without a sleep after which one is due: half of the limit, since a handler needs the rest.
    private let stretch: UInt64
    private var sleeps: Int?
    /// The processor time at the last sleep.
    private var ran: UInt64 = 0

    /// For the calling thread; nil if it has no real-time policy, or the process no limit.
    init?() {
        guard !RealTimeLimit.allows(stretch: .max), let limit = RealTimeLimit.nanoseconds else { return nil }
        self.init(limit: limit)
    }

    package init(limit: UInt64) { stretch = limit / 2 }

    /// Decides whether the thread must sleep now.
    ///
    /// - Parameters:
    ///   - ran: the processor time that the thread has used so far; nil if the system does not tell.
    ///   - sleeps: how many times it has slept so far; nil if the system does not tell.
    /// - Returns: whether it must sleep; always true if the system does not tell.
    package mutating func isDue(ran: UInt64?, sleeps: Int?) -> Bool {
        guard let ran, let sleeps else { return true }
        if sleeps != self.sleeps { (self.sleeps, self.ran) = (sleeps, ran) }
        return ran - min(self.ran, ran) >= stretch
    }
}
