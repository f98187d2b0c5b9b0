#if RunLoop
internal import Dispatch
package import Foundation
internal import Synchronization
package import TimerKernel

/// One `Timer` on a run loop, on a thread of its own or on a loop of the host.
///
/// Foundation keeps every timer forever, with everything that its block captures. So some hundred bytes stay for
/// each alarm. The closures that the alarm calls do not stay, because the block reaches them through a link that
/// ``stop()`` cuts. The timer repeats, with a period of years, because a timer that does not repeat could not be set
/// again. Its fire date may be set on any thread, which wakes the loop.
///
/// Foundation converts a fire date to a length of monotonic time at the moment of setting, in seconds of type
/// `Double`. After that, a step of the wall clock has no effect. Dates are rounded up by some microseconds, so that
/// the timer rarely fires early.
@safe package final class RunLoopAlarm: TimerAlarm {
    /// A run loop that the host runs.
    private struct Host {
        let loop: RunLoop
        let mode: RunLoop.Mode
    }

    /// The object that the timer's block holds forever.
    private let link: Link
    // Both are constant, and Foundation locks them, but Swift does not consider them sendable.
    private nonisolated(unsafe) let timer: Timer
    private nonisolated(unsafe) let host: Host?
    private let setup: ThreadSetup
    /// Stored with release before `stop` removes the timer, and read after the loop has found it gone. Foundation's
    /// lock on the timer lies in between.
    private let isStopped = Atomic(false)

    private init(host: Host?, setup: ThreadSetup) {
        self.setup = setup
        let link = Link(isOnOwnThread: host == nil)
        self.link = link
        let never = Date.distantFuture
        unsafe timer = Timer(fire: never, interval: Self.years, repeats: true) { link.fire(for: $0) }
        unsafe self.host = host
    }

    /// Creates an alarm with its own thread, which gets these settings.
    package convenience init(setup: ThreadSetup = ThreadSetup()) { self.init(host: nil, setup: setup) }

    /// Creates an alarm on a run loop, which the host must run in this mode until the alarm is stopped.
    package convenience init(attachedTo loop: RunLoop, mode: RunLoop.Mode) {
        self.init(host: Host(loop: loop, mode: mode), setup: ThreadSetup())
    }

    package var now: TimerInstant { TimerClock.suspending.now }

    package func start(
        onFire: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (TimerError) -> Void
    ) throws(TimerError) {
        try Self.checkResolution()
        // Foundation ends the process if it cannot open the descriptors for a loop and its modes: an event
        // descriptor for the loop, and an epoll and a timer for each mode. The first loop of a process also creates
        // the main thread's loop. Two descriptors are kept spare, because six were occasionally not enough.
        try EventLoopTrial.check(2, spare: 2)
        if let host = unsafe host {
            unsafe host.loop.add(timer, forMode: host.mode)
        } else {
            try startThread(onFailure)
        }
        // This comes last: closures linked to an alarm that did not start would stay forever.
        let setup = setup
        link.connect {
            onFire()
            setup.restIfBehind()
        }
    }

    /// Foundation on Linux takes the clock's resolution for the length of its unit of time. If that is a tick of the
    /// kernel, its clock is a million times too slow, and its timers stand still.
    private static func checkResolution() throws(TimerError) {
        guard let resolution = TimerClock.suspending.resolution, resolution > 1_000 else { return }
        let reason = "its timers stand still, because the kernel has no high-resolution timers"
        let advice = "boot it with highres=on, or use another backend, such as timerfd"
        let coarse = "the clock's resolution is \(Duration.nanoseconds(Int64(clamping: resolution)).text)"
        throw TimerError(.unavailable, "waiting with Foundation (\(reason): \(coarse); \(advice))")
    }

    /// Returns when the thread's loop has its descriptors, so that the next alarm's check counts them as taken.
    private func startThread(_ onFailure: @escaping @Sendable (TimerError) -> Void) throws(TimerError) {
        let hasLoop = DispatchSemaphore(value: 0)
        // The thread holds the alarm until the thread ends.
        try setup.startThread("timer.runloop") {
            let loop = RunLoop.current
            unsafe loop.add(self.timer, forMode: .default)
            hasLoop.signal()
            // The loop continues after inputs, which only handlers can have added. It ends when `stop()` has removed
            // the timer.
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
        // Foundation reads both clocks between these readings. If the wall clock is stepped back in between, the
        // timer would be late by that step, so it is set again.
        var isTrusted = false
        while !isTrusted {
            let (wall, now) = (TimerClock.wall.now, now)
            unsafe timer.fireDate = Self.fireDate(wall, in: deadline.nanoseconds - min(now, deadline).nanoseconds)
            let passed = now.duration(to: self.now)
            isTrusted = wall.duration(to: TimerClock.wall.now) > passed - .milliseconds(1)
        }
    }

    package func stop() {
        isStopped.store(true, ordering: .releasing)
        link.cut()
        // This wakes the loop. The loop finds the timer gone, or fires it once more and then removes it itself. So
        // its run returns if it has nothing else to wait for.
        //
        // A limitation: once, in a test of many stops, a loop slept on after this, and the alarm's own thread with
        // it. The cause is not known for certain. Probably the loop asks whether it has timers, and then sleeps,
        // and a request to wake up that comes in between is lost.
        unsafe timer.fireDate = .distantPast
        unsafe timer.invalidate()
    }

    /// The date this many nanoseconds after the wall clock's reading, rounded up to microseconds, plus two for
    /// Foundation's own rounding. At most nine years: a timer that is due later fires early and is set again.
    package static func fireDate(_ wall: TimerInstant, in nanoseconds: UInt64) -> Date {
        let microseconds = wall.moved(by: min(nanoseconds, 1 << 58)).nanoseconds / 1000 + 3
        return Date(timeIntervalSince1970: Double(microseconds) / 1_000_000)
    }

    /// The longest interval that Foundation accepts, in seconds: 16 years.
    private static let years: TimeInterval = 504_911_232
}

/// The closure to call when a timer fires, until the link is cut.
private final class Link: Sendable {
    // A struct, because in release builds each read of a bare closure in a generic box wraps it once more.
    private struct Callback: Sendable {
        let onFire: @Sendable () -> Void
    }

    private let callback = Lock<Callback?>(nil)
    private let isOnOwnThread: Bool
    private let home = Process.generation

    init(isOnOwnThread: Bool) { self.isOnOwnThread = isOnOwnThread }

    func connect(to onFire: @escaping @Sendable () -> Void) { callback.withLock { $0 = Callback(onFire: onFire) } }

    /// Releases the closure outside the lock.
    func cut() { _ = callback.withLock { $0.take() } }

    func fire(for timer: Timer) {
        guard let callback = callback.withLock({ $0 }) else { return timer.invalidate() }
        callback.onFire()
        // A handler may have forked. Foundation's loop would go on in the child, with the parent's descriptors.
        if isOnOwnThread { Thread.leaveForkedChild(of: home) }
    }
}
#endif
