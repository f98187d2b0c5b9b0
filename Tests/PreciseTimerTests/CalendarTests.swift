import Foundation
import PreciseTimer
import PreciseTimerFoundation
import PreciseTimerTestKit
import TestSupport
import Testing

/// Timers of the calendar: the service of the wall clock, what is refused, and descriptions.
struct CalendarTests {
    typealias Schedule = PreciseTimer.Schedule

    private let virtual = VirtualTime(clock: .wall)
    private let log = Log()

    @Test func theSharedServiceOfTheWallClockIsNeverEarly() throws {
        let (once, step) = (Log(), UInt64(50_000_000))
        let schedule = Schedule.computed(on: .wall) { instant in
            TimerInstant(nanoseconds: (instant.nanoseconds / step + 1) * step, clock: .wall)
        }
        let timer = try PreciseTimer.schedule(schedule, on: .wall, target: log) { $0.note($1) }
        let date = Date(timeIntervalSinceNow: 0.05)
        try PreciseTimer.schedule(.once(at: date), on: .wall, target: once) { $0.note($1) }
        #expect(eventually { log.count >= 3 && once.count == 1 })
        timer.cancel()
        let ticks = log.ticks
        #expect(ticks.allSatisfy { $0.deadline.nanoseconds % step == 0 && $0.delivered >= $0.deadline })
        #expect(zip(ticks, ticks.dropFirst()).allSatisfy { $1.index == $0.index + 1 + $0.missed })
        #expect(once.ticks.map(\.deadline) == [TimerInstant(date)])
        let whole = try PreciseTimer.schedule(.every(.seconds(1), alignedTo: .origin(on: .wall)), on: .wall) { _, _ in }
        #expect(whole.nextDeadline.map { $0.nanoseconds % 1_000_000_000 } == 0)
        #expect("\(TimerService.wall)".contains("service, wall clock"))
    }

