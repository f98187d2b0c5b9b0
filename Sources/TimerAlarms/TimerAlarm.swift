public import TimerKernel

/// A mechanism that can be set for one instant. This protocol is everything that a backend must provide.
///
/// The contract, which `AlarmConformance` of PreciseTimerTestKit checks:
///
/// 1. An alarm holds one deadline: ``set(_:)`` replaces it, nil disarms. A firing uses the deadline up.
/// 2. A deadline at or before now fires promptly, and no deadline is ever lost.
/// 3. The alarm never fires inside ``set(_:)``, which is called with a lock held.
/// 4. The alarm may fire early or needlessly, but two firings never overlap.
/// 5. After ``stop()`` has returned, no new firing begins, but for one that was on its way at that moment. `stop` may
///    be called more than once, and from inside a firing.
/// 6. If ``set(_:every:)`` returns true, the alarm repeats by itself: it fires promptly at each instant of the
///    repetition until it is set again or stopped, and a firing does not use the repetition up.
public protocol TimerAlarm: AnyObject, Sendable {
    /// The time on the alarm's clock, to which its deadlines belong. It may be read on any thread, even with a lock
    /// held, so it must not call back.
    ///
    /// The time never goes back. If its source does, such as a recording that begins again, the alarm adds the time by
    /// which it went back, and goes on. If the time itself must go back, restart each timer right afterwards, with
    /// `restart()`, or with `reschedule(_:)` if its deadlines are instants or computed, and cancel all sleeps and
    /// time-outs. Otherwise a timer is silent until the time has come to its next deadline again.
    var now: TimerInstant { get }

    /// How many nanoseconds before a deadline the alarm may fire on purpose: 0, unless it implements this. It may be
    /// read with a lock held, and may change from one firing to the next. ``now`` must advance by itself, unless it is
    /// 0.
    ///
    /// The service uses this time to take its lock and to decide on the tick. Then it reads ``now`` until the deadline
    /// has come, just before it calls the handler. So the handler is called as if the decision took no time. The
    /// service does not see an earlier deadline or a cancellation in this time, so keep it to a few microseconds.
    var lead: UInt64 { get }

    /// The time, not before an instant that is at most ``lead`` away. The service calls it when it has decided on a
    /// tick, without its lock. The default implementation reads ``now`` until the instant has come. An alarm
    /// implements it to learn how long decisions take.
    func now(notBefore instant: TimerInstant) -> TimerInstant

    /// Starts the alarm. Called once, with a lock held, before anything is set. Neither closure may be called from
    /// inside this method.
    ///
    /// - Parameters:
    ///   - onFire: the closure to call, on a thread of the alarm's choice, when the deadline has passed.
    ///   - onFailure: the closure to call, at most once, if the mechanism fails permanently. The alarm must not call
    ///     it from inside ``set(_:)``, and does not fire after it.
    /// - Throws: `TimerError` if the system refuses a thread, a descriptor or memory.
    func start(
        onFire: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (TimerError) -> Void
    ) throws(TimerError)

    /// Sets the one deadline, or disarms with nil. May be called on any thread, but never by two threads at once.
    /// After ``stop()`` it has no effect.
    ///
    /// - Throws: `TimerError` if the mechanism refuses; the alarm then counts as failed.
    func set(_ deadline: TimerInstant?) throws(TimerError)

    /// Sets the alarm to a deadline and to every period after it, if the alarm can repeat by itself. The default
    /// implementation cannot: it sets only the first deadline.
    ///
    /// While the alarm repeats, it fires promptly for each instant `first + k × period`. No instant is lost:
    /// instants that have passed together may share one firing, which comes after the last of them. Early and
    /// needless firings are still allowed and change nothing. Any later setting replaces the whole repetition,
    /// even a setting made from inside a firing, and ``stop()`` ends it. The rules for calling ``set(_:)`` apply
    /// here, too.
    ///
    /// An alarm may decide differently for each call, for example if it can repeat only with short periods.
    ///
    /// - Parameters:
    ///   - first: the first deadline.
    ///   - period: nanoseconds from each deadline to the next, more than 0.
    /// - Returns: whether the alarm repeats by itself. If not, it is set to the first deadline, as by ``set(_:)``.
    /// - Throws: `TimerError` if the mechanism refuses; the alarm then counts as failed.
    func set(_ first: TimerInstant, every period: UInt64) throws(TimerError) -> Bool

    /// Stops the alarm permanently and releases everything. Does not wait for a firing that has begun.
    func stop()
}

extension TimerAlarm {
    /// 0: the alarm does not fire early on purpose.
    public var lead: UInt64 { 0 }

    /// Reads the time until the instant has come. If the clock is set back during the wait, returns the time as it is.
    public func now(notBefore instant: TimerInstant) -> TimerInstant { waitAwake(from: now, until: instant) }

    /// The time, which is read from one instant until another that is at most ``lead`` away.
    package func waitAwake(from now: TimerInstant, until instant: TimerInstant) -> TimerInstant {
        var now = now
        guard now.nanoseconds < instant.nanoseconds else { return now }
        let lead = lead
        while now.nanoseconds < instant.nanoseconds, instant.nanoseconds - now.nanoseconds <= lead { now = self.now }
        return now
    }

    /// Sets only the first deadline, and returns false.
    public func set(_ first: TimerInstant, every period: UInt64) throws(TimerError) -> Bool {
        try set(first)
        return false
    }
}

/// An alarm that is not re-armed by setting it to its deadline.
package protocol RenewedAlarm: TimerAlarm {
    /// Does what the last setting did, in the kernel, too. The rules for calling ``set(_:)`` apply here, too.
    func renew()

    /// Whether the alarm fires when it is re-armed although its mechanism has failed, and does not report the failure.
    var mayLimp: Bool { get }
}

extension TimerAlarm {
    /// Re-arms an alarm that should have fired for this deadline, which has passed: on the calling thread, and so on
    /// its processor.
    package func setAnew(_ deadline: TimerInstant) throws(TimerError) {
        if let alarm = self as? any RenewedAlarm { alarm.renew() } else { try set(deadline) }
    }
}

/// An alarm whose clock is not the kernel's, so that the steps and suspensions of the machine are not its own.
package protocol SteppingAlarm: TimerAlarm {
    /// The sum of all steps of its clock up to now, suspensions in which the clock went on included, in nanoseconds.
    var steps: Int64 { get }

    /// Calls `onCheck` for each step of the alarm's wall clock and for each suspension, until the returned function is
    /// called. Calls `onEnd` when the alarm is stopped, or at once if it was.
    func watchClock(
        _ onCheck: @escaping @Sendable (ClockChanges) -> Void,
        onEnd: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void
}

extension SteppingAlarm {
    /// 0: the alarm's clock has no steps that statistics must leave out.
    package var steps: Int64 { 0 }
}
