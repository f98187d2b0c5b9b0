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
/// 6. If ``set(_:every:)`` returns true, the alarm goes on by itself: it fires promptly at each instant of the
///    repetition until it is set again or stopped, and a firing does not use the repetition up.
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

    /// Sets the alarm to a deadline and to every period after it, if the alarm can go on by itself. The default cannot:
    /// it sets the first deadline only.
    ///
    /// While the alarm goes on, it fires promptly for each instant `first + k × period`. No instant is lost: instants
    /// that have passed together may share one firing, which comes after the last of them. An early firing, or a firing
    /// for nothing, is allowed as ever and changes nothing. Any later setting replaces the repetition entirely, also one
    /// made from inside a firing, and ``stop()`` ends it. Called as ``set(_:)`` is.
    ///
    /// An alarm may decide differently for each call, for example if it can go on for short periods only.
    ///
    /// - Parameters:
    ///   - first: the first deadline.
    ///   - period: nanoseconds from each deadline to the next, more than 0.
    /// - Returns: whether the alarm goes on by itself. If not, it is set to the first deadline, as by ``set(_:)``.
    /// - Throws: `TimerError` where the mechanism refuses, after which it counts as failed.
    func set(_ first: TimerInstant, every period: UInt64) throws(TimerError) -> Bool

    /// Ends for good and lets go of everything. Does not wait for a firing that has begun.
    func stop()
}

extension TimerAlarm {
    /// Sets the first deadline only, and returns false.
    public func set(_ first: TimerInstant, every period: UInt64) throws(TimerError) -> Bool {
        try set(first)
        return false
    }
}
