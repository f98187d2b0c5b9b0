import Foundation
import PreciseTimer
import PreciseTimerFoundation
import PreciseTimerTestKit
import TestSupport
import Testing

/// The deadlines of calendars, exact on virtual time, also when the clocks of a zone jump.
struct CalendarDeadlineTests {
    typealias Schedule = PreciseTimer.Schedule

    /// The deadlines of a schedule from a date on, as the zone's clocks show them.
    private func deadlines(
        _ schedule: Schedule,
        _ zone: String,
        from start: String,
        count: Int
    ) throws -> [String] {
        let zone = try #require(TimeZone(identifier: zone), "the machine has no zone database")
        let (virtual, log) = (VirtualTime(clock: .wall), Log())
        virtual.advance(to: start)
        let timer = try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { $0.note($1) }
        while log.count < count, let next = timer.nextDeadline {
            virtual.advance(by: virtual.now.duration(to: next) - .nanoseconds(1))
            let before = log.count
            virtual.advance(by: .nanoseconds(1))
            #expect(log.count == before + 1, "one tick at each deadline, and none before it")
        }
        #expect(log.ticks.map(\.index) == Array(0..<log.count))
        #expect(log.ticks.allSatisfy { $0.missed == 0 && $0.lateness == .zero })
        return log.ticks.map { $0.deadline.text(in: zone) }
    }