    // MARK: Refusals, and descriptions

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
        (.hourly(at: -1), "a minute from 0 to 59"),
        // node-red cron-plus #110 and croniter #131: a date that never comes is searched for without end.
        (.calendar(DateComponents(month: 2, day: 30)), "400 years"),
        // rufus-scheduler PR #46: the last day or the last Friday of a month is taken for another one.
        (.calendar(DateComponents(day: 0)), "day 0; give a day from 1 to 31"),
        (.calendar(DateComponents(day: -1)), "day -1; give a day from 1 to 31"),
        (.calendar(DateComponents(weekday: 6, weekdayOrdinal: -1)), "-1; give a weekdayOrdinal from 1 to 5"),
        (.calendar(DateComponents(year: 2020)), "400 years"), (.calendar(DateComponents(year: 2427)), "400 years"),
        (.calendar(DateComponents()), "at least one"),
        (.calendar(DateComponents(second: 3, nanosecond: 5)), "whole seconds; leave out nanosecond 5"),
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
        (.daily(at: two, count: 0), "with 0 ticks (the count must be at least 1)"),
        (.daily(at: two, spread: .seconds(-1)), "with a spread of -1 s (it must not be negative)"),
        (.daily(at: two, jitter: .seconds(-1)), "with a jitter of -1 s (it must be from zero to a day"),
        (.daily(at: two, jitter: .seconds(86_401)), "from zero to a day"),
        (.hourly(jitter: .seconds(3_601)), "from zero to an hour"),
        (.calendar(DateComponents(second: 0), jitter: .seconds(61)), "from zero to a minute"),
        (.calendar(DateComponents(hour: 2, second: 0), jitter: .seconds(61)), "from zero to a minute"),
        (.calendar(DateComponents(hour: 2, minute: 5, second: 0), jitter: .seconds(86_401)), "from zero to a day"),
        (.calendar(DateComponents(month: 3), jitter: .seconds(86_401)), "from zero to a day"),
        (.calendar(DateComponents(month: 2, day: 29), in: .gmt, for: .seconds(1)), "for 1 s (no date comes in that"),
        (.daily(at: two, for: .seconds(-1)), "for -1 s (it must not be negative)"),
    ])
    func numbersThatMakeNoSenseAreRefusedWithARemedy(schedule: Schedule, words: String) {
        let error = #expect(throws: TimerError.self) {
            _ = try PreciseTimer.schedule(schedule, on: virtual.service) { _, _ in }
        }
        #expect(
            error?.code == .invalidSchedule && error?.attempted.contains(words) == true,
            "\(error?.attempted ?? "")"
        )
        #expect(virtual.pendingCount == 0 && Array(schedule.deadlines(count: 1)).isEmpty)
    }

    private static let two = DateComponents(hour: 2)

    /// No month of the Gregorian calendar is a leap month.
    private static let leapMonth: DateComponents = {
        var components = DateComponents(hour: 2)
        components.isLeapMonth = true
        return components
    }()

    @Test(arguments: [
        (Schedule.daily(at: .init(hour: 2)), "`on: .wall`"),
        (.once(at: Date(timeIntervalSince1970: 2e9)), "`on: .wall`"),
        (.every(.seconds(1), alignedTo: .origin(on: .wall)), "`on: .wall`"),
        (.computed("at dawn", on: .wall) { $0.advanced(by: .seconds(1)) }, "`on: .wall`"),
        (.once(at: .origin(on: .continuous)), "clock: .continuous"),
    ])
    func aServiceOfAnotherClockIsRefusedWithTheRightOne(schedule: Schedule, words: String) throws {
        let error = #expect(throws: TimerError.self) { _ = try PreciseTimer.schedule(schedule) { _, _ in } }
        #expect(error?.attempted.contains(words) == true, "\(error?.attempted ?? "")")
        // A timer that is set again keeps its service: there is no `on:` to pass.
        let timer = try PreciseTimer.schedule(.every(.seconds(60))) { _, _ in }
        let anew = #expect(throws: TimerError.self) {
            try timer.reschedule(.once(at: Date(timeIntervalSince1970: 2e9)))
        }
        #expect(anew?.attempted.contains("(schedule a timer `on: .wall`") == true, "\(anew?.attempted ?? "")")
    }

    @Test func aCalendarReadsAsItsTimesWithTheSourceOfItsRulesAndWhatIsLeftToChance() throws {
        let (zone, half) = (try ZoneReader(nil).read(), TimeZone(secondsFromGMT: 5_400))
        let (ten, day) = (Duration.seconds(600), Duration.seconds(86_400))
        let there = "GMT+0130 (Foundation, tzdata \(TimeZone.timeZoneDataVersion))"
        let texts: [(Schedule, String)] = [
            (.daily(at: .init(hour: 2, minute: 30)), "daily at 02:30, \(zone)"),
            (.weekly(on: .monday, .friday, at: .init(hour: 9, second: 5)), "weekly on mon, fri at 09:00:05, \(zone)"),
            (.hourly(at: 5, count: 2), "hourly at minute 5, \(zone), 2 ticks"),
            (.calendar(DateComponents(day: 1)), "at day: 1, \(zone)"),
            (
                .daily(at: .init(hour: 2), in: half, count: 1, spread: ten, jitter: .seconds(5), for: day),
                "daily at 02:00, \(there), spread over 600 s, jitter 5 s, for 86400 s, 1 tick"
            ), (.daily(at: DateComponents(timeZone: half, hour: 2)), "daily at 02:00, \(there)"),
        ]
        for (schedule, text) in texts { #expect("\(schedule)" == text) }
    }
}

/// What each form of the calendar does with each of its arguments: each is given alone, next to a zone.
struct CalendarFormTests {
    typealias Schedule = PreciseTimer.Schedule
    private typealias Form = @Sendable (TimeZone?, Int?, Duration?, Duration?, Duration?) -> Schedule

