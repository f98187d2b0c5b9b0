public import PreciseTimer

/// Time that stands still until a test moves it, with a service that lives on it.
///
/// The service is an ordinary one: the same scheduler, the same delivery, on an alarm that fires when the test says so.
/// All of it is synchronous: when ``advance(by:)`` returns, every tick that was due has been delivered, in order, on the
/// calling thread.
///
/// ```swift
/// let virtual = VirtualTime()
/// try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: model) { model, tick in model.step() }
/// virtual.advance(by: .seconds(3600))      // 3,600 ticks, at once
/// ```
///
/// Time is to be moved by one thread at a time, and not from inside a handler: that is a programming error.
public final class VirtualTime: Sendable {
    /// The service on this time.
    public let service: TimerService
    private let alarm: VirtualAlarm

    /// Virtual time that stands at one second after its clock's origin.
    public init() {
        let alarm = VirtualAlarm()
        self.alarm = alarm
        do throws(TimerError) {
            service = try TimerService(alarm: alarm)
        } catch {
            preconditionFailure("a virtual alarm needs nothing that could be refused: \(error)")
        }
    }

    /// The time that it is.
    public var now: TimerInstant { alarm.now }

    /// How many timers of the service are pending.
    public var pendingCount: Int { service.pendingCount }

    /// Moves time forward, stopping at every deadline on the way, so that each tick is delivered exactly when it is due.
    ///
    /// What becomes due at the instant of arrival is delivered, too; `advance(by: .zero)` delivers what is due now. A
    /// handler that always schedules something for now keeps this from returning, as it would keep a real service busy.
    ///
    /// - Parameter duration: how far; not negative.
    public func advance(by duration: Duration) {
        precondition(duration >= .zero, "time does not move back")
        alarm.advance(by: duration)
    }

    /// Moves time forward in one step, as a stalled machine does: the deadlines on the way are looked at only on arrival,
    /// late.
    ///
    /// - Parameter duration: how far; not negative.
    public func jump(by duration: Duration) {
        precondition(duration >= .zero, "time does not move back")
        alarm.jump(by: duration)
    }
}
