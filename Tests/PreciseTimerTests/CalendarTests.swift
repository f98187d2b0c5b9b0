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

    @Test func theSharedServiceOfTheWallClockIsNeverEarly() throws {
        let (log, date) = (Log(), Date(timeIntervalSinceNow: 0.05))
        try PreciseTimer.schedule(.once(at: date), on: .wall, target: log) { $0.note($1) }
        #expect(eventually { log.count == 1 })
        #expect(log.ticks.allSatisfy { $0.deadline == TimerInstant(date) && $0.delivered >= $0.deadline })
    }

    @Test(arguments: [
        (Schedule.daily(at: .init(hour: 24)), "hour 24; give an hour from 0 to 23"),
        (.daily(at: .init(hour: 2, minute: 60)), "minute 60; give a minute from 0 to 59"),
        (.daily(at: .init(minute: 30)), "no hour; give an hour from 0 to 23"),
        (.daily(at: .init(year: 2026, day: 3, hour: 2)), "leave out year, day"),
        (.daily(at: .init(hour: 2, nanosecond: 1)), "leave out nanosecond"),
        (.weekly(on: [], at: .init(hour: 2)), "one day of the week"),
        (.weekly(on: .monday, at: .init(hour: -1)), "hour from 0 to 23"), (.hourly(at: 60), "a minute from 0 to 59"),
        // node-red cron-plus #110 and croniter #131: a date that never comes is searched for without end.
        (.calendar(DateComponents(month: 2, day: 30)), "400 years"),
        // rufus-scheduler PR #46: the last day of a month is taken for another one.
        (.calendar(DateComponents(day: 0)), "day 0; give a day from 1 to 31"),
        (.calendar(DateComponents(year: 2020)), "400 years"), (.calendar(DateComponents(year: 2427)), "400 years"),
        (.calendar(DateComponents()), "at least one"), (.calendar(DateComponents(era: 1)), "at least one"),
        (.calendar(DateComponents(second: 3, nanosecond: 5)), "whole seconds; leave out nanosecond 5"),
        (.calendar(DateComponents(hour: 1, second: 60)), "second 60; give a second from 0 to 59"),
        (.calendar(DateComponents(day: 1, weekdayOrdinal: 1)), "a weekdayOrdinal needs a weekday"),
        (.calendar(leapMonth), "a leap month in this calendar"), (.daily(at: leapMonth), "leave out isLeapMonth"),
        (.calendar(DateComponents(calendar: .init(identifier: .hebrew), month: 4, day: 30)), "100 years"),
        (.daily(at: two, count: 0), "with 0 ticks (the count must be at least 1)"),
        (.daily(at: two, spread: .seconds(-1)), "with a spread of -1 s (it must not be negative)"),
        (.daily(at: two, jitter: .seconds(-1)), "with a jitter of -1 s (it must be from zero to a day"),
        (.daily(at: two, jitter: .seconds(86_401)), "from zero to a day"),
        (.hourly(jitter: .seconds(3_601)), "from zero to an hour"),
        (.calendar(DateComponents(hour: 2, second: 0), jitter: .seconds(61)), "from zero to a minute"),
        (.calendar(DateComponents(hour: 2, minute: 5, second: 0), jitter: .seconds(86_401)), "from zero to a day"),
        (.calendar(DateComponents(month: 3), jitter: .seconds(86_401)), "from zero to a day"),
        (.calendar(DateComponents(month: 2, day: 29), in: .gmt, for: .seconds(1)), "for 1 s (no date comes in that"),
        (.daily(at: two, for: .seconds(-1)), "for -1 s (it must not be negative)"),
        (.once(at: .origin(on: .continuous)), "clock: .continuous"),
    ])
    func whatMakesNoSenseIsRefusedWithARemedy(schedule: Schedule, words: String) {
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

    @Test func aServiceOfAnotherClockIsRefusedWithTheRightOne() {
        let error = refusal { try PreciseTimer.schedule(.daily(at: Self.two)) { _, _ in } }
        #expect(error?.attempted.contains("`on: .wall`") == true)
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
        func dates(_ schedule: Schedule) throws -> [Date] {
            Array(schedule.deadlines(after: try #require(Date(start)), count: 9))
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
                    return TimerInstant(date).duration(to: next)
                }
            #expect(delays.allSatisfy { $0 > .zero && $0 <= minutes })
            return delays[0] == delays[1] ? "a delay" : "a delay for each"
        }
        let facts = [
            "in": plain[0].ISO8601Format(.init(timeZoneSeparator: .colon, timeZone: zone)),
            "count": "\(try dates(form(zone, 4, nil, nil, nil)).count)",
            "for": "\(try dates(form(zone, nil, nil, nil, start.duration(to: TimerInstant(plain[2])))).count)",
            "spread": try delay(form(zone, nil, minutes, nil, nil)),
            "jitter": try delay(form(zone, nil, nil, minutes, nil)),
        ]
        #expect(facts == Self.facts, "\(Self.forms[number].name)")
    }

    @Test func everyArgumentThatMayBeLeftOutIsSeen() throws {
        let forms = Self.forms.map { form in
            FormRow(form.name + ":in:count:spread:jitter:for:)", form.part, sees: Set(Self.facts.keys).union(["at"]))
        }
        let deadlines = FormRow("deadlines(after:count:)", sees: ["after", "count"])
        #expect(try flaws(of: forms + [deadlines], in: "PreciseTimerFoundation") == [])
    }
}

/// The deadlines of a schedule as dates. (``CalendarSearchTests`` compare with the clocks of a year.)
struct CalendarDeadlineTests {
    typealias Schedule = PreciseTimer.Schedule

    /// The first moment of 2026, UTC, a Thursday.
    private static let start = Date(timeIntervalSince1970: 1_767_225_600)
    private static let origin = TimerInstant(start)
    private static let east = TimeZone(secondsFromGMT: 5_400)

    /// A schedule, and its first three deadlines in seconds after the start. The zone that is given goes before that of
    /// the components.
    private static let table: [(schedule: Schedule, seconds: [Int])] = [
        (.daily(at: .init(hour: 2, minute: 30), in: .gmt), [9_000, 95_400, 181_800]),
        (.daily(at: .init(timeZone: east, hour: 2)), [1_800, 88_200, 174_600]),
        (.weekly(on: .friday, .thursday, at: .init(timeZone: east, hour: 1), in: .gmt), [3_600, 90_000, 608_400]),
        (.hourly(at: 5, in: .gmt, spread: .seconds(600), jitter: .seconds(60)), [300, 3_900, 7_500]),
        (.daily(at: .init(hour: 2), in: .gmt, count: 2), [7_200, 93_600]),
        (.daily(at: .init(hour: 2), in: .gmt, for: .seconds(86_400)), [7_200]),
        (.every(.seconds(10), at: origin.advanced(by: .seconds(-95))), [5, 15, 25]),
        (.every(.seconds(10), at: origin.advanced(by: .seconds(7)), count: 2), [7, 17]),
        (.every(.seconds(3_600), alignedTo: .origin(on: .wall)), [3_600, 7_200, 10_800]),
        (.every(.seconds(10), after: .seconds(3), spread: .seconds(5), jitter: .seconds(5)), [3, 13, 23]),
        (.every(.seconds(10), for: .seconds(25)), [10, 20]), (.rate(2, per: .seconds(60)), [30, 60, 90]),
        (.once(at: start), []), (.once(at: start.addingTimeInterval(5)), [5]), (.once(after: .seconds(7)), [7]),
        (.fixedDelay(.seconds(4)), [4]), (.onDemand, []), (.once(at: .origin(on: .continuous)), []),
        (.daily(at: .init(hour: 25)), []), (.every(.zero), []),
        (.computed { $0.advanced(by: .seconds(2)) }, [2, 4, 6]),
    ]

    @Test(arguments: table.indices) func aScheduleTellsItsDeadlinesAfterADate(number: Int) {
        let (schedule, seconds) = Self.table[number]
        let dates = schedule.deadlines(after: Self.start, count: 3)
        // It may be read again.
        for _ in 0..<2 {
            #expect(
                dates.map { $0.timeIntervalSince(Self.start) } as [Double] == seconds.map(Double.init),
                "\(schedule)"
            )
        }
        #expect(Array(schedule.deadlines(after: Self.start, count: 0)).isEmpty)
    }

    @Test func aDateIsComputedWhenItIsAskedFor() {
        let asked = Count()
        let rule = Schedule.computed { $0.advanced(by: .seconds(asked.add(1) > 0 ? 1 : 0)) }
        let iterator = rule.deadlines(after: Self.start).makeIterator()
        #expect(asked.value == 0)
        for number in 1...3 {
            _ = iterator.next()
            #expect(asked.value == number)
        }
    }

    /// A time of a day may have a calendar, and a nanosecond that is zero.
    @Test func eachDayOfTheWeekIsItself() {
        let calendar = Calendar(identifier: .hebrew)
        let time = DateComponents(calendar: calendar, timeZone: .gmt, hour: 6, minute: 5, second: 4, nanosecond: 0)
        let week: [Locale.Weekday] = [.thursday, .friday, .saturday, .sunday, .monday, .tuesday, .wednesday]
        let dates = week.flatMap { Schedule.weekly(on: [$0], at: time).deadlines(after: Self.start, count: 1) }
        let days = dates.map { Int($0.timeIntervalSince(Self.start)) - 21_904 }
        #expect(days == Array(stride(from: 0, to: 7 * 86_400, by: 86_400)))
    }

    /// Components, the day before their first deadline is searched for, and deadlines at midnight, UTC.
    private static let rareDates: [(components: DateComponents, start: String, deadlines: String)] = {
        let hebrew = Calendar(identifier: .hebrew)
        // The sixth month of 2025 has a leap month after it.
        let sixth = DateComponents(calendar: Calendar(identifier: .chinese), month: 6, day: 1)
        var leap = sixth
        leap.isLeapMonth = true
        // A year of weeks may begin before the year.
        var early = Calendar(identifier: .gregorian)
        (early.firstWeekday, early.minimumDaysInFirstWeek) = (1, 1)
        return [
            // cron-parser PR #115 and ccronexpr #32: dates that few years have are missed, or never found.
            (DateComponents(month: 2, day: 29), "2097-01-01", "2104-02-29"),
            (DateComponents(month: 2, day: 29, weekday: 1), "2080-01-01", "2088-02-29 2128-02-29"),
            // A year has an end, also one that is more than 292 years after 1970.
            (DateComponents(year: 2027), "2026-01-05", "2027-01-01 end"),
            (DateComponents(year: 2425), "2026-01-05", "2425-01-01 end"),
            (DateComponents(calendar: hebrew, month: 1), "2026-01-01", "2026-09-12 2027-10-02 2028-09-21"),
            (DateComponents(calendar: early, yearForWeekOfYear: 2028), "2027-06-01", "2027-12-26 end"),
            (sixth, "2025-01-01", "2025-06-25 2026-07-14"), (leap, "2025-01-01", "2025-07-25 2036-07-23"),
        ]
    }()

    @Test(arguments: rareDates.indices) func datesThatAreYearsAwayAreFound(number: Int) throws {
        let (components, start, deadlines) = Self.rareDates[number]
        let (schedule, count) = (Schedule.calendar(components, in: .gmt), deadlines.split(separator: " ").count)
        let dates = schedule.deadlines(after: try Date("\(start)T00:00:00Z", strategy: .iso8601), count: count)
        var texts = dates.map { $0.formatted(.iso8601).replacing("T00:00:00Z", with: "") } as [String]
        if texts.count < count { texts.append("end") }
        #expect(texts.joined(separator: " ") == deadlines)
    }
}

