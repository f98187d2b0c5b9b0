import Foundation
import PreciseTimer
import PreciseTimerFoundation
import PreciseTimerTestKit
import Testing

// "The last day of a month, and office hours", of the guide about calendars.

/// The dates of a schedule that count.
func dates(
    of schedule: PreciseTimer.Schedule,
    if counts: @escaping @Sendable (Date) -> Bool
) -> PreciseTimer.Schedule {
    .computed("some dates of another schedule", on: .wall) { instant in
        guard let now = Date(instant) else { return nil }
        return schedule.deadlines(after: now, count: 10_000).first { counts($0) }.map { TimerInstant($0) }
    }
}

struct DatesTests {
    private let calendar: Calendar

    init() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: "Europe/Berlin"))
        self.calendar = calendar
    }

    private func date(_ year: Int, _ month: Int, _ day: Int, _ hour: Int = 0) throws -> Date {
        try #require(calendar.date(from: DateComponents(year: year, month: month, day: day, hour: hour)))
    }

    /// The dates that are the last ones of their month, if the schedule's next one is so many days later.
    private func last(of schedule: PreciseTimer.Schedule, nextAfter days: Int) -> PreciseTimer.Schedule {
        dates(of: schedule) { [calendar] date in
            guard let next = calendar.date(byAdding: .day, value: days, to: date) else { return false }
            return !calendar.isDate(date, equalTo: next, toGranularity: .month)
        }
    }

    private var lastDay: PreciseTimer.Schedule {
        last(of: .daily(at: .init(hour: 18), in: calendar.timeZone), nextAfter: 1)
    }

    private var lastFriday: PreciseTimer.Schedule {
        last(of: .weekly(on: .friday, at: .init(hour: 18), in: calendar.timeZone), nextAfter: 7)
    }

    private func working(_ schedule: PreciseTimer.Schedule) -> PreciseTimer.Schedule {
        dates(of: schedule) { [calendar] date in
            (9..<17).contains(calendar.component(.hour, from: date)) && !calendar.isDateInWeekend(date)
        }
    }

    /// The month, the day and the hour of each tick from a date on.
    private func ticks(of schedule: PreciseTimer.Schedule, in days: Int, from start: Date) throws -> [String] {
        let virtual = VirtualTime(clock: .wall, at: start)
        let log = TickLog(virtual)
        try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { log, tick in log.note(tick) }
        virtual.advance(by: .seconds(days * 86_400))
        #expect(log.missed.allSatisfy { $0 == 0 })
        return log.ticks.compactMap { Date($0.deadline) }
            .map {
                let parts = calendar.dateComponents([.month, .day, .hour], from: $0)
                return "\(parts.month ?? 0)/\(parts.day ?? 0) \(parts.hour ?? 0)h"
            }
    }

    @Test func theLastDayAndTheLastFridayOfEachMonthOfAYear() throws {
        let days = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        let fridays = [30, 27, 27, 24, 29, 26, 31, 28, 25, 30, 27, 25]
        for (schedule, expected) in [(lastDay, days), (lastFriday, fridays)] {
            let found = try ticks(of: schedule, in: 365, from: date(2026, 1, 1))
            #expect(found == expected.enumerated().map { "\($0 + 1)/\($1) 18h" })
        }
    }

    @Test func afterTheLastFridayComesThatOfTheNextMonth() throws {
        #expect(try ticks(of: lastFriday, in: 30, from: date(2028, 1, 28, 18)) == ["2/25 18h"])
    }

    @Test func aLeapYearHasThe29thOfFebruary() throws {
        #expect(try ticks(of: lastDay, in: 30, from: date(2028, 2, 10)) == ["2/29 18h"])
    }

    /// The clocks go forward on Sunday, 29 March, so 120 hours from Friday noon end at one o'clock.
    @Test func officeHoursOfAWeekWithAChangeOfTheClocks() throws {
        let quarters = PreciseTimer.Schedule.every(.seconds(900), alignedTo: .origin(on: .wall))
        let found = try ticks(of: working(quarters), in: 5, from: date(2026, 3, 27, 12))
        let days = Dictionary(grouping: found) { $0.prefix { $0 != " " } }.mapValues(\.count)
        #expect(days == ["3/27": 19, "3/30": 32, "3/31": 32, "4/1": 17])
    }

    @Test func aWeekendIsOneLateTickOfItsWorkingHours() throws {
        let virtual = VirtualTime(clock: .wall, at: try date(2026, 3, 27, 16))
        let log = TickLog(virtual)
        try PreciseTimer.schedule(working(.hourly()), on: virtual.service, target: log) { $0.note($1) }
        virtual.jump(by: virtual.now.duration(to: TimerInstant(try date(2026, 3, 30, 11))))
        #expect(log.ticks.map { Date($0.deadline) } == [try date(2026, 3, 30, 9)] && log.missed == [2])
    }
}