    private static let time = DateComponents(hour: 6, minute: 20)

    /// The beginning of each form's name, and what only its declaration has.
    private static let forms: [(name: String, part: String, make: Form)] = [
        ("calendar(_", "Components", { .calendar(time, in: $0, count: $1, spread: $2, jitter: $3, for: $4) }),
        ("daily(at", "at time", { .daily(at: time, in: $0, count: $1, spread: $2, jitter: $3, for: $4) }),
        ("hourly(at", "minute", { .hourly(at: 20, in: $0, count: $1, spread: $2, jitter: $3, for: $4) }),
        (
            "weekly(on:at", "y...",
            { .weekly(on: .thursday, at: time, in: $0, count: $1, spread: $2, jitter: $3, for: $4) }
        ),
        (
            "weekly(on:at", "[L",
            { .weekly(on: [.thursday], at: time, in: $0, count: $1, spread: $2, jitter: $3, for: $4) }
        ),
    ]

    /// What is seen of each argument that may be left out. Clocks in Kathmandu are 5:45 ahead, so that the minute of an
    /// hour tells the zone, too.
    private static let facts = [
        "in": "2026-01-01T06:20:00+05:45", "count": "4", "for": "3", "spread": "a delay", "jitter": "a delay for each",
    ]

    @Test(arguments: forms.indices) func eachArgumentOfAFormCounts(number: Int) throws {
        let (form, zone) = (Self.forms[number].make, try #require(TimeZone(identifier: "Asia/Kathmandu")))
        let (start, minutes) = (VirtualTime(clock: .wall).now, Duration.seconds(600))
        func dates(_ schedule: Schedule) throws -> [TimerInstant] {
            schedule.deadlines(after: try #require(Date(start)), count: 9).map { TimerInstant($0) }
        }
        let plain = try dates(form(zone, nil, nil, nil, nil))
        /// By how much later than its dates a timer's deadlines are, in words.
        func delay(_ schedule: Schedule) throws -> String {
            let virtual = VirtualTime(clock: .wall)
            let timer = try PreciseTimer.schedule(schedule, on: virtual.service) { _, _ in }
            let delays = try plain[..<2]
                .map { date in
                    let next = try #require(timer.nextDeadline)
                    virtual.advance(by: virtual.now.duration(to: next))
                    return date.duration(to: next)
                }
            #expect(delays.allSatisfy { $0 > .zero && $0 <= minutes })
            return delays[0] == delays[1] ? "a delay" : "a delay for each"
        }
        let facts = [
            "in": plain[0].text(in: zone), "count": "\(try dates(form(zone, 4, nil, nil, nil)).count)",
            "for": "\(try dates(form(zone, nil, nil, nil, start.duration(to: plain[2]))).count)",
            "spread": try delay(form(zone, nil, minutes, nil, nil)),
            "jitter": try delay(form(zone, nil, nil, minutes, nil)),
        ]
        #expect(facts == Self.facts, "\(Self.forms[number].name)")
    }

    @Test func deadlinesAreThoseAfterADateAndAsManyAsAskedFor() {
        let date = Date(timeIntervalSince1970: 1e9)
        let dates = Schedule.hourly(in: .gmt).deadlines(after: date, count: 2)
        #expect(dates.map { $0.timeIntervalSince(date) } == [800, 4_400])
    }

    @Test func everyArgumentThatMayBeLeftOutIsSeen() throws {
        let forms = Self.forms.map { form in
            FormRow(form.name + ":in:count:spread:jitter:for:)", form.part, sees: Set(Self.facts.keys).union(["at"]))
        }
        let deadlines = FormRow("deadlines(after:count:)", sees: ["after", "count"])
        #expect(try flaws(of: forms + [deadlines], in: "PreciseTimerFoundation") == [])
    }
}

/// The deadlines of calendars, exact on virtual time. (``CalendarSearchTests`` compare with the clocks of a year.)
struct CalendarDeadlineTests {
    typealias Schedule = PreciseTimer.Schedule

    /// Components, zone, start, and the deadlines, as the zone's clocks show them. Some schedules have an end.
    private static let table = """
        // A day that the zone leaves out has no deadline: Samoa went on from 29 to 31 December 2011.
        hour 2 minute 30 | Pacific/Apia | 2011-12-29T06:00:00Z | \
        2011-12-29T02:30:00-10:00 2011-12-31T02:30:00+14:00 2012-01-01T02:30:00+14:00

        hour 9 weekday 6 | Pacific/Apia | 2011-12-22T00:00:00Z | 2011-12-23T09:00:00-10:00 2012-01-06T09:00:00+14:00

        minute 30 | Pacific/Apia | 2011-12-30T09:00:00Z | 2011-12-29T23:30:00-10:00 2011-12-31T00:30:00+14:00

        // Clocks that go back over midnight show both days again: St John's, from 00:01 to 23:01 of the day before.
        second 0 | America/St_Johns | 2010-11-07T02:28:30Z | \
        2010-11-06T23:59:00-02:30 2010-11-07T00:00:00-02:30 2010-11-06T23:01:00-03:30

        day 6 minute 30 | America/St_Johns | 2010-11-07T02:30:30Z | 2010-11-06T23:30:00-03:30 2010-12-06T00:30:00-03:30

        hour 23 minute 30 | America/St_Johns | 2010-11-06T12:00:00Z | \
        2010-11-06T23:30:00-02:30 2010-11-07T23:30:00-03:30

        // The hour that passes twice in the next year.
        month 11 day 1 minute 30 | America/Havana | 2025-11-05T00:00:00Z | \
        2026-11-01T00:30:00-04:00 2026-11-01T00:30:00-05:00 2026-11-01T01:30:00-05:00

        // cron-parser PR #115 and ccronexpr #32: dates that few years have are missed, or never found.
        month 2 day 29 | UTC | 2097-01-01T00:00:00Z | 2104-02-29T00:00:00Z

        month 2 day 29 weekday 1 | UTC | 2080-01-01T00:00:00Z | 2088-02-29T00:00:00Z 2128-02-29T00:00:00Z

        // A year has an end, also one that is more than 292 years after 1970.
        year 2027 | UTC | 2026-01-05T00:00:00Z | 2027-01-01T00:00:00Z end

        year 2425 | UTC | 2026-01-05T00:00:00Z | 2425-01-01T00:00:00Z end
        """

    @Test(arguments: table.components(separatedBy: "\n").filter { !$0.isEmpty && !$0.hasPrefix("//") })
    func deadlinesAreWhatTheClocksOfTheZoneShow(row: String) throws {
        let parts = row.components(separatedBy: " | ")
        var components = DateComponents()
        let words = parts[0].components(separatedBy: " ")
        for index in stride(from: 0, to: words.count, by: 2) {
            let component = CalendarOracle.allComponents.first { "\($0)" == words[index] }
            components.setValue(Int(words[index + 1]), for: try #require(component))
        }
        let zone = try #require(TimeZone(identifier: parts[1]), "the machine has no zone database")
        try expect(.calendar(components, in: zone), in: zone, from: parts[2], parts[3])
    }

    /// Expects the deadlines of a schedule, as dates and with one tick at each.
    private func expect(
        _ schedule: Schedule,
        in zone: TimeZone = .gmt,
        from start: String,
        _ deadlines: String
    ) throws {
        let (virtual, log) = (VirtualTime(clock: .wall, at: try Date(start, strategy: .iso8601)), Log())
        let timer = try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { $0.note($1) }
        let expected = deadlines.components(separatedBy: " ")
        while log.count < expected.count, let next = timer.nextDeadline {
            virtual.advance(by: virtual.now.duration(to: next))
        }
        let (ticks, dates) = (log.ticks, schedule.deadlines(after: try Date(start, strategy: .iso8601)))
        #expect(ticks.map { Date($0.deadline) } == dates.prefix(ticks.count).map { $0 })
        let end = timer.state == .ended(.completed) && virtual.pendingCount == 0 ? ["end"] : []
        #expect(ticks.map { $0.deadline.text(in: zone) } + end == expected, "\(schedule) from \(start)")
        #expect(ticks == ticks.enumerated().map { PreciseTimer.Tick(index: $0, deadline: $1.deadline) })
    }

    /// The zone that is given goes before that of the components.
    @Test func theComponentsMayHaveAZone() throws {
        let tokyo = DateComponents(timeZone: TimeZone(identifier: "Asia/Tokyo"), hour: 6)
        let forms: [(there: Schedule, utc: Schedule)] = [
            (.calendar(tokyo), .calendar(tokyo, in: .gmt)), (.daily(at: tokyo), .daily(at: tokyo, in: .gmt)),
            (.weekly(on: .tuesday, at: tokyo), .weekly(on: .tuesday, at: tokyo, in: .gmt)),
        ]
        for form in forms {
            try expect(form.there, from: "2026-01-05T09:00:00Z", "2026-01-05T21:00:00Z")
            try expect(form.utc, from: "2026-01-05T09:00:00Z", "2026-01-06T06:00:00Z")
        }
    }

    /// A time of a day may have a calendar, and a nanosecond that is zero.
    @Test func eachDayOfTheWeekIsItself() throws {
        let calendar = Calendar(identifier: .hebrew)
        let time = DateComponents(calendar: calendar, timeZone: .gmt, hour: 6, minute: 5, second: 4, nanosecond: 0)
        let week: [Locale.Weekday] = [.tuesday, .wednesday, .thursday, .friday, .saturday, .sunday, .monday]
        for (day, date) in zip(week, 13...19) {
            try expect(.weekly(on: [day], at: time), from: "2026-01-12T06:05:04Z", "2026-01-\(date)T06:05:04Z")
        }
    }

    @Test func otherCalendarsHaveTheirYears() throws {
        let newYear = DateComponents(calendar: Calendar(identifier: .hebrew), month: 1)
        let years = "2026-09-12T00:00:00Z 2027-10-02T00:00:00Z 2028-09-21T00:00:00Z"
        try expect(.calendar(newYear, in: .gmt), from: "2026-01-01T00:00:00Z", years)
        // The sixth month of 2025 has a leap month after it.
        var sixth = DateComponents(calendar: Calendar(identifier: .chinese), month: 6, day: 1)
        for (isLeapMonth, dates) in [
            (false, "2025-06-25T00:00:00Z 2026-07-14T00:00:00Z"), (true, "2025-07-25T00:00:00Z 2036-07-23T00:00:00Z"),
        ] {
            sixth.isLeapMonth = isLeapMonth
            try expect(.calendar(sixth, in: .gmt), from: "2025-01-01T00:00:00Z", dates)
        }
    }

    @Test func aYearOfWeeksBeginsUpToSixDaysBeforeTheYearOrAfter() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.firstWeekday = 1
        for (least, year, start, deadline) in [
            (1, 2028, "2027-06-01T00:00:00Z", "2027-12-26T00:00:00Z end"),
            (7, 2029, "2028-06-01T00:00:00Z", "2029-01-07T00:00:00Z end"),
        ] {
            calendar.minimumDaysInFirstWeek = least
            let components = DateComponents(calendar: calendar, yearForWeekOfYear: year)
            try expect(.calendar(components, in: .gmt), from: start, deadline)
        }
    }
}

extension TimerInstant {
    /// The time that a zone's clocks show.
    fileprivate func text(in zone: TimeZone) -> String {
        Date(self)?.ISO8601Format(Date.ISO8601FormatStyle(timeZoneSeparator: .colon, timeZone: zone)) ?? "\(self)"
    }
}
