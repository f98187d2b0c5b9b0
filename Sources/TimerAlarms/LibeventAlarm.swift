#if Libevent
internal import CLibevent
internal import CTimerKernel
internal import Synchronization
package import TimerKernel

/// An event base with a thread that runs it, for the timer of an ``EventBaseAlarm``.
///
/// The timer is our own timerfd, because libevent does not report it if the system refuses something to its
/// own timers. Other threads set only that, so the base needs no lock: one thread at a time uses it, the one that
/// starts the alarm, then the loop's, and in the end the one that releases it.
@safe package final class LibeventAlarm: TimerAlarm {
    // Constant from the initialiser to deinit, when neither the thread nor a caller holds the alarm any more.
    private nonisolated(unsafe) let base: OpaquePointer
    private let alarm: EventBaseAlarm
    private let setup: ThreadSetup
    /// Stored with release before `stop` makes the timer expire. The thread reads it after the loop has ended for that
    /// expiry, and the kernel's lock on the timer lies in between.
    private let isStopped = Atomic(false)
    /// Whether the loop failed. Stored by the thread, and read by it and in `deinit`, when no thread
    /// holds the alarm any more.
    private let hasFailed = Atomic(false)

    /// - Parameters:
    ///   - clock: the clock of the deadlines.
    ///   - setup: the thread's settings.
    /// - Throws: `TimerError` if the system refuses something that the event base needs.
    package init(_ clock: TimerClock, setup: ThreadSetup = ThreadSetup()) throws(TimerError) {
        self.setup = setup
        let base = try unsafe Self.makeBase()
        do throws(TimerError) { alarm = try unsafe EventBaseAlarm(base, clock, ownsLoop: true) } catch {
            unsafe event_base_free(base)
            throw error
        }
        unsafe self.base = base
    }

    /// A new base without a lock, which the caller must free. libevent's locks are the host's choice: once its debug
    /// mode has seen a base or an event, it ends a process that switches them on.
    private static func makeBase() throws(TimerError) -> OpaquePointer {
        guard let configuration = unsafe event_config_new() else {
            throw TimerError(.systemRefused, "configuring libevent")
        }
        defer { unsafe event_config_free(configuration) }
        unsafe event_config_set_flag(configuration, CInt(EVENT_BASE_FLAG_NOLOCK.rawValue))
        // libevent ends the process unless it gets an epoll, a pair of sockets or pipes and, in some versions, a timer.
        try EventLoopTrial.check(spare: 5)
        // Only epoll offers the precise timer, and libevent would fall back to another method silently.
        for method in ["poll", "select"] { unsafe event_config_avoid_method(configuration, method) }
        guard let base = unsafe event_base_new_with_config(configuration) else {
            throw TimerError(.systemRefused, "creating a libevent base (it needs descriptors)")
        }
        return unsafe base
    }

    deinit {
        // If the process closed our descriptors from outside, the numbers of the base's descriptors may belong to
        // other files by now, so they are not closed again.
        if hasFailed.load(ordering: .acquiring) || alarm.isLost { return }
        // A forked child shares the epoll descriptor. Freeing its base would remove the parent's events from it.
        if alarm.isInForkedChild { return }
        unsafe event_base_free(base)
    }

    package var now: TimerInstant { alarm.now }

    package func start(
        onFire: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (TimerError) -> Void
    ) throws(TimerError) {
        let setup = setup
        let fire = { @Sendable in
            onFire()
            setup.restIfBehind()
        }
        try alarm.start(onFire: fire, onFailure: onFailure)
        // The thread holds the alarm, and thus the base, until the thread ends.
        do throws(TimerError) { try setup.startThread("timer.libevent") { self.run(onFailure) } } catch {
            alarm.detach()
            throw error
        }
    }

    /// Runs the loop until the alarm is stopped. The loop returns each minute: if its descriptors were closed from
    /// outside it is not woken, and finds out when it waits for them again.
    private func run(_ onFailure: (TimerError) -> Void) {
        while !isStopped.load(ordering: .acquiring), !hasFailed.load(ordering: .acquiring) {
            var minute = timeval(tv_sec: 60, tv_usec: 0)
            let isEnding = unsafe event_base_loopexit(base, &minute) == 0
            let result = unsafe event_base_loop(base, 0)
            hasFailed.store(!isEnding || result < 0, ordering: .releasing)
        }
        if !isStopped.load(ordering: .acquiring) { onFailure(TimerError(.backendFailed, "running a libevent loop")) }
        alarm.detach()
    }

    package func set(_ deadline: TimerInstant?) throws(TimerError) { try alarm.set(deadline) }

    /// Makes the timer expire at once, which breaks the loop. If the timer is lost, the loop ends within a minute.
    package func stop() {
        isStopped.store(true, ordering: .releasing)
        alarm.stop()
    }
}
#endif
