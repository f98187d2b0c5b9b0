import Foundation
import PreciseTimer
import PreciseTimerFoundation
import TestSupport
import Testing

/// Dates are instants of the wall clock, and back.
struct DateTests {
    @Test func anInstantIsNeverBeforeItsDateNorANanosecondAfterIt() {
        let wrong = Self.randomDates.map(\.timeIntervalSinceReferenceDate)
            .filter { interval in
                let second = interval.rounded(.down)
                let start = UInt64(second + Date.timeIntervalBetween1970AndReferenceDate) * 1_000_000_000
                let nanoseconds = TimerInstant(Date(timeIntervalSinceReferenceDate: interval)).nanoseconds
                guard nanoseconds >= start else { return true }
                let late = Double(nanoseconds - start) - (interval - second) * 1e9
                return late < 0 || late >= 1
            }
        #expect(wrong == [])
    }

    @Test(
        arguments: [
            (-TimeInterval.infinity, 0), (-1e9, 0), (-0.001, 0), (0, 0), (978_307_199.5, 978_307_199_500_000_000),
            (978_307_200.5, 978_307_200_500_000_000), (1_767_225_600, 1_767_225_600_000_000_000),
            // The last second before never.
            (18_446_744_072.75, 18_446_744_072_750_000_000), (18_446_744_073.5, 18_446_744_073_500_000_000),
            (18_446_744_073.75, .max), (1.9e10, .max), (1e300, .max), (.infinity, .max),
            (.nan, .max),
            (-.nan, .max),
        ] as [(TimeInterval, UInt64)]
    )
    func aDateIsItsNanosecondsSince1970OrTheOriginOrNever(interval: TimeInterval, nanoseconds: UInt64) {
        let date = Date(timeIntervalSince1970: interval)
        let instant = TimerInstant(date)
        #expect(instant == TimerInstant(nanoseconds: nanoseconds, clock: .wall))
        let back = nanoseconds == 0 ? Date(timeIntervalSince1970: 0) : nanoseconds == .max ? .distantFuture : date
        #expect(Date(instant) == back)
    }

    @Test func theDateOfAnInstantIsTheFirstOneThatIsNotBeforeIt() throws {
        var random = SeededGenerator(seed: 6)
        let of2001: UInt64 = 978_307_200_000_000_000
        var numbers: [UInt64] = [0, 1, of2001 - 1, of2001, of2001 + 1, .max - 1]
        for _ in 0..<4_000 {
            let number = UInt64.random(in: 0..<UInt64.max, using: &random)
            numbers += [number, number / 1_000_000 * 1_000_000]
        }
        let wrong = try numbers.filter { nanoseconds in
            let instant = TimerInstant(nanoseconds: nanoseconds, clock: .wall)
            let date = try #require(Date(instant))
            let interval = date.timeIntervalSinceReferenceDate
            // Only a date that is less than a nanosecond too early has this instant. No whole millisecond has one.
            let isLess = Self.isBefore(interval, nanoseconds) && nanoseconds % 1_000_000 == 0
            return isLess || TimerInstant(date) < instant || !Self.isBefore(interval.nextDown, nanoseconds)
        }
        #expect(wrong == [])
    }

    /// Whether a number of seconds since 2001 is less than a number of nanoseconds since 1970, exactly.
    private static func isBefore(_ interval: TimeInterval, _ nanoseconds: UInt64) -> Bool {
        let whole = interval.rounded(.towardZero)
        let rest = Int128(nanoseconds) - (Int128(whole) + 978_307_200) * 1_000_000_000
        return (-Double(rest)).addingProduct(interval - whole, 1e9) < 0
    }

    @Test func datesAreTheSameAfterARoundTrip() {
        // In the months around the beginning of 2001, a nanosecond has several dates.
        let dates = Self.randomDates.filter { abs($0.timeIntervalSinceReferenceDate) > 1e8 }
        #expect(dates.count > 3_000)
        #expect(dates.filter { Date(TimerInstant($0)) != $0 } == [])
    }

    @Test func instantsOfOtherClocksHaveNoDate() {
        let instants = [TimerClock.suspending, .continuous].flatMap { [TimerInstant.origin(on: $0), .never(on: $0)] }
        #expect(instants.compactMap(Date.init) == [], "these clocks count from the start of the system")
    }

    /// Dates from 1970 to 2100, some within a microsecond of a whole second, and the last ones before some seconds.
    private static let randomDates: [Date] = {
        var random = SeededGenerator(seed: 4)
        let intervals = (0..<4_000)
            .map { number in
                let interval = TimeInterval.random(in: -978_307_200...3_124_137_600, using: &random)
                if number % 2 == 0 { return interval }
                let near = interval.rounded() + TimeInterval(Int.random(in: -3...3, using: &random)) * interval.ulp
                return max(near, -978_307_200)
            }
        let last = [0, 1, 1_000_000, 789_012_345, 1_000_000_001].map(\TimeInterval.nextDown)
        return (intervals + last).map(Date.init(timeIntervalSinceReferenceDate:))
    }()
}
