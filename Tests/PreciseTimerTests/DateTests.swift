import Foundation
import PreciseTimer
import PreciseTimerFoundation
import PreciseTimerTestKit
import TestSupport
import Testing

/// Dates are instants of the wall clock, and back.
struct DateTests {
    @Test func aDateIsTheSameAfterARoundTripToLessThanAMicrosecond() throws {
        let differing = try Self.randomDates.filter { date in
            let back = try #require(Date(TimerInstant(date)))
            return back < date || back.timeIntervalSince(date) >= 1e-6
        }
        #expect(differing.map(\.timeIntervalSinceReferenceDate) == [])
    }

    @Test func anInstantIsTheSameAfterARoundTripToLessThanAMicrosecond() throws {
        var random = SeededGenerator(seed: 5)
        // Until the year 2100.
        let instants = (0..<2_000).map { _ in UInt64.random(in: 0...4_102_444_800_000_000_000, using: &random) }
        let differing = try instants.filter { nanoseconds in
            let instant = TimerInstant(nanoseconds: nanoseconds, clock: .wall)
            let back = TimerInstant(try #require(Date(instant)))
            return back.clock != .wall || abs(instant.duration(to: back) / .nanoseconds(1)) >= 1_000
        }
        #expect(differing == [])
    }

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

    @Test func theLastDateBeforeAWholeSecondIsNotASecondLate() {
        for second in [0, 1, 1_000_000, 789_012_345, 1_000_000_001] as [TimeInterval] {
            let date = Date(timeIntervalSinceReferenceDate: second.nextDown)
            let whole = TimerInstant(Date(timeIntervalSinceReferenceDate: second))
            #expect(TimerInstant(date) <= whole)
            #expect(TimerInstant(date).duration(to: whole) < .microseconds(1))
        }
    }

    @Test func knownDatesAreTheirNanosecondsSince1970() {
        #expect(TimerInstant(Date(timeIntervalSince1970: 0)) == .origin(on: .wall))
        #expect(TimerInstant(Date(timeIntervalSince1970: 1_767_225_600)).nanoseconds == 1_767_225_600_000_000_000)
        #expect(TimerInstant(Date(timeIntervalSinceReferenceDate: 0.5)).nanoseconds == 978_307_200_500_000_000)
        #expect(TimerInstant(Date(timeIntervalSinceReferenceDate: -0.5)).nanoseconds == 978_307_199_500_000_000)
        #expect(Date(.origin(on: .wall)) == Date(timeIntervalSince1970: 0))
    }

    @Test(arguments: [-0.001, -1, -1e9, -.infinity] as [TimeInterval])
    func aDateBefore1970IsTheOrigin(interval: TimeInterval) {
        #expect(TimerInstant(Date(timeIntervalSince1970: interval)) == .origin(on: .wall))
        #expect(TimerInstant(.distantPast) == .origin(on: .wall))
    }

    @Test(arguments: [1.9e10, 1e300, .infinity, .nan, -.nan] as [TimeInterval])
    func aDateTooFarAwayAndOneThatIsNotANumberAreNever(interval: TimeInterval) {
        #expect(TimerInstant(Date(timeIntervalSince1970: interval)) == .never(on: .wall))
        #expect(TimerInstant(.distantFuture) == .never(on: .wall))
        #expect(Date(.never(on: .wall)) == .distantFuture)
    }

    @Test func theLastSecondBeforeNeverIsStillADate() throws {
        let last = Date(timeIntervalSince1970: 18_446_744_072.75)
        #expect(TimerInstant(last).nanoseconds == 18_446_744_072_750_000_000)
        #expect(Date(TimerInstant(last)) == last)
    }

    @Test(arguments: [TimerClock.suspending, .continuous])
    func anInstantOfAClockThatCountsFromTheStartOfTheSystemHasNoDate(clock: TimerClock) {
        #expect(Date(.origin(on: clock)) == nil)
        #expect(Date(.never(on: clock)) == nil)
    }

    @Test func aTimerCanBeScheduledAtADate() throws {
        let (virtual, log) = (VirtualTime(clock: .wall), Log())
        let date = Date(timeIntervalSince1970: 1_767_225_600 + 90.25)
        try PreciseTimer.schedule(.once(at: TimerInstant(date)), on: virtual.service, target: log) { $0.note($1) }
        virtual.advance(by: .milliseconds(90_249))
        #expect(log.count == 0)
        virtual.advance(by: .milliseconds(1))
        #expect(log.ticks.map { Date($0.delivered) } == [date])
    }

    /// Dates from 1970 to 2100, some within a microsecond of a whole second.
    private static let randomDates: [Date] = {
        var random = SeededGenerator(seed: 4)
        return (0..<4_000)
            .map { number in
                let interval = TimeInterval.random(in: -978_307_200...3_124_137_600, using: &random)
                if number % 2 == 0 { return interval }
                let near = interval.rounded() + TimeInterval(Int.random(in: -3...3, using: &random)) * interval.ulp
                return max(near, -978_307_200)
            }
            .map(Date.init(timeIntervalSinceReferenceDate:))
    }()
}
