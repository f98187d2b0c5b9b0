internal import Synchronization
package import TimerCore

/// One thread that blocks in `read` of one timerfd.
///
/// Another thread's setting wakes the reader correctly, be it earlier, later or past, so that neither epoll nor a second
/// descriptor is needed.
package final class TimerFDAlarm: TimerAlarm {
    private let timer: TimerDescriptor
    private let clock: TimerClock
    private let isStopped = Atomic(false)

    /// - Throws: `TimerError` where the system refuses the descriptor.
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
        // The thread holds the alarm, and so the descriptor, until it has ended.
        try Thread.start("timer.timerfd") { self.run(onFire, onFailure) }
    }

    private func run(_ onFire: () -> Void, _ onFailure: (TimerError) -> Void) {
        do throws(TimerError) {
            // Looked at on both sides of a firing: what it set may have told that the descriptor is lost.
            while !isStopped.load(ordering: .acquiring) {
                try timer.wait()
                if isStopped.load(ordering: .acquiring) { return }
                onFire()
            }
        } catch {
            onFailure(error)
        }
    }

    /// The thread is woken at the latest a minute from now, and each minute from then on. If the process closes the
    /// descriptor from outside, a reader is not told: it finds out with its next reading.
    package func set(_ deadline: TimerInstant?) throws(TimerError) {
        let latest = now.moved(by: Self.minute)
        try timer.set(deadline.map { min($0, latest) } ?? latest, repeatingEvery: Self.minute)
        // A setting that crossed a stop may have undone its wake-up.
        if isStopped.load(ordering: .acquiring) { wake() }
    }

    /// Goes on by itself if that, too, wakes the thread at the latest each minute.
    package func set(_ first: TimerInstant, every period: UInt64) throws(TimerError) -> Bool {
        let isSoon = first <= now.moved(by: Self.minute)
        guard timer.canRepeat(every: period), period <= Self.minute, isSoon else {
            try set(first)
            return false
        }
        try timer.set(first, repeatingEvery: period)
        // A setting that crossed a stop may have undone its wake-up.
        if isStopped.load(ordering: .acquiring) { wake() }
        return true
    }

    package func stop() {
        isStopped.store(true, ordering: .releasing)
        wake()
    }

    /// Makes the thread look whether it is to end. Setting a timerfd that is open to an instant that has come is not
    /// refused, and a thread that has ended needs no waking.
    private func wake() { try? timer.set(now) }

    /// In nanoseconds.
    private static let minute: UInt64 = 60_000_000_000
}
