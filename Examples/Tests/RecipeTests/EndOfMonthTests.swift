import Foundation
import PreciseTimer
import PreciseTimerFoundation
import PreciseTimerTestKit
import Testing

// "The last day of a month", of the guide about calendars.

extension PreciseTimer.Schedule {
    /// The last day of each month, or its last Sunday (1), Monday (2) … Saturday (7), at an hour.
    static func lastDay(_ weekday: Int? = nil, hour: Int, in calendar: Calendar) -> Self {
        .computed("last day of the month", on: .wall) { instant in
            guard var date = Date(instant) else { return nil }
            // In this month, or in the next one.
            for _ in 0...1 {
                guard let end = calendar.dateInterval(of: .month, for: date)?.end,
                    let last = calendar.date(byAdding: .day, value: -1, to: end)
                else { return nil }
                let back = weekday.map { (calendar.component(.weekday, from: last) - $0 + 7) % 7 } ?? 0
                let day = calendar.date(byAdding: .day, value: -back, to: last)
                let deadline = day.flatMap { calendar.date(bySettingHour: hour, minute: 0, second: 0, of: $0) }
                if let deadline, TimerInstant(deadline) > instant { return TimerInstant(deadline) }
                date = end
            }
            return nil
        }
    }
}

struct EndOfMonthTests {
    private let calendar: Calendar

    init() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: "Europe/Berlin"))
        self.calendar = calendar
    }

    /// Virtual time that begins at a date of one's choice.
    private func time(year: Int, month: Int, day: Int, hour: Int) throws -> VirtualTime {
        let components = DateComponents(year: year, month: month, day: day, hour: hour)
        return VirtualTime(clock: .wall, at: try #require(calendar.date(from: components)))
    }

    /// The month, the day and the hour of each tick of a time.
    private func ticks(of schedule: PreciseTimer.Schedule, in days: Int, from virtual: VirtualTime) throws -> [String] {
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

    @Test func theLastDayOfEachMonthOfAYear() throws {
        let days = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        let ticks = try ticks(
            of: .lastDay(hour: 18, in: calendar),
            in: 365,
            from: time(year: 2026, month: 1, day: 1, hour: 0)
        )
        #expect(ticks == days.enumerated().map { "\($0 + 1)/\($1) 18h" })
    }

    @Test func theLastFridayOfEachMonthOfAYear() throws {
        let fridays = [30, 27, 27, 24, 29, 26, 31, 28, 25, 30, 27, 25]
        let ticks = try ticks(
            of: .lastDay(6, hour: 18, in: calendar),
            in: 365,
            from: time(year: 2026, month: 1, day: 1, hour: 0)
        )
        #expect(ticks == fridays.enumerated().map { "\($0 + 1)/\($1) 18h" })
    }

    @Test func afterTheLastFridayComesThatOfTheNextMonth() throws {
        let virtual = try time(year: 2028, month: 1, day: 28, hour: 18)
        #expect(try ticks(of: .lastDay(6, hour: 18, in: calendar), in: 30, from: virtual) == ["2/25 18h"])
    }

    @Test func aLeapYearHasThe29thOfFebruary() throws {
        let virtual = try time(year: 2028, month: 2, day: 10, hour: 0)
        #expect(try ticks(of: .lastDay(hour: 18, in: calendar), in: 30, from: virtual) == ["2/29 18h"])
    }
}
