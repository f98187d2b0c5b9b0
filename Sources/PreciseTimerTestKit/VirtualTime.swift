public import PreciseTimer

/// Time that stands still until a test moves it, with a service that lives on it.
///
/// The service is an ordinary one: the same scheduler, the same delivery, on an alarm that fires when the test says so.
/// All of it is synchronous: when ``advance(by:)`` returns, every inline tick that was due has been delivered, in order,
/// on the calling thread. (Ticks for queues and actors are on their way then, as ever.)
///
/// ```swift
/// let virtual = VirtualTime()
/// try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: model) { model, tick in model.step() }
/// virtual.advance(by: .seconds(3600))      // 3,600 ticks, at once
/// #expect(virtual.pendingCount == 1)
/// ```
///
/// Time is to be moved by one thread at a time: anything else is a programming error. A handler may move it, too, and then
/// it just passes: the handler takes that long. What comes due by it after the end of the `advance` that called the
/// handler is delivered by the next one.
///
/// A timer whose target is gone ends with its next deadline. If that is far, or the timer is paused, it ends when time has
/// been moved by a second since such timers were last looked for.
public final class VirtualTime: Sendable {
    /// What can go wrong with a real alarm and a real clock.
    public enum Fault: Hashable, Sendable {
        /// The next firing comes so much after its deadline.
        case wakeLate(by: Duration)
        /// The next firing comes so much before its deadline.
        case wakeEarly(by: Duration)
        /// The machine stands still for so long: nothing fires, and what has come due is late.
        case stall(Duration)
        /// Somebody sets the clock, forward or back; for a wall clock only.
        case stepClock(by: Duration)
    }

    /// The service on this time.
    public let service: TimerService
    private let alarm: VirtualAlarm

    /// Virtual time that stands at one second after its clock's origin; on the wall clock, at the beginning of 2026.
    public init(clock: TimerClock = .suspending) {
        let alarm = VirtualAlarm(clock: clock)
        self.alarm = alarm
        do throws(TimerError) {
            service = try TimerService(unattended: alarm)
        } catch {
            preconditionFailure("a virtual alarm needs nothing that could be refused: \(error)")
        }
    }

    /// The time that it is.
    public var now: TimerInstant { alarm.now }

    /// How many timers of the service have not ended.
    public var pendingCount: Int { service.pendingCount }

    /// When the service is going to look for something due; nil where no deadline will come.
    public var nextDeadline: TimerInstant? { service.nextLook }

    /// Moves time forward, stopping at every deadline on the way, so that each tick is delivered exactly when it is due.
    ///
    /// What becomes due at the instant of arrival is delivered, too; `advance(by: .zero)` delivers what is due now. A
    /// handler that always schedules something for now keeps this from returning, as it would keep a real service busy.
    ///
    /// - Parameter duration: how far; not negative.
    public func advance(by duration: Duration) {
        precondition(duration >= .zero, "time does not move back")
        alarm.advance(by: duration)
        endTimersOfDeadTargets()
    }

    /// Moves time forward in one step, as a stalled machine does: the deadlines on the way are looked at only on arrival,
    /// late.
    ///
    /// - Parameter duration: how far; not negative.
    public func jump(by duration: Duration) {
        precondition(duration >= .zero, "time does not move back")
        alarm.jump(by: duration)
        endTimersOfDeadTargets()
    }

    /// On arrival, if a second has passed since the last time: what a thread of the library does on a real clock.
    private func endTimersOfDeadTargets() {
        if alarm.isTimeForCare() { service.endTimersOfDeadTargets() }
    }

    /// Writes a fault into the script of what is to come: it happens when time has been moved so far.
    ///
    /// ```swift
    /// virtual.inject(.wakeLate(by: .milliseconds(3)))                 // the next firing
    /// virtual.inject(.stall(.seconds(2)), after: .seconds(60))        // a minute from now
    /// virtual.advance(by: .seconds(120))
    /// ```
    ///
    /// A stall that begins before the end of an `advance` and is longer makes that end later.
    ///
    /// - Parameters:
    ///   - fault: what goes wrong; its lengths are not negative, but for a step of the clock.
    ///   - delay: when, from now; not negative.
    public func inject(_ fault: Fault, after delay: Duration = .zero) {
        precondition(delay >= .zero, "time does not move back")
        switch fault {
        case .wakeLate(let length), .wakeEarly(let length), .stall(let length):
            precondition(length >= .zero, "the length of a fault is not negative")
        case .stepClock:
            precondition(now.clock == .wall, "only a wall clock can be set")
        }
        alarm.inject(fault, after: delay)
    }
}
