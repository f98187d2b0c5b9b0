package import CTimerKernel
internal import Synchronization

extension TimerClock {
    /// The time on this clock. Any thread may read it. On ordinary hosts this makes no system call: the kernel shares
    /// the clock with the process (vDSO).
    public var now: TimerInstant {
        var time = timespec()
        unsafe clock_gettime(kernelID, &time)
        return TimerInstant(nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec), clock: self)
    }
}

/// Sleeps on the kernel's suspending clock.
package enum KernelClock {
    /// Sleeps for a length of monotonic time. Signals do not end the sleep.
    package static func sleep(for duration: Duration) { sleep(until: TimerClock.suspending.now.advanced(by: duration)) }

    /// Sleeps until an instant of the suspending clock. Signals do not end the sleep.
    package static func sleep(until instant: TimerInstant) {
        var time = timespec(nanoseconds: instant.nanoseconds)
        unsafe sleep_until(&time)
    }
}

extension TimerClock {
    /// The kernel's id of the clock.
    package var kernelID: clockid_t {
        switch self {
        case .suspending: CLOCK_MONOTONIC
        case .continuous: CLOCK_BOOTTIME
        case .wall: CLOCK_REALTIME
        }
    }

    /// Nanoseconds to which the kernel rounds deadlines (clock_getres(2)): 1 if it has high-resolution timers, or the
    /// milliseconds of its tick. Nil if it does not say.
    package var resolution: UInt64? {
        var time = timespec()
        guard unsafe clock_getres(kernelID, &time) == 0 else { return nil }
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}

extension timespec {
    /// Nanoseconds since a clock's origin in the kernel's format. An instant after the kernel's latest one (292 years)
    /// becomes that latest one.
    package init(nanoseconds: UInt64) {
        let nanoseconds = min(nanoseconds, UInt64(Int64.max))
        self.init(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }
}

/// How far one clock is ahead of another, which changes only if the one jumps.
package struct ClockOffset: Sendable {
    package let nanoseconds: Int64
    /// The greatest possible error of the reading, in nanoseconds.
    private let error: Int64

    package init(nanoseconds: Int64, error: Int64) { (self.nanoseconds, self.error) = (nanoseconds, error) }

    /// The offset now. One clock is read between two readings of the other, until these are close enough.
    package init(of clock: TimerClock, to base: TimerClock) {
        self.init(reading: clock, base)
        for _ in 0..<16 where error > 500 {
            let next = ClockOffset(reading: clock, base)
            if next.error < error { self = next }
        }
    }

    private init(reading clock: TimerClock, _ base: TimerClock) {
        let before = Int64(clamping: base.now.nanoseconds)
        let time = Int64(clamping: clock.now.nanoseconds)
        let width = Int64(clamping: base.now.nanoseconds) - before
        self.init(nanoseconds: time - before - width / 2, error: width / 2 + 1)
    }

    /// The jump between two readings; nil if it is within their errors.
    package func jump(to later: ClockOffset) -> Duration? {
        let jump = later.nanoseconds - nanoseconds
        return jump.magnitude > (error + later.error).magnitude ? .nanoseconds(jump) : nil
    }
}

/// The distances between the machine's three clocks.
package struct ClockOffsets: Sendable {
    /// The wall clock's from the continuous clock: it changes if the wall clock is set. A suspension moves both.
    private let wall: ClockOffset
    /// The continuous clock's from the suspending one: it grows by the length of each suspension.
    private let suspended: ClockOffset

    package init(wall: ClockOffset, suspended: ClockOffset) { (self.wall, self.suspended) = (wall, suspended) }

    /// The distances now.
    package static var now: ClockOffsets {
        ClockOffsets(
            wall: ClockOffset(of: .wall, to: .continuous),
            suspended: ClockOffset(of: .continuous, to: .suspending)
        )
    }

    /// The changes between two readings.
    package func changes(to later: ClockOffsets) -> ClockChanges {
        let suspension = suspended.jump(to: later.suspended)
        return ClockChanges(
            step: wall.jump(to: later.wall),
            suspension: suspension.flatMap { $0 > .zero ? $0 : nil }
        )
    }
}

/// The changes of the machine's clocks between two checks.
package struct ClockChanges: Hashable, Sendable {
    /// By how much the wall clock was set; nil if it was not.
    package let step: Duration?
    /// How long the system was suspended; nil if it was not.
    package let suspension: Duration?

    package init(step: Duration? = nil, suspension: Duration? = nil) {
        (self.step, self.suspension) = (step, suspension)
    }
}

/// One thread that sleeps until the wall clock is set, or the system was suspended, and tells by how much. The
/// kernel wakes it at once for a step (TFD_TIMER_CANCEL_ON_SET in timerfd_create(2)) and after a suspension, which is
/// the same to a timerfd: `timekeeping_resume` in kernel/time/timekeeping.c calls `timerfd_resume` in fs/timerfd.c. A
/// kernel that does not report steps leaves it with its look once a minute.
/// Clocks that are slewed, as by adjtime(3), are not set.
package final class WallClockWatch: Sendable {
    private let timer: TimerDescriptor
    private let longestSleep: UInt64
    /// Stored before `stop` sets the timer, and read after the thread has set it. The kernel's lock on the timer orders
    /// the two settings: either the thread's comes first, and the other one wakes it, or the thread sees this.
    private let isStopped = Atomic(false)
    private let home = Process.generation

    /// - Parameter longestSleep: the thread wakes after this time at the latest. If the process closes the descriptor
    ///   from outside, a blocked reader is not woken; the next check finds out.
    ///   A kernel that does not wake the thread after a suspension delays the news of it by as much.
    /// - Throws: `TimerError` if the system refuses the descriptor.
    package init(longestSleep: Duration = .seconds(60)) throws(TimerError) {
        timer = try TimerDescriptor(.wall)
        self.longestSleep = longestSleep.nanosecondsOrForever
    }

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - onCheck: called on the thread after each check of the clocks, with the changes since the check before,
    ///     which is often nothing.
    ///   - onFailure: called once, on the thread, if the kernel refuses; the watch has then ended.
    /// - Throws: `TimerError` if the system refuses the thread.
    package func start(
        onCheck: @escaping @Sendable (ClockChanges) -> Void,
        onFailure: @escaping @Sendable (TimerError) -> Void
    ) throws(TimerError) {
        try arm()
        let offsets = ClockOffsets.now
        try Thread.start("timer.clock") { self.run(from: offsets, onCheck, onFailure) }
    }

    /// Sets the timer. From here on, a step wakes the thread: the offset is read afterwards, so that no step is lost in
    /// between.
    private func arm() throws(TimerError) { try timer.set(TimerClock.wall.now.moved(by: longestSleep)) }

    private func run(
        from first: ClockOffsets,
        _ onCheck: (ClockChanges) -> Void,
        _ onFailure: (TimerError) -> Void
    ) {
        var offsets = first
        do throws(TimerError) {
            while true {
                try timer.wait()
                try arm()
                // After arming: a stop wakes the thread from now on.
                if isStopped.load(ordering: .sequentiallyConsistent) { return }
                let now = ClockOffsets.now
                onCheck(offsets.changes(to: now))
                Thread.leaveForkedChild(of: home)
                offsets = now
            }
        } catch {
            onFailure(error)
        }
    }

    /// Ends the thread. A call that has begun may still be running.
    package func stop() {
        isStopped.store(true, ordering: .sequentiallyConsistent)
        // The kernel does not refuse a past instant on an open timerfd, and a thread that has ended needs no waking.
        try? timer.set(TimerInstant(nanoseconds: 0, clock: .wall))
    }
}
