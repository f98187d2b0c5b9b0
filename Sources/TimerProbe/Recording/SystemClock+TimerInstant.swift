package import HostSystem
package import PreciseTimer

/// The probe's own readings and sleeps. The library that it measures has no part in them.
extension SystemClock {
    init(_ clock: TimerClock) {
        switch clock {
        case .suspending: self = .monotonic
        case .continuous: self = .boottime
        case .wall: self = .realtime
        }
    }

    /// The time on a clock.
    package static func now(_ clock: TimerClock) -> TimerInstant {
        TimerInstant(nanoseconds: SystemClock(clock).nanoseconds, clock: clock)
    }

    /// Sleeps until an instant. Signals do not end the sleep.
    static func sleep(until instant: TimerInstant) {
        SystemClock(instant.clock).sleep(until: instant.nanoseconds)
    }
}
