public import Foundation
public import PreciseTimer

/// Dates are instants of the wall clock.
extension TimerInstant {
    /// The instant of a date on the wall clock, rounded up to the nanosecond.
    ///
    /// ```swift
    /// try PreciseTimer.schedule(.once(at: TimerInstant(date)), on: .wall, target: bell) { bell, _ in bell.ring() }
    /// ```
    ///
    /// A `Date` of our time resolves about 0.1 µs. A date before 1970 becomes the clock's origin; one after 21 July
    /// 2554, 23:34 UTC, and one that is not a number, becomes never.
    public init(_ date: Date) {
        self.init(secondsSince2001: date.timeIntervalSinceReferenceDate)
    }
}

extension Date {
    /// The date of an instant of the wall clock, to about 0.1 µs. Never becomes `Date.distantFuture`. Nil for an
    /// instant of another clock: those have no date, since they count from the start of the system.
    public init?(_ instant: TimerInstant) {
        guard instant.clock == .wall else { return nil }
        let (seconds, nanoseconds) = instant.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        let whole = Double(seconds) - Date.timeIntervalBetween1970AndReferenceDate
        self.init(timeIntervalSinceReferenceDate: whole + Double(nanoseconds) / 1e9)
        if instant.isNever { self = .distantFuture }
    }
}
