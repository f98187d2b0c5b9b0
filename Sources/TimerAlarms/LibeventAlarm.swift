#if Libevent
internal import CLibevent
internal import Glibc
internal import Synchronization
package import TimerCore

/// One libevent timer event on an event base and a thread of its own.
///
/// The base has a precise timer and no cached time: libevent's coarse clock fires up to 4 ms early, and its cached time
/// moves timers by as long as a callback has run. The event is set again for each deadline, because libevent's own
/// repetition loses the grid after a miss.
@safe
package final class LibeventAlarm: TimerAlarm {
    // Both pointers are constant from the initialiser to deinit, and libevent locks what they point to; deinit runs
    // when neither the thread nor a caller holds the alarm any more.
    private nonisolated(unsafe) let base: OpaquePointer
    private nonisolated(unsafe) let event: OpaquePointer

    private let isStopped = Atomic(false)

    /// - Throws: `TimerError` where the system refuses what the event base needs.
    package init() throws(TimerError) {
        let base = try unsafe LibeventBase.make()
        guard let event = unsafe event_new(base, -1, 0, { _, _, _ in }, nil) else {
            unsafe event_base_free(base)
            throw TimerError(.systemRefused, "creating a libevent timer")
        }
        unsafe self.base = base
        unsafe self.event = event
    }

    deinit {
        unsafe event_free(event)
        unsafe event_base_free(base)
    }

    package var now: TimerInstant { KernelClock.now(.suspending) }

    package func start(
        onFire: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (TimerError) -> Void
    ) throws(TimerError) {
        let firing = Firing(alarm: self, onFire: onFire)
        let argument = unsafe Unmanaged.passUnretained(firing).toOpaque()
        unsafe event_assign(event, base, -1, 0, { _, _, argument in unsafe Firing.run(argument) }, argument)
        // The thread holds the alarm, and so the base, until it has ended.
        try Thread.start("timer.libevent") {
            withExtendedLifetime(firing) { self.run(onFailure) }
        }
    }

    private func run(_ onFailure: (TimerError) -> Void) {
        _ = unsafe event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY)
        if !isStopped.load(ordering: .acquiring) {
            onFailure(TimerError(.backendFailed, "running a libevent loop"))
        }
    }

    /// What libevent calls, held by the thread as long as the loop runs.
    private final class Firing: Sendable {
        let alarm: LibeventAlarm
        let onFire: @Sendable () -> Void

        init(alarm: LibeventAlarm, onFire: @escaping @Sendable () -> Void) {
            self.alarm = alarm
            self.onFire = onFire
        }

        static func run(_ argument: UnsafeMutableRawPointer?) {
            guard let argument = unsafe argument else { return }
            let firing = unsafe Unmanaged<Firing>.fromOpaque(argument).takeUnretainedValue()
            if firing.alarm.isStopped.load(ordering: .acquiring) {
                unsafe event_base_loopbreak(firing.alarm.base)
            } else {
                firing.onFire()
            }
        }
    }

    package func set(_ deadline: TimerInstant?) throws(TimerError) {
        let result: CInt
        if let deadline {
            var delay = Self.delay(until: deadline, from: now)
            result = unsafe event_add(event, &delay)
        } else {
            // The blocking form would wait for a callback, which may be waiting for our caller's lock.
            result = unsafe event_del_noblock(event)
        }
        if result != 0 { throw TimerError(.systemRefused, "setting a libevent timer") }
        // A setting that crossed a stop, or came after it, may have taken its activation back.
        if isStopped.load(ordering: .acquiring) { activate() }
    }

    package func stop() {
        isStopped.store(true, ordering: .releasing)
        activate()
    }

    /// Makes the callback run, which then ends the loop, also one that has not begun. Without effect once it has ended.
    private func activate() { unsafe event_active(event, CInt(EV_READ), 0) }

    /// libevent adds a delay to its own reading of the clock, in whole microseconds cut off. Counted from this reading
    /// cut off to the deadline rounded up, the sum is never early, and late by less than 1 µs and the time in between.
    private static func delay(until deadline: TimerInstant, from now: TimerInstant) -> timeval {
        if deadline <= now { return timeval() }
        let end = deadline.nanoseconds / 1000 + (deadline.nanoseconds % 1000 == 0 ? 0 : 1)
        // Longer than libevent can add to its clock: it fires early, in 68 years, and is set again.
        let microseconds = min(end - now.nanoseconds / 1000, UInt64(Int32.max) * 1_000_000)
        return timeval(tv_sec: Int(microseconds / 1_000_000), tv_usec: Int(microseconds % 1_000_000))
    }
}
#endif
