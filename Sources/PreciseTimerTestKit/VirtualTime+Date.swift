public import FoundationEssentials
public import PreciseTimer
internal import TimerKernel

extension VirtualTime {
    /// Creates virtual time of the wall clock that stands at a date of your choice.
    ///
    /// ```swift
    /// import Foundation
    ///
    /// let virtual = VirtualTime(clock: .wall, at: Date(timeIntervalSince1970: 1_798_761_600))      // 2027 begins
    /// ```
    ///
    /// - Parameters:
    ///   - clock: the wall clock. Another one has no dates, and is a programming error.
    ///   - date: the first instant; before 1970, the beginning of 1970. A date that is too far away to be an instant,
    ///     such as `distantFuture`, is a programming error.
    ///   - seed: determines the random phases of timers with a spread.
    public convenience init(clock: TimerClock = .wall, at date: Date, seed: UInt64 = 0) {
        self.init(clock: clock, at: TimerInstant(secondsSince2001: date.timeIntervalSinceReferenceDate), seed: seed)
    }
}
