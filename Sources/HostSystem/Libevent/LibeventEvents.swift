#if Libevent
internal import CLibevent
// The build order decides which module declares `timeval`, so all of them are imported.
internal import CTimerKernel
internal import Glibc
internal import Synchronization

/// libevent's own repetition, for comparisons: persistent events with a relative period, on their own base and
/// thread.
@safe
package final class LibeventEvents: Sendable {
    /// One event. Its times are nanoseconds on the monotonic clock.
    package struct Event: Sendable {
        let start: UInt64
        let period: UInt64
        let onFire: @Sendable (UInt64) -> Bool

        /// - Parameters:
        ///   - start: when the first period begins, as precisely as libevent allows. The event fires a period later.
        ///   - period: is rounded up to libevent's microseconds.
        ///   - onFire: called on the events' thread, with a reading of the clock. The reading is moved back by the
        ///     time from
        ///     `start` to the real beginning of the first period. Returns whether to go on.
        package init(start: UInt64, period: UInt64, onFire: @escaping @Sendable (UInt64) -> Bool) {
            self.start = start
            self.period = period
            self.onFire = onFire
        }
    }

    // Both are constant from the initialiser to deinit, and libevent locks the memory behind them. When deinit runs,
    // neither the thread nor a caller holds this object.
    private nonisolated(unsafe) let base: OpaquePointer
    private nonisolated(unsafe) let events: [OpaquePointer]
    /// `stop` stores it before it activates an event, and `begin` reads it after adding one. libevent's lock on the
    /// base orders these two: either `begin` sees this, or the event is active, and its call sees this.
    private let isStopped = Atomic(false)
    /// Relaxed: the events' thread stores it once, and it orders no other memory.
    private let hasFailed = Atomic(false)

    /// Starts events.
    ///
    /// - Parameters:
    ///   - events: at least one event.
    ///   - isPrecise: whether the base has `EVENT_BASE_FLAG_PRECISE_TIMER`. Its time is cached either way.
    /// - Throws: `SystemError` if the system refuses the base's resources, or the thread.
    package init(_ events: [Event], isPrecise: Bool) throws(SystemError) {
        let base = try unsafe Self.makeBase(isPrecise: isPrecise)
        var pointers: [OpaquePointer] = unsafe []
        for _ in events {
            guard let event = unsafe event_new(base, -1, 0, { _, _, _ in }, nil) else {
                while let event = unsafe pointers.popLast() { unsafe event_free(event) }
                unsafe event_base_free(base)
                throw SystemError("creating a libevent event", "libevent refused it")
            }
            unsafe pointers.append(event)
        }
        unsafe self.base = base
        unsafe self.events = pointers
        let firings = unsafe zip(self.events, events).map { unsafe Firing($0, $1, of: self) }
        for firing in firings { try firing.add() }
        // The thread holds everything until the loop has ended.
        try KernelThread.start("peer.libevent") {
            withExtendedLifetime(firings) { self.run() }
        }
    }

    deinit {
        var events = unsafe events
        while let event = unsafe events.popLast() { unsafe event_free(event) }
        unsafe event_base_free(base)
    }

    /// libevent's locks must be chosen before the first base exists.
    private static let usesThreads = evthread_use_pthreads() == 0

    private static func makeBase(isPrecise: Bool) throws(SystemError) -> OpaquePointer {
        let attempted = "creating a libevent base"
        // An epoll, a timer and an event descriptor, and a pair of sockets. Without the sockets libevent ends the
        // process.
        try Descriptors.check(6, for: attempted)
        guard usesThreads, let configuration = unsafe event_config_new() else {
            throw SystemError(attempted, "libevent refused it")
        }
        defer { unsafe event_config_free(configuration) }
        // Only epoll has the precise timer.
        for method in ["poll", "select"] { unsafe event_config_avoid_method(configuration, method) }
        if isPrecise { unsafe event_config_set_flag(configuration, CInt(EVENT_BASE_FLAG_PRECISE_TIMER.rawValue)) }
        guard let base = unsafe event_base_new_with_config(configuration) else {
            throw SystemError(attempted, "libevent refused it")
        }
        return unsafe base
    }

    private func run() {
        if unsafe event_base_dispatch(base) < 0 { hasFailed.store(true, ordering: .relaxed) }
    }

    /// Why events no longer fire; nil if no failure is known.
    package var failure: SystemError? {
        hasFailed.load(ordering: .relaxed) ? SystemError("running a libevent loop", "it failed") : nil
    }

    /// Ends the thread. No call begins after this has returned, though one call may still run.
    package func stop() {
        isStopped.store(true, ordering: .releasing)
        // This event's call then breaks the loop, even a loop that has not begun. It has no effect on an ended loop.
        if let event = unsafe events.first { unsafe event_active(event, CInt(EV_TIMEOUT), 0) }
    }

    /// The target of libevent's calls for one event. Only `add()` runs on another thread than the events'.
    @safe
    private final class Firing: Sendable {
        private nonisolated(unsafe) let event: OpaquePointer
        private let wanted: Event
        private let owner: LibeventEvents
        /// Whether the first period has begun, and how many nanoseconds after its start. Relaxed: only the events'
        /// thread uses these two.
        private let hasBegun = Atomic(false)
        private let delay = Atomic<UInt64>(0)

        init(_ event: OpaquePointer, _ wanted: Event, of owner: LibeventEvents) {
            unsafe self.event = event
            self.wanted = wanted
            self.owner = owner
        }

        /// Adds the event for its start, as a delay: libevent has no instants.
        func add() throws(SystemError) {
            let argument = unsafe Unmanaged.passUnretained(self).toOpaque()
            let callback: event_callback_fn = { unsafe Firing.run($2) }
            let now = SystemClock.monotonic.nanoseconds
            var delay = Self.length(max(wanted.start, now) - now)
            guard
                unsafe event_assign(event, owner.base, -1, CShort(EV_PERSIST), callback, argument) == 0,
                unsafe event_add(event, &delay) == 0
            else { throw SystemError("adding a libevent event", "libevent refused it") }
        }

        /// Makes the event repeat from now on, as for a user who adds it at this moment.
        private func begin() {
            var period = Self.length(wanted.period)
            let now = SystemClock.monotonic.nanoseconds
            delay.store(now &- wanted.start, ordering: .relaxed)
            // In a callback, libevent would count from its last wake-up.
            unsafe event_base_update_cache_time(owner.base)
            unsafe event_add(event, &period)
            // Adding the event takes back a `stop()` that came since the last check.
            if owner.isStopped.load(ordering: .acquiring) { unsafe event_base_loopbreak(owner.base) }
        }

        private static func run(_ argument: UnsafeMutableRawPointer?) {
            let now = SystemClock.monotonic.nanoseconds
            guard let argument = unsafe argument else { return }
            unsafe Unmanaged<Firing>.fromOpaque(argument).takeUnretainedValue().fire(at: now)
        }

        private func fire(at now: UInt64) {
            if owner.isStopped.load(ordering: .acquiring) {
                unsafe event_base_loopbreak(owner.base)
                return
            }
            guard hasBegun.exchange(true, ordering: .relaxed) else { return begin() }
            // The loop ends when its last event is gone.
            if !wanted.onFire(now &- delay.load(ordering: .relaxed)) { unsafe event_del(event) }
        }

        /// Microseconds, rounded up: libevent fires early enough.
        private static func length(_ nanoseconds: UInt64) -> timeval {
            let microseconds = nanoseconds / 1000 + (nanoseconds % 1000 == 0 ? 0 : 1)
            // libevent cannot add a longer time to its clock.
            let capped = min(microseconds, UInt64(Int32.max) * 1_000_000)
            return timeval(tv_sec: Int(capped / 1_000_000), tv_usec: Int(capped % 1_000_000))
        }
    }
}
#endif
