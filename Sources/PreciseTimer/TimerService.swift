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
/// A service of one's own, `try TimerService(.timerFD)`, lives while somebody holds it or a timer on it is pending; then
/// its thread ends. All members may be used from any thread, and from inside a handler.
public final class TimerService: Sendable {
    let core: ServiceCore

    /// A service around a state, not started.
    init(_ state: consuming sending ServiceState) { core = ServiceCore(state) }

    deinit { core.shutdown() }

    /// The time on the service's clock, that of its alarm. Where no alarm is running, and in a forked child, that of the
    /// kernel.
    public var now: TimerInstant { core.now }

    /// Ends all timers of the service, and its thread. What was due together with the running handler does not run.
    ///
    /// May be called more than once, and from a handler; does not wait for a handler that is running on another thread.
    /// Scheduling on a service of one's own is a `TimerError` afterwards; a shared service is started again by the next
    /// schedule. O(n) for n timers.
    public func shutdown() { core.shutdown() }

    /// What there is to know of each timer that has not ended, in no particular order. O(n) for n timers.
    public var activeTimers: [Snapshot] { core.snapshots }

    /// Ends the timers whose target is gone. O(n) for n timers.
    package func endTimersOfDeadTargets() { core.endTimersOfDeadTargets(among: core.pendingCount) }

    /// How many timers have not ended.
    package var pendingCount: Int { core.pendingCount }

    /// When the alarm is to fire next; nil where no deadline will come.
    package var nextLook: TimerInstant? { core.nextLook }
}
