#if Libevent
internal import CLibevent
// Which module has `timeval` depends on which one the compiler builds first.
internal import CLinuxTimers
internal import Glibc
internal import Synchronization
package import TimerCore

/// libevent's own repetition, which the backend does without: persistent events with a relative period, on a base and a
/// thread of their own. For comparisons.
@safe
package final class LibeventPersistentEvents: Sendable {
    /// What is asked of one event.
    package struct Event: Sendable {
        /// When its period begins, as closely as libevent can be had to: it fires a period later, and so on.
        let start: TimerInstant
        /// Nanoseconds, which are rounded up to libevent's microseconds.
        let period: UInt64
        /// Called on the events' thread, with a reading of the clock and by how many nanoseconds its period began after its
        /// start; returns whether to go on.
        let onFire: @Sendable (TimerInstant, Int64) -> Bool

        package init(
            start: TimerInstant,
            period: UInt64,
            onFire: @escaping @Sendable (TimerInstant, Int64) -> Bool
        ) {
            self.start = start
            self.period = period
            self.onFire = onFire
        }
    }

    // Both are constant from the initialiser to deinit, and libevent locks what they point to; deinit runs when neither the
    // thread nor a caller holds this object any more.
    private nonisolated(unsafe) let base: OpaquePointer
    private nonisolated(unsafe) let events: [OpaquePointer]
    private let isStopped = Atomic(false)
    private let hasFailed = Atomic(false)

    /// Starts events.
    ///
    /// - Parameters:
    ///   - events: at least one.
    ///   - isPrecise: whether the base has `EVENT_BASE_FLAG_PRECISE_TIMER`; its time is cached either way.
    /// - Throws: `TimerError` where the system refuses what the base needs, or the thread.
    package init(_ events: [Event], isPrecise: Bool) throws(TimerError) {
        let base = try unsafe LibeventBase.make(isPrecise ? [EVENT_BASE_FLAG_PRECISE_TIMER] : [])
        var pointers: [OpaquePointer] = unsafe []
        for _ in events {
            guard let event = unsafe event_new(base, -1, 0, { _, _, _ in }, nil) else {
                while let event = unsafe pointers.popLast() { unsafe event_free(event) }
                unsafe event_base_free(base)
                throw TimerError(.systemRefused, "creating a libevent event")
            }
            unsafe pointers.append(event)
        }
        unsafe self.base = base
        unsafe self.events = pointers
        try start(events)
    }

    deinit {
        var events = unsafe events
        while let event = unsafe events.popLast() { unsafe event_free(event) }
        unsafe event_base_free(base)
    }

    private func start(_ wanted: [Event]) throws(TimerError) {
        let firings = unsafe zip(events, wanted).map { unsafe Firing($0, $1, of: self) }
        for firing in firings { try firing.add() }
        // The thread holds all of it until the loop has ended.
        try Thread.start("peer.libevent") {
            withExtendedLifetime(firings) { self.run() }
        }
    }

    private func run() {
        if unsafe event_base_dispatch(base) < 0 { hasFailed.store(true, ordering: .relaxed) }
    }

    /// Why nothing fires any more; nil where nothing is known to have failed.
    package var failure: TimerError? {
        hasFailed.load(ordering: .relaxed) ? TimerError(.backendFailed, "running a libevent loop") : nil
    }

    /// Ends the thread. Nothing is called any more after it has returned, though one call may still run.
    package func stop() {
        isStopped.store(true, ordering: .releasing)
        // Its call then breaks the loop, also one that has not begun. Without effect once it has ended.
        if let event = unsafe events.first { unsafe event_active(event, CInt(EV_TIMEOUT), 0) }
    }

    /// What libevent calls for one event; used on the events' thread, but for `add()`.
    @safe
    private final class Firing: Sendable {
        private nonisolated(unsafe) let event: OpaquePointer
        private let wanted: Event
        private let owner: LibeventPersistentEvents
        /// Whether its period has begun, and how many nanoseconds after its start.
        private let hasBegun = Atomic(false)
        private let delay = Atomic<Int64>(0)

        init(_ event: OpaquePointer, _ wanted: Event, of owner: LibeventPersistentEvents) {
            unsafe self.event = event
            self.wanted = wanted
            self.owner = owner
        }

        /// Adds the event for its start: a delay, as libevent knows no instants.
        func add() throws(TimerError) {
            let argument = unsafe Unmanaged.passUnretained(self).toOpaque()
            let callback: event_callback_fn = { unsafe Firing.run($2) }
            let now = KernelClock.now(.suspending)
            var delay = Self.length(max(wanted.start, now).nanoseconds - now.nanoseconds)
            guard
                unsafe event_assign(event, owner.base, -1, CShort(EV_PERSIST), callback, argument) == 0,
                unsafe event_add(event, &delay) == 0
            else { throw TimerError(.systemRefused, "adding a libevent event") }
        }

        /// Has the event repeat from now on, as it would for one who adds it at this moment.
        private func begin() {
            var period = Self.length(wanted.period)
            let now = KernelClock.now(.suspending)
            delay.store(Int64(bitPattern: now.nanoseconds &- wanted.start.nanoseconds), ordering: .relaxed)
            // In a callback libevent would count from when it last woke.
            unsafe event_base_update_cache_time(owner.base)
            unsafe event_add(event, &period)
            // Which takes back a `stop()` that has come since the last look.
            if owner.isStopped.load(ordering: .acquiring) { unsafe event_base_loopbreak(owner.base) }
        }

        private static func run(_ argument: UnsafeMutableRawPointer?) {
            let now = KernelClock.now(.suspending)
            guard let argument = unsafe argument else { return }
            unsafe Unmanaged<Firing>.fromOpaque(argument).takeUnretainedValue().fire(at: now)
        }

        private func fire(at now: TimerInstant) {
            if owner.isStopped.load(ordering: .acquiring) {
                unsafe event_base_loopbreak(owner.base)
                return
            }
            guard hasBegun.exchange(true, ordering: .relaxed) else { return begin() }
            // When the last event is gone the loop ends.
            if !wanted.onFire(now, delay.load(ordering: .relaxed)) { unsafe event_del(event) }
        }

        /// Microseconds, rounded up: libevent is early enough as it is.
        private static func length(_ nanoseconds: UInt64) -> timeval {
            let microseconds = nanoseconds / 1000 + (nanoseconds % 1000 == 0 ? 0 : 1)
            // Longer than libevent can add to its clock.
            let capped = min(microseconds, UInt64(Int32.max) * 1_000_000)
            return timeval(tv_sec: Int(capped / 1_000_000), tv_usec: Int(capped % 1_000_000))
        }
    }
}
#endif
