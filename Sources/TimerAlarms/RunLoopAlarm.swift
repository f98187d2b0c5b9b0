#if RunLoop
internal import Dispatch
package import Foundation
internal import Synchronization
package import TimerCore

/// One `Timer` on a run loop, on a thread of its own or on a loop of the host's.
///
/// Foundation keeps every timer for ever, with all that its block captures: some hundred bytes for each alarm stay, and
/// what the alarm calls does not, because the block reaches it through a link that is cut. The timer repeats, after years,
/// because one that does not could not be set again. Its fire date may be set on any thread, which wakes the loop.
///
/// Foundation takes a fire date as a length of monotonic time from the moment of setting, in seconds of type `Double`: a
/// step of the wall clock does not matter after that. Dates are rounded up by some microseconds, so that the timer rarely
/// fires early.
@safe
package final class RunLoopAlarm: TimerAlarm {
    /// Somebody's run loop.
    private struct Host {
        let loop: RunLoop
        let mode: RunLoop.Mode
    }

    /// What the timer's block holds for ever.
    private let link = Link()
    // Constant, and locked by Foundation; Swift takes neither for sendable.
    private nonisolated(unsafe) let timer: Timer
    private nonisolated(unsafe) let host: Host?
    private let isStopped = Atomic(false)

    private init(host: Host?) {
        let link = link
        let never = Date.distantFuture
        unsafe timer = Timer(fire: never, interval: Self.years, repeats: true) { link.fire(for: $0) }
        unsafe self.host = host
    }

    /// On a thread of its own.
    package convenience init() { self.init(host: nil) }

    /// On a run loop that somebody runs in this mode, for as long as the alarm is not stopped.
    package convenience init(attachedTo loop: RunLoop, mode: RunLoop.Mode) {
        self.init(host: Host(loop: loop, mode: mode))
    }

    package var now: TimerInstant { KernelClock.now(.suspending) }

    package func start(
        onFire: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (TimerError) -> Void
    ) throws(TimerError) {
        // Foundation ends the process where it cannot open what a loop and its modes need: an event descriptor, and an
        // epoll and a timer for each mode. The first loop of a process makes the main thread's as well; two to spare,
        // because six were seen not to be enough once in a while.
        try EventLoopTrial.check(2, spare: 2)
        if let host = unsafe host {
            unsafe host.loop.add(timer, forMode: host.mode)
        } else {
            try startThread(onFailure)
        }
        // Last: what is linked to an alarm that did not start would stay for ever.
        link.connect(to: onFire)
    }

    /// Returns when the thread's loop has its descriptors, so that the next one's check sees them taken.
    private func startThread(_ onFailure: @escaping @Sendable (TimerError) -> Void) throws(TimerError) {
        let hasLoop = DispatchSemaphore(value: 0)
        // The thread holds the alarm until it has ended.
        try Thread.start("timer.runloop") {
            let loop = RunLoop.current
            unsafe loop.add(self.timer, forMode: .default)
            hasLoop.signal()
            // It goes on after inputs, which only handlers can have added, and ends when a stop has taken the timer away.
            while loop.run(mode: .default, before: .distantFuture) {}
            if !self.isStopped.load(ordering: .acquiring) {
                onFailure(TimerError(.backendFailed, "running a run loop"))
            }
        }
        hasLoop.wait()
    }

    package func set(_ deadline: TimerInstant?) {
        guard let deadline else {
            unsafe timer.fireDate = .distantFuture
            return
        }
        // Foundation reads both clocks somewhere between these readings. Where the wall clock was stepped back meanwhile
        // the timer would be late by the step, so it is set again.
        var isTrusted = false
        while !isTrusted {
            let (wall, now) = (KernelClock.now(.wall), now)
            unsafe timer.fireDate = Self.fireDate(wall, in: deadline.nanoseconds - min(now, deadline).nanoseconds)
            let passed = now.duration(to: self.now)
            isTrusted = wall.duration(to: KernelClock.now(.wall)) > passed - .milliseconds(1)
        }
    }

    package func stop() {
        isStopped.store(true, ordering: .releasing)
        link.cut()
        // Wakes the loop, which then finds the timer gone, or fires it before it is gone and takes it away itself: so it
        // returns from its run if nothing else is left to wait for.
        unsafe timer.fireDate = .distantPast
        unsafe timer.invalidate()
    }

    /// So many nanoseconds after the wall clock's reading, in microseconds rounded up and two more for what Foundation's
    /// own rounding takes away. Foundation is told no more than nine years: it fires early then, and is set again.
    package static func fireDate(_ wall: TimerInstant, in nanoseconds: UInt64) -> Date {
        let microseconds = wall.moved(by: min(nanoseconds, 1 << 58)).nanoseconds / 1000 + 3
        return Date(timeIntervalSince1970: Double(microseconds) / 1_000_000)
    }

    /// The longest interval that Foundation keeps, in seconds: 16 years.
    private static let years: TimeInterval = 504_911_232
}

/// What is called when a timer fires, until the link is cut.
private final class Link: Sendable {
    // In a struct: a bare closure in a generic box is wrapped once more each time it is read, in release builds.
    private struct Callback: Sendable {
        let onFire: @Sendable () -> Void
    }

    private let callback = Lock<Callback?>(nil)

    func connect(to onFire: @escaping @Sendable () -> Void) { callback.withLock { $0 = Callback(onFire: onFire) } }

    /// The closure is released here, outside the lock.
    func cut() { _ = callback.withLock { $0.take() } }

    func fire(for timer: Timer) {
        guard let callback = callback.withLock({ $0 }) else { return timer.invalidate() }
        callback.onFire()
    }
}
#endif
