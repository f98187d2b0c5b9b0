public import TimerCore

/// A mechanism that can be set for one instant: all that a backend is.
///
/// The contract, which `AlarmConformance` of PreciseTimerTestKit checks:
///
/// 1. An alarm holds one deadline: ``set(_:)`` replaces it, nil disarms. A firing uses it up.
/// 2. A deadline at or before now fires promptly, and none is ever lost.
/// 3. It never fires inside ``set(_:)``, which is called with a lock held.
/// 4. It may fire early or for nothing, but never twice at once.
/// 5. After ``stop()`` has returned no new firing begins; `stop` may be called from inside a firing, and more than
///    once.
public protocol TimerAlarm: AnyObject, Sendable {
    /// The time on the alarm's clock, the one that its deadlines are instants of. Called on any thread, also with a lock
    /// held, so it must not call back.
    var now: TimerInstant { get }

    /// Begins. Called once, before anything is set, with a lock held: neither closure may be called from inside.
    ///
    /// - Parameters:
    ///   - onFire: to be called, on a thread of the alarm's choice, when the deadline has come.
    ///   - onFailure: to be called at most once, not from inside ``set(_:)`` either, if the mechanism fails for
    ///     good. There is no firing after it.
    /// - Throws: `TimerError` where the system refuses a thread, a descriptor or memory.
    func start(
        onFire: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (TimerError) -> Void
    ) throws(TimerError)

    /// Sets the one deadline, or disarms with nil. Called on any thread, never by two at once; after ``stop()`` it
    /// does nothing.
    ///
    /// - Throws: `TimerError` where the mechanism refuses, after which it counts as failed.
    func set(_ deadline: TimerInstant?) throws(TimerError)

    /// Ends for good and lets go of everything. Does not wait for a firing that has begun.
    func stop()
}
