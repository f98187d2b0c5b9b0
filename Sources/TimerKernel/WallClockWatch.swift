internal import Synchronization

/// One thread that sleeps until somebody sets the wall clock, or the system was suspended, and tells by how much. The
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
    ///   from outside, a blocked reader is not told; the next check finds out.
    ///   A kernel that does not wake the thread after a suspension delays the news of it by as much.
    /// - Throws: `TimerError` if the system refuses the descriptor.
    package init(longestSleep: Duration = .seconds(60)) throws(TimerError) {
        timer = try TimerDescriptor(.wall)
        self.longestSleep = longestSleep.nanosecondsOrForever
    }

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - onCheck: called on the thread after each check of the clocks, with what has happened since the check before,
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