/// What calendars leave to chance, and what ends them. Virtual time begins with the year 2026, at midnight.
struct CalendarChanceTests {
    typealias Schedule = PreciseTimer.Schedule

    private let scene = Scene(clock: .wall)

    private static let half = DateComponents(hour: 2, minute: 30)

    /// By how much deadlines are later than 02:30, in seconds.
    private static func delays(_ deadlines: [TimerInstant]) -> [Double] {
        deadlines.map { Double($0.nanoseconds % 86_400_000_000_000) / 1e9 - 9_000 }
    }

    // MARK: Chance

    /// One that is rescheduled draws another, too.
    @Test func eachTimerOfAScheduleHasItsOwnFixedDelay() throws {
        let nightly = Schedule.daily(at: Self.half, in: .gmt, spread: .seconds(600))
        var (delays, timer): (Set<Double>, PreciseTimer?) = ([], nil)
        for number in 0..<20 {
            let before = scene.log.count
            if number % 2 == 0 { timer = try scene.timer(nightly) } else { try timer?.reschedule(nightly) }
            scene.virtual.advance(by: .seconds(3 * 86_400))
            let own = Self.delays(scene.log.ticks.dropFirst(before).map(\.deadline))
            #expect(own.count == 3 && Set(own).count == 1 && own.allSatisfy { (0...600).contains($0) }, "\(own)")
            delays.formUnion(own)
            if number % 2 == 1 { timer?.cancel() }
        }
        #expect(delays.count == 20 && (delays.max() ?? 0) - (delays.min() ?? 0) > 200, "\(delays)")
    }

