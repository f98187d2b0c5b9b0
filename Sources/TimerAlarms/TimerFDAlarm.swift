internal import Synchronization
package import TimerCore

/// One thread that blocks in `read` on one timerfd.
///
/// If another thread sets the timerfd, the reader wakes correctly, whether the new deadline is earlier, later or
/// past. So the alarm needs neither epoll nor a second descriptor.
package final class TimerFDAlarm: TimerAlarm {
    private let timer: TimerDescriptor
    private let clock: TimerClock
    private let isStopped = Atomic(false)

    /// - Throws: `TimerError` if the system refuses the descriptor.
    package init(_ clock: TimerClock) throws(TimerError) {
        timer = try TimerDescriptor(clock)
        self.clock = clock
    }

    package var now: TimerInstant { KernelClock.now(clock) }

    package func start(
        onFire: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (TimerError) -> Void
    ) throws(TimerError) {
        try set(nil)
        // The thread holds the alarm, and thus the descriptor, until the thread ends.
        try Thread.start("timer.timerfd") { self.run(onFire, onFailure) }
    }

    private func run(_ onFire: () -> Void, _ onFailure: (TimerError) -> Void) {
        do throws(TimerError) {
            // Checked before and after each wait. A firing may stop the alarm, for example because its setting found
            // the descriptor lost; and a stop ends the wait.
            while !isStopped.load(ordering: .acquiring) {
                try timer.wait()
                if isStopped.load(ordering: .acquiring) { return }
                onFire()
            }
        } catch {
            onFailure(error)
        }
    }

    /// The thread wakes at least once a minute. If the process closes the descriptor from outside, a blocked reader
    /// is not told; its next read finds out.
    package func set(_ deadline: TimerInstant?) throws(TimerError) {
        let latest = now.moved(by: Self.minute)
        try timer.set(deadline.map { min($0, latest) } ?? latest, repeatingEvery: Self.minute)
        // This setting may have undone the wake-up of a concurrent stop.
        if isStopped.load(ordering: .acquiring) { wake() }
    }

    /// Repeats by itself if this, too, wakes the thread at least once a minute.
    package func set(_ first: TimerInstant, every period: UInt64) throws(TimerError) -> Bool {
        let isSoon = first <= now.moved(by: Self.minute)
        guard timer.canRepeat(every: period), period <= Self.minute, isSoon else {
            try set(first)
            return false
        }
        try timer.set(first, repeatingEvery: period)
        // This setting may have undone the wake-up of a concurrent stop.
        if isStopped.load(ordering: .acquiring) { wake() }
        return true
    }

    package func stop() {
        isStopped.store(true, ordering: .releasing)
        wake()
    }

    /// Wakes the thread to check whether it must end. The kernel does not refuse a past instant on an open timerfd,
    /// and a thread that has ended needs no waking.
    private func wake() { try? timer.set(now) }

    /// In nanoseconds.
    private static let minute: UInt64 = 60_000_000_000
}
