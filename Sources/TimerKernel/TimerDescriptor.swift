internal import CTimerKernel
internal import Synchronization

/// A timerfd (see timerfd_create(2)), closed when the value ends.
///
/// If the process closes the descriptor from outside, its number may belong to another file at any time. So the
/// value remembers the first error that shows this, and from then on neither uses nor closes the number. The same
/// holds as soon as another value gets the number (``DescriptorClaim``).
package struct TimerDescriptor: ~Copyable, Sendable {
    /// The number of the descriptor, which only this value may close.
    package let number: CInt
    private let clock: TimerClock
    private let claim: DescriptorClaim
    /// Whether the kernel has refused to report steps of the wall clock. Relaxed: a setter that does not know it asks
    /// once more.
    private let refusesSteps = Atomic(false)

    /// Creates a disarmed timer on a clock, which is closed in programs that this process executes.
    ///
    /// - Parameters:
    ///   - clock: the clock of its deadlines.
    ///   - isBlocking: whether reading the timer waits; ``wait()`` waits in either case.
    /// - Throws: `TimerError` if the system refuses the descriptor.
    package init(_ clock: TimerClock, isBlocking: Bool = true) throws(TimerError) {
        let flags = CInt(TFD_CLOEXEC) | (isBlocking ? 0 : CInt(TFD_NONBLOCK))
        switch SystemCall.retrying({ timerfd_create(clock.kernelID, flags) }) {
        case .success(let number):
            self.number = number
            claim = DescriptorClaim(number)
        case .failure(let errno): throw errno.error(attempting: "creating a timerfd")
        }
        self.clock = clock
    }

    deinit { claim.close() }

    /// Whether the number is known to belong to this timer no more.
    package var isLost: Bool { claim.isLost }

    /// Sets the absolute deadline, or disarms. Setting a past deadline wakes a waiting reader, too.
    ///
    /// Two calls on one timer are ordered, with all memory that their threads use before and after: each takes the
    /// kernel's lock on it (`ctx->wqh.lock` in fs/timerfd.c). A system call in itself orders no memory on ARM.
    ///
    /// On the wall clock, a step of the clock counts as an expiry, so that the reader looks at the clock again
    /// (TFD_TIMER_CANCEL_ON_SET). If the kernel refuses to report steps, as that of gVisor does, the timer expires
    /// after a minute at the latest.
    ///
    /// It never repeats by itself. The kernel would set a repeating timer again inside the read(2) that returns its
    /// expiry, before the reader goes on. In a virtual machine that made each tick some 10 µs later.
    ///
    /// - Parameter deadline: the instant of the expiry.
    /// - Throws: `TimerError` if the kernel refuses, or the descriptor is lost.
    package borrowing func set(_ deadline: TimerInstant?) throws(TimerError) {
        if isLost { throw Errno(EBADF).error(.backendFailed, attempting: "setting a timerfd") }
        if clock == .wall, !refusesSteps.load(ordering: .relaxed) {
            switch setTime(deadline, TFD_TIMER_CANCEL_ON_SET) {
            // ECANCELED reports a step since the last setting. This setting holds anyway: see NOTES in
            // timerfd_create(2).
            case .success, .failure(Errno(ECANCELED)): return
            // Without steps it may be accepted.
            case .failure: break
            }
        }
        var instant = deadline
        if clock == .wall, let deadline { instant = min(deadline, clock.now.moved(by: 60_000_000_000)) }
        if case .failure(let errno) = setTime(instant) {
            throw failure(errno, .systemRefused, attempting: "setting a timerfd")
        }
        if clock == .wall { refusesSteps.store(true, ordering: .relaxed) }
    }

    private borrowing func setTime(_ deadline: TimerInstant?, _ flag: Int = 0) -> Result<CInt, Errno> {
        // A value of zero would disarm: the earliest deadline is 1 ns.
        let instant = timespec(nanoseconds: deadline.map { max($0.nanoseconds, 1) } ?? 0)
        let number = number
        return SystemCall.retrying { timer_set(number, CInt(flag), instant) }
    }

    /// Waits until the deadline has passed, even if signals interrupt it or a read finds no expiry.
    package borrowing func wait() throws(TimerError) {
        while try !takeExpiry() { try waitUntilReadable() }
    }

    /// Takes the expiry, so that the descriptor is unreadable. Returns whether there was one; on a blocking
    /// descriptor, waits for one.
    package borrowing func takeExpiry() throws(TimerError) -> Bool {
        if isLost { throw Errno(EBADF).error(.backendFailed, attempting: "reading a timerfd") }
        let number = number
        var expirations: UInt64 = 0
        switch SystemCall.retrying({ unsafe read(number, &expirations, MemoryLayout<UInt64>.size) }) {
        // ECANCELED: the wall clock was stepped.
        case .success(MemoryLayout<UInt64>.size), .failure(Errno(ECANCELED)): return true
        case .failure(Errno(EAGAIN)): return false
        // The number belongs to another file now.
        case .success: throw failure(Errno(EBADF), .backendFailed, attempting: "reading a timerfd")
        case .failure(let errno): throw failure(errno, .backendFailed, attempting: "reading a timerfd")
        }
    }

    /// In a forked child, gives the number to a new disarmed timer, since this timer belongs to the parent.
    ///
    /// - Throws: `TimerError` if the system refuses the new timer.
    package borrowing func replaceInForkedChild() throws(TimerError) {
        let quiet = try TimerDescriptor(clock, isBlocking: false)
        let (from, to) = (quiet.number, number)
        if case .failure(let errno) = SystemCall.retrying({ dup2(from, to) }) {
            throw errno.error(attempting: "replacing a timerfd")
        }
        _ = descriptor_close_on_exec(to)
    }

    /// The process made the descriptor non-blocking (an inherited one is shared), so wait here instead of spinning.
    private borrowing func waitUntilReadable() throws(TimerError) {
        var request = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        if case .failure(let errno) = SystemCall.retrying({ unsafe poll(&request, 1, -1) }) {
            throw failure(errno, .backendFailed, attempting: "waiting for a timerfd")
        }
    }

    /// The error of a failed call. EBADF means that the descriptor is closed. EINVAL means that the number belongs
    /// to another file, since the arguments are always valid.
    private borrowing func failure(
        _ errno: Errno,
        _ code: TimerError.Code,
        attempting attempted: String
    ) -> TimerError {
        if [EBADF, EINVAL].contains(errno.number) { claim.lose() }
        return errno.error(code, attempting: attempted)
    }
}

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