    @Test func theDelaysFollowFromTheSeedOfVirtualTime() throws {
        let nightly = Schedule.daily(at: Self.half, in: .gmt, spread: .seconds(600))
        let deadlines = try [1, 1, 2]
            .map { try Scene(clock: .wall, seed: $0).timer(nightly).nextDeadline }
        #expect(deadlines[0] == deadlines[1] && deadlines[0] != deadlines[2])
    }

    /// The clocks of the zone jump by an hour on 29 March, and by half an hour on Lord Howe Island.
    @Test(arguments: ["Europe/Berlin", "Australia/Lord_Howe"], [false, true])
    func theLongestJitterKeepsTheOrderOfTheDates(identifier: String, isHourly: Bool) throws {
        let zone = try #require(TimeZone(identifier: identifier))
        let jittered: Schedule =
            isHourly
            ? .hourly(at: 30, in: zone, jitter: .seconds(3_600))
            : .daily(at: Self.half, in: zone, jitter: .seconds(86_400))
        let start = try #require(Date(scene.virtual.now))
        // Those of a schedule lack its jitter.
        let dates = Array(jittered.deadlines(after: start, count: isHourly ? 3_000 : 300))
        let timer = try scene.timer(jittered)
        scene.virtual.advance(by: .seconds(isHourly ? 120 * 86_400 : 290 * 86_400))
        timer.cancel()
        let ticks = scene.log.ticks
        #expect(ticks.count > (isHourly ? 2_870 : 285) && ticks.map(\.index) == Array(0..<ticks.count))
        // The first deadline may be that of a date before the start.
        let first = ticks[0].deadline < TimerInstant(dates[0]) ? 1 : 0
        let misplaced = ticks.indices.dropFirst(first)
            .first { number in
                let range = TimerInstant(dates[number - first])..<TimerInstant(dates[number - first + 1])
                return !range.contains(ticks[number].deadline)
            }
        #expect(misplaced == nil)
        let longest = zip(dates, ticks.dropFirst(first)).map { TimerInstant($0).duration(to: $1.deadline) }.max()
        #expect(longest.map { $0 > .seconds(isHourly ? 3_400 : 80_000) } == true)
    }