    private func zone(_ identifier: String) throws -> TimeZone { try #require(TimeZone(identifier: identifier)) }

    @Test func aDayThatLacksTheTimeTicksAtTheEndOfTheGap() throws {
        let daily = Schedule.daily(at: .init(hour: 2, minute: 30), in: try zone("Europe/Berlin"))
        #expect(
            try deadlines(daily, "Europe/Berlin", from: "2026-03-27T12:00:00Z", count: 3) == [
                "2026-03-28T02:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00",
            ]
        )
        let york = Schedule.daily(at: .init(hour: 2, minute: 30), in: try zone("America/New_York"))
        #expect(
            try deadlines(york, "America/New_York", from: "2026-03-07T00:00:00Z", count: 3) == [
                "2026-03-07T02:30:00-05:00", "2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00",
            ]
        )
        // Foundation's own search leaves this day out.
        let island = Schedule.daily(at: .init(hour: 2, minute: 15), in: try zone("Australia/Lord_Howe"))
        #expect(
            try deadlines(island, "Australia/Lord_Howe", from: "2026-10-03T00:00:00Z", count: 2) == [
                "2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00",
            ]
        )
    }

    @Test func aDayThatHasTheTimeTwiceTicksTheFirstTime() throws {
        let daily = Schedule.daily(at: .init(hour: 2, minute: 30), in: try zone("Europe/Berlin"))
        #expect(
            try deadlines(daily, "Europe/Berlin", from: "2026-10-23T12:00:00Z", count: 3) == [
                "2026-10-24T02:30:00+02:00", "2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00",
            ]
        )
        // Begun between the two.
        #expect(
            try deadlines(daily, "Europe/Berlin", from: "2026-10-25T00:45:00Z", count: 1) == [
                "2026-10-26T02:30:00+01:00"
            ]
        )
        let island = Schedule.daily(at: .init(hour: 1, minute: 45), in: try zone("Australia/Lord_Howe"))
        #expect(
            try deadlines(island, "Australia/Lord_Howe", from: "2026-04-04T00:00:00Z", count: 2) == [
                "2026-04-05T01:45:00+11:00", "2026-04-06T01:45:00+10:30",
            ]
        )
    }

    @Test func aDayWithoutMidnightTicksWhenItBegins() throws {
        let first = Schedule.calendar(DateComponents(day: 4), in: try zone("America/Sao_Paulo"))
        let daily = Schedule.daily(at: .init(hour: 0), in: try zone("America/Santiago"))
        #expect(
            try deadlines(daily, "America/Santiago", from: "2026-09-05T12:00:00Z", count: 2) == [
                "2026-09-06T01:00:00-03:00", "2026-09-07T00:00:00-03:00",
            ]
        )
        #expect(
            try deadlines(first, "America/Sao_Paulo", from: "2026-09-05T12:00:00Z", count: 1) == [
                "2026-10-04T00:00:00-03:00"
            ]
        )
    }

    @Test func anHourThatPassesTwiceTicksTwice() throws {
        let hourly = Schedule.hourly(at: 30, in: try zone("Europe/Berlin"))
        #expect(
            try deadlines(hourly, "Europe/Berlin", from: "2026-10-24T23:45:00Z", count: 4) == [
                "2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00", "2026-10-25T03:30:00+01:00",
                "2026-10-25T04:30:00+01:00",
            ]
        )
        #expect(
            try deadlines(hourly, "Europe/Berlin", from: "2026-03-29T00:15:00Z", count: 3) == [
                "2026-03-29T01:30:00+01:00", "2026-03-29T03:30:00+02:00", "2026-03-29T04:30:00+02:00",
            ]
        )
        let island = Schedule.hourly(at: 45, in: try zone("Australia/Lord_Howe"))
        #expect(
            try deadlines(island, "Australia/Lord_Howe", from: "2026-04-04T14:00:00Z", count: 3) == [
                "2026-04-05T01:45:00+11:00", "2026-04-05T01:45:00+10:30", "2026-04-05T02:45:00+10:30",
            ]
        )
    }

    @Test func weeksAndMonthsHaveTheirDays() throws {
        let utc = try zone("UTC")
        #expect(
            try deadlines(
                .weekly(on: .monday, .friday, at: .init(hour: 9), in: utc),
                "UTC",
                from: "2026-01-05T09:00:00Z",
                count: 3
            ) == ["2026-01-09T09:00:00Z", "2026-01-12T09:00:00Z", "2026-01-16T09:00:00Z"]
        )
        #expect(
            try deadlines(
                .weekly(on: [.sunday], at: .init(hour: 0), in: utc),
                "UTC",
                from: "2026-02-27T00:00:00Z",
                count: 1
            )
                == ["2026-03-01T00:00:00Z"]
        )
        #expect(
            try deadlines(.calendar(DateComponents(day: 31), in: utc), "UTC", from: "2026-01-05T00:00:00Z", count: 3)
                == ["2026-01-31T00:00:00Z", "2026-03-31T00:00:00Z", "2026-05-31T00:00:00Z"]
        )
        #expect(
            try deadlines(
                .calendar(DateComponents(month: 2, day: 29, hour: 6), in: utc),
                "UTC",
                from: "2026-01-05T00:00:00Z",
                count: 2
            ) == ["2028-02-29T06:00:00Z", "2032-02-29T06:00:00Z"]
        )
        #expect(
            try deadlines(.calendar(DateComponents(second: 30), in: utc), "UTC", from: "2026-01-05T00:00:30Z", count: 2)
                == ["2026-01-05T00:01:30Z", "2026-01-05T00:02:30Z"]
        )
    }

    @Test func aMissingComponentBetweenTwoGivenOnesHasAnyValue() throws {
        let march = Schedule.calendar(DateComponents(month: 3, hour: 9), in: .gmt)
        #expect(
            try deadlines(march, "UTC", from: "2026-03-30T12:00:00Z", count: 2)
                == ["2026-03-31T09:00:00Z", "2027-03-01T09:00:00Z"]
        )
        let fifteenth = Schedule.calendar(DateComponents(day: 15, minute: 30), in: .gmt)
        #expect(
            try deadlines(fifteenth, "UTC", from: "2026-01-15T22:00:00Z", count: 3)
                == ["2026-01-15T22:30:00Z", "2026-01-15T23:30:00Z", "2026-02-15T00:30:00Z"]
        )
        let hour = Schedule.calendar(DateComponents(hour: 2, second: 0), in: .gmt)
        #expect(
            try deadlines(hour, "UTC", from: "2026-01-15T02:58:00Z", count: 2)
                == ["2026-01-15T02:59:00Z", "2026-01-16T02:00:00Z"]
        )
    }

    @Test func theZoneOfTheComponentsIsUsedUnlessAnotherIsGiven() throws {
        let (tokyo, utc) = (DateComponents(timeZone: try zone("Asia/Tokyo"), hour: 6), try zone("UTC"))
        let inTokyo: [Schedule] = [.calendar(tokyo), .daily(at: tokyo), .weekly(on: .tuesday, at: tokyo)]
        for schedule in inTokyo {
            #expect(
                try deadlines(schedule, "UTC", from: "2026-01-05T00:00:00Z", count: 1) == ["2026-01-05T21:00:00Z"]
            )
        }
        let inUTC: [Schedule] = [
            .calendar(tokyo, in: utc), .daily(at: tokyo, in: utc), .weekly(on: .monday, at: tokyo, in: utc),
        ]
        for schedule in inUTC {
            #expect(
                try deadlines(schedule, "UTC", from: "2026-01-05T00:00:00Z", count: 1) == ["2026-01-05T06:00:00Z"]
            )
        }
    }

    @Test func aTimeMayHaveACalendarAndNoNanoseconds() throws {
        let calendar = Calendar(identifier: .hebrew)
        let time = DateComponents(calendar: calendar, timeZone: .gmt, hour: 6, minute: 5, second: 4, nanosecond: 0)
        #expect(
            try deadlines(.weekly(on: .monday, at: time), "UTC", from: "2026-01-05T07:00:00Z", count: 1)
                == ["2026-01-12T06:05:04Z"]
        )
    }

    @Test func aYearMoreThan292YearsAfter1970HasADeadline() throws {
        let newYear = Schedule.calendar(DateComponents(year: 2425), in: .gmt)
        #expect(try deadlines(newYear, "UTC", from: "2026-01-05T00:00:00Z", count: 2) == ["2425-01-01T00:00:00Z"])
    }

    @Test func componentsWithAYearHaveAnEnd() throws {
        let (virtual, log, ends) = (VirtualTime(clock: .wall), Log(), Notes<PreciseTimer.EndReason>())
        let newYear = Schedule.calendar(DateComponents(year: 2027), in: try zone("UTC"))
        let timer = try PreciseTimer.schedule(newYear, on: virtual.service, target: log, onEnd: ends.append) {
            log,
            tick in log.note(tick)
        }
        virtual.advance(to: "2027-06-01T00:00:00Z")
        #expect(log.ticks.map { $0.deadline.text(in: .gmt) } == ["2027-01-01T00:00:00Z"])
        #expect(timer.state == .ended(.completed))
        #expect(ends.all == [.completed])
        #expect(virtual.pendingCount == 0)
    }

    @Test func aDateIsOneDeadline() throws {
        let (virtual, log) = (VirtualTime(clock: .wall), Log())
        let date = try #require(Date(virtual.now.advanced(by: .seconds(90))))
        try PreciseTimer.schedule(.once(at: date), on: virtual.service, target: log) { $0.note($1) }
        virtual.advance(by: .seconds(89))
        #expect(log.count == 0)
        virtual.advance(by: .seconds(1))
        #expect(log.ticks.map(\.lateness) == [.zero])
    }

    @Test(arguments: [
        (Schedule.daily(at: .init(hour: 25)), "daily at 25:00"), (.daily(at: .init(hour: 24)), "hour 24; give an hour"),
        (.daily(at: .init(hour: 2, minute: 60)), "minute 60; give a minute from 0 to 59"),
        (.daily(at: .init(minute: 30)), "no hour; give an hour from 0 to 23"),
        (.daily(at: .init(year: 2026, day: 3, hour: 2)), "leave out year, day"),
        (.daily(at: .init(hour: 2, nanosecond: 1)), "leave out nanosecond"),
        (.daily(at: Calendar.current.dateComponents(in: .gmt, from: .now)), "leave out era, year, "),
        (.weekly(on: .monday, at: .init(hour: 2, weekday: 3)), "leave out weekday"),
        (.weekly(on: [], at: .init(hour: 2)), "one day of the week"),
        (.weekly(on: .monday, at: .init(hour: -1)), "hour from 0 to 23"), (.hourly(at: 60), "a minute from 0 to 59"),
        (.hourly(at: -1), "a minute from 0 to 59"), (.calendar(DateComponents(month: 2, day: 30)), "400 years"),
        (.calendar(DateComponents(year: 2020)), "400 years"), (.calendar(DateComponents(year: 2427)), "400 years"),
        (.calendar(DateComponents()), "at least one"),
        (.calendar(DateComponents(second: 3, nanosecond: 5)), "whole seconds; leave out nanosecond 5"),
        (.calendar(DateComponents(hour: 25)), "hour 25; give an hour from 0 to 23"),
        (.calendar(DateComponents(hour: 1, minute: 75)), "minute 75"),
        (.calendar(DateComponents(hour: 1, second: 60)), "second 60; give a second from 0 to 59"),
        (.calendar(DateComponents(month: 13)), "month 13; give a month from 1 to 12"),
        (.calendar(DateComponents(day: 32)), "day 32; give a day from 1 to 31"),
        (.calendar(DateComponents(weekday: 0)), "weekday 0; give a weekday from 1 to 7"),
        (.calendar(DateComponents(weekday: 2, weekdayOrdinal: 6)), "6; give a weekdayOrdinal from 1 to 5"),
        (.calendar(DateComponents(day: 1, weekdayOrdinal: 1)), "a weekdayOrdinal needs a weekday"),
        (.calendar(DateComponents(weekOfMonth: 7)), "weekOfMonth 7"),
        (.calendar(DateComponents(era: 1)), "at least one"), (.calendar(DateComponents(era: 0, hour: 9)), "400 years"),
        (.calendar(leapMonth), "a leap month in this calendar"), (.daily(at: leapMonth), "leave out isLeapMonth"),
        (.calendar(DateComponents(calendar: .init(identifier: .hebrew), month: 4, day: 30)), "100 years"),
    ])
    func numbersThatMakeNoSenseAreRefusedWithARemedy(schedule: Schedule, words: String) {
        let error = #expect(throws: TimerError.self) {
            _ = try PreciseTimer.schedule(schedule, on: VirtualTime(clock: .wall).service) { _, _ in }
        }
        #expect(error?.code == .invalidSchedule)
        #expect(error?.attempted.contains(words) == true, "\(error?.attempted ?? "")")
    }

    @Test func aServiceOfAnotherClockIsRefusedWithTheSharedService() {
        let date = Date(timeIntervalSince1970: 2e9)
        for schedule in [
            Schedule.daily(at: .init(hour: 2)), .once(at: date), .every(.seconds(1), alignedTo: .wallOrigin),
        ] {
            let error = #expect(throws: TimerError.self) { _ = try PreciseTimer.schedule(schedule) { _, _ in } }
            #expect(error?.attempted.contains("`on: .wall`") == true, "\(error?.attempted ?? "")")
        }
        // A timer that is set again keeps its service: there is no `on:` to pass.
        let anew = #expect(throws: TimerError.self) {
            let timer = try PreciseTimer.schedule(.every(.seconds(60))) { _, _ in }
            try timer.reschedule(.once(at: date))
        }
        #expect(anew?.attempted.contains("(schedule a timer `on: .wall`") == true, "\(anew?.attempted ?? "")")
        let continuous = TimerInstant.origin(on: .continuous)
        let error = #expect(throws: TimerError.self) {
            _ = try PreciseTimer.schedule(.once(at: continuous)) { _, _ in }
        }
        #expect(error?.attempted.contains("clock: .continuous") == true, "\(error?.attempted ?? "")")
    }

    @Test func calendarsReadAsTheirTimes() {
        #expect("\(Schedule.daily(at: .init(hour: 2, minute: 30)))" == "daily at 02:30")
        #expect(
            "\(Schedule.weekly(on: .monday, .friday, at: .init(hour: 9, second: 5)))"
                == "weekly on mon, fri at 09:00:05"
        )
        #expect("\(Schedule.hourly(at: 5))" == "hourly at minute 5")
        #expect("\(Schedule.calendar(DateComponents(day: 1)))" == "at day: 1")
    }
}

extension TimerInstant {
    static var wallOrigin: TimerInstant { .origin(on: .wall) }

    /// The time that a zone's clocks show.
    func text(in zone: TimeZone) -> String { Date(self)?.text(in: zone) ?? "\(self)" }
}

extension Date {
    /// The time that a zone's clocks show.
    func text(in zone: TimeZone) -> String {
        ISO8601Format(Date.ISO8601FormatStyle(timeZoneSeparator: .colon, timeZone: zone))
    }
}

/// No month of the Gregorian calendar is a leap month.
private let leapMonth: DateComponents = {
    var components = DateComponents(hour: 2)
    components.isLeapMonth = true
    return components
}()

extension VirtualTime {
    /// Moves time to a date, as `2026-03-27T12:00:00Z`.
    func advance(to date: String) {
        guard let date = try? Date(date, strategy: .iso8601) else { preconditionFailure("\(date) is no date") }
        advance(by: now.duration(to: TimerInstant(date)))
    }
}
