internal import TimerAlarms
internal import TimerCore

/// A running backend: one alarm, with the deadlines and deliveries of any number of timers.
///
/// Ten thousand timers on a service cost one thread and one set of descriptors. There is a shared service for each
/// backend, started on first use:
///
/// ```swift
/// try PreciseTimer.schedule(.every(.milliseconds(5)), on: .timerFD, target: model) { model, tick in … }
/// ```
///
/// Your own service, `try TimerService(.timerFD)`, lives while you hold it or a timer on it is pending. Then its
/// thread ends. All members may be used from any thread, and from inside a handler.
public final class TimerService: Sendable {
    let core: ServiceCore

    /// A service with the given state, not started.
    ///
    /// - Parameters:
    ///   - state: the state.
    ///   - setup: what was asked for its thread; nothing for a service without a thread of its own.
    init(_ state: consuming sending ServiceState, setup: ThreadSetup = ThreadSetup()) {
        core = ServiceCore(state, setup: setup)
    }

    deinit { core.shutdown() }

    /// The time on the service's clock, as its alarm reads it. If no alarm is running, or in a forked child, as the
    /// kernel has it.
    public var now: TimerInstant { core.now }

    /// Ends all timers of the service, and its thread. Other timers that were due together with the running
    /// handler do not tick.
    ///
    /// May be called more than once, and from a handler. Does not wait for a handler that is running on another
    /// thread. Afterwards, scheduling on your own service throws a `TimerError`; the next schedule starts a shared
    /// service again. O(n) for n timers.
    public func shutdown() { core.shutdown() }

    /// The facts of each timer that has not ended, in no particular order. O(n) for n timers.
    public var activeTimers: [Snapshot] { core.snapshots }

    /// Ends the timers whose target was released. O(n) for n timers.
    package func endTimersOfDeadTargets() { core.endTimersOfDeadTargets(among: core.pendingCount) }

    /// How many timers have not ended.
    package var pendingCount: Int { core.pendingCount }

    /// When the alarm must fire next; nil if no deadline will come.
    package var nextLook: TimerInstant? { core.nextLook }
}