    /// The watch of the clock computes each deadline anew about once a minute, also between a date and its deadline.
    @Test(arguments: [(600, nil), (nil, 600), (86_400, 86_400)] as [(Int?, Int?)])
    func aCheckOfTheClockMovesNoDeadline(spread: Int?, jitter: Int?) throws {
        let nightly = Schedule.daily(
            at: Self.half,
            in: .gmt,
            spread: spread.map { .seconds($0) },
            jitter: jitter.map { .seconds($0) }
        )
        let timer = try scene.timer(nightly)
        for _ in 0..<10 {
            let next = try #require(timer.nextDeadline)
            scene.virtual.advance(by: scene.virtual.now.duration(to: next) - .nanoseconds(1))
            scene.virtual.inject(.stepClock(by: .zero))
            scene.virtual.advance(by: .zero)
            #expect(timer.nextDeadline == next)
            scene.virtual.advance(by: .nanoseconds(1))
            scene.virtual.inject(.stepClock(by: .seconds(-30)))
            scene.virtual.advance(by: .seconds(30))
        }
        #expect(scene.log.ticks.map(\.index) == Array(0..<10) && scene.log.ticks.allSatisfy { $0.missed == 0 })
    }

    @Test func aTickThatIsLateCountsTheDeadlinesAndNotTheDates() throws {
        let timer = try scene.timer(.daily(at: Self.half, in: .gmt, spread: .seconds(7_200)))
        let first = try #require(timer.nextDeadline)
        for pause in [scene.virtual.now.duration(to: first) + .seconds(86_399), .seconds(86_401)] {
            scene.virtual.jump(by: pause)
            scene.virtual.advance(by: .zero)
        }
        #expect(scene.log.ticks.map { [$0.index, $0.missed] } == [[0, 0], [1, 1]])
    }

    // MARK: Ends

    @Test(arguments: [
        (Schedule.daily(at: half, in: .gmt, count: 3), 3),
        (.daily(at: half, in: .gmt, for: .seconds(9_000)), 1),
        (.hourly(at: 30, in: .gmt, jitter: .seconds(600), for: .seconds(7_200)), 2),
        (.daily(at: half, in: .gmt, count: 9, spread: .seconds(3_600), for: .seconds(2 * 86_400)), 2),
    ])
    func aCountAndASpanEndATimer(schedule: Schedule, ticks: Int) throws {
        let timer = try scene.timer(schedule)
        scene.virtual.advance(by: .seconds(40 * 86_400))
        #expect(scene.log.ticks.map(\.index) == Array(0..<ticks))
        #expect(timer.state == .ended(.completed) && scene.virtual.pendingCount == 0)
    }

    @Test func aJitterEndsWithTheSpan() throws {
        let timer = try scene.timer(.daily(at: Self.half, in: .gmt, jitter: .seconds(3_600), for: .seconds(9_000)))
        #expect(timer.nextDeadline == scene.virtual.now.advanced(by: .seconds(9_000)))
    }

    /// One day passes, and then nine at once.
    @Test(
        arguments: [(.skip, [[0, 0], [1, 8]]), (.catchUp(limit: 5), [[0, 0], [1, 0], [2, 0]])]
            as [(PreciseTimer.MissedTickPolicy, [[Int]])]
    )
    func theLastTickOfACountStandsForAllThatHavePassed(policy: PreciseTimer.MissedTickPolicy, ticks: [[Int]]) throws {
        let timer = try scene.timer(.daily(at: Self.half, in: .gmt, count: ticks.count), missed: policy)
        scene.virtual.advance(by: .seconds(86_400))
        scene.virtual.jump(by: .seconds(9 * 86_400))
        scene.virtual.advance(by: .zero)
        #expect(scene.log.ticks.map { [$0.index, $0.missed] } == ticks)
        #expect(timer.state == .ended(.completed))
    }
}
