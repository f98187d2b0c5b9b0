import Foundation
import PreciseTimer
import PreciseTimerFoundation
import TestSupport
import Testing

/// The search for the deadlines of calendars, against clocks that are read minute by minute and day by day.
@Suite(.works("a search keeps a processor busy")) struct CalendarSearchTests {
    /// All pairs and triples of components, and each alone. An ordinal has its weekday.
    private static let combinations: [[Calendar.Component]] = {
        let all = CalendarOracle.components + [.second]
        let indices = all.indices
        let single = indices.map { [$0] }
        let pairs = indices.flatMap { first in indices[(first + 1)...].map { [first, $0] } }
        let triples = pairs.flatMap { pair in indices[(pair[1] + 1)...].map { pair + [$0] } }
        let thinned = stride(from: 0, to: triples.count, by: Effort.of(9, thorough: 1)).map { triples[$0] }
        return (single + pairs + thinned)
            .map { numbers in
                let components = numbers.map { all[$0] }
                let isAlone = components.contains(.weekdayOrdinal) && !components.contains(.weekday)
                return isAlone ? components + [.weekday] : components
            }
    }()

    @Test(arguments: ["UTC", "Europe/Berlin", "Australia/Lord_Howe"])
    func deadlinesAreTheInstantsAtWhichTheClocksShowTheComponents(identifier: String) throws {
        let zone = try #require(TimeZone(identifier: identifier))
        let oracle = CalendarOracle(zone)
        var random = SeededGenerator(seed: 1)
        for combination in Self.combinations {
            let values = oracle.values(of: combination, using: &random)
            let (rule, expected) = (CalendarRule(DateComponents(values), in: zone), oracle.instants(of: values))
            let nearJumps = oracle.jumps.flatMap { jump in [172_800, 10_800, 300, 1].map { jump - $0 } }
            let starts = [oracle.start, Int.random(in: oracle.start..<oracle.end, using: &random)] + nearJumps
            for start in starts {
                let next = Array(expected[expected.firstIndex(after: start)...].prefix(12))
                var (found, instant) = ([Int](), start)
                while found.count < 12, let next = rule.next(after: instant), next < oracle.end {
                    found.append(next)
                    instant = next
                }
                #expect(found == next, "\(values) after \(start)")
                if found != next { return }
            }
        }
    }

    // MARK: Clocks that jump

    /// The next instants, as the zone's clocks show them.
    private func texts(_ components: DateComponents, _ identifier: String, from start: String, count: Int) throws
        -> [String]
    {
        let zone = try #require(TimeZone(identifier: identifier))
        let rule = CalendarRule(components, in: zone)
        var (instant, texts) = (Int(try Date(start, strategy: .iso8601).timeIntervalSince1970), [String]())
        while texts.count < count, let next = rule.next(after: instant) {
            texts.append(Date(timeIntervalSince1970: Double(next)).text(in: zone))
            instant = next
        }
        return texts
    }

    @Test(arguments: ["2026-11-01T04:00:00Z", "2026-10-20T00:00:00Z", "2026-02-01T00:00:00Z", "2025-11-05T00:00:00Z"])
    func anHourThatPassesTwiceTicksTwiceWheneverTheTimerBegan(start: String) throws {
        let components = DateComponents(month: 11, day: 1, minute: 30)
        #expect(
            try texts(components, "America/Havana", from: start, count: 3) == [
                "2026-11-01T00:30:00-04:00", "2026-11-01T00:30:00-05:00", "2026-11-01T01:30:00-05:00",
            ]
        )
    }

    @Test func aMidnightThatADayHasTwiceIsOneDeadline() throws {
        #expect(
            try texts(DateComponents(month: 11, day: 1), "America/Havana", from: "2026-10-20T00:00:00Z", count: 2)
                == ["2026-11-01T00:00:00-04:00", "2027-11-01T00:00:00-04:00"]
        )
    }

    /// At midnight after 29 December 2011, clocks in Samoa went on to 31 December.
    @Test func aDayThatAZoneLeavesOutHasNoDeadline() throws {
        for (components, time) in [(DateComponents(hour: 2, minute: 30), "02:30"), (DateComponents(hour: 0), "00:00")] {
            #expect(
                try texts(components, "Pacific/Apia", from: "2011-12-29T06:00:00Z", count: 3) == [
                    "2011-12-29T\(time):00-10:00", "2011-12-31T\(time):00+14:00", "2012-01-01T\(time):00+14:00",
                ]
            )
        }
        #expect(
            try texts(DateComponents(hour: 9, weekday: 6), "Pacific/Apia", from: "2011-12-22T00:00:00Z", count: 2)
                == ["2011-12-23T09:00:00-10:00", "2012-01-06T09:00:00+14:00"]
        )
        #expect(
            try texts(DateComponents(minute: 30), "Pacific/Apia", from: "2011-12-30T09:00:00Z", count: 2)
                == ["2011-12-29T23:30:00-10:00", "2011-12-31T00:30:00+14:00"]
        )
    }

    /// On 28 March 2026, clocks in Nuuk go on from 23:00 to midnight.
    @Test func aTimeThatTheEndOfADayLacksIsMidnight() throws {
        #expect(
            try texts(DateComponents(hour: 23, minute: 30), "America/Nuuk", from: "2026-03-28T12:00:00Z", count: 2)
                == ["2026-03-29T00:00:00-01:00", "2026-03-29T23:30:00-01:00"]
        )
        #expect(
            try texts(DateComponents(hour: 0), "America/Nuuk", from: "2026-03-28T12:00:00Z", count: 2)
                == ["2026-03-29T00:00:00-01:00", "2026-03-30T00:00:00-01:00"]
        )
    }

    /// On 7 November 2010, clocks in St John's went back from 00:01 to 23:01 of the day before.
    @Test func clocksThatGoBackOverMidnightShowBothDaysAgain() throws {
        #expect(
            try texts(DateComponents(second: 0), "America/St_Johns", from: "2010-11-07T02:28:30Z", count: 3) == [
                "2010-11-06T23:59:00-02:30", "2010-11-07T00:00:00-02:30", "2010-11-06T23:01:00-03:30",
            ]
        )
        #expect(
            try texts(DateComponents(day: 6, minute: 30), "America/St_Johns", from: "2010-11-07T02:30:30Z", count: 2)
                == ["2010-11-06T23:30:00-03:30", "2010-12-06T00:30:00-03:30"]
        )
        #expect(
            try texts(DateComponents(hour: 23, minute: 30), "America/St_Johns", from: "2010-11-06T12:00:00Z", count: 2)
                == ["2010-11-06T23:30:00-02:30", "2010-11-07T23:30:00-03:30"]
        )
    }

    // MARK: Rare days

    /// Calendars in which a search leaves out days, with all kinds of weeks, and some in which it does not.
    private static let calendars: [Calendar] = {
        let regular = (1...7)
            .map { number in
                var calendar = Calendar(identifier: number % 2 == 0 ? .gregorian : .iso8601)
                (calendar.firstWeekday, calendar.minimumDaysInFirstWeek) = (number, number * 3 % 7 + 1)
                return calendar
            }
        let others: [Calendar.Identifier] = [.gregorian, .iso8601, .buddhist, .republicOfChina, .hebrew, .coptic]
        return regular + others.map { Calendar(identifier: $0) }
    }()

    @Test(arguments: calendars) func aSearchSkipsNoDay(calendar: Calendar) {
        var (calendar, random) = (calendar, SeededGenerator(seed: 2))
        calendar.timeZone = .gmt
        let units: [Calendar.Component] = [
            .year, .yearForWeekOfYear, .quarter, .month, .weekOfYear, .weekOfMonth, .dayOfYear, .day, .weekday,
        ]
        // The rarest days come once in 40 years. A search looks 100 years ahead in the last two calendars.
        let isBounded = [.hebrew, .coptic].contains(calendar.identifier)
        let days = (0..<Effort.of(45, thorough: isBounded ? 90 : 400) * 365)
            .map { calendar.dateComponents(Set(units), from: Date(timeIntervalSince1970: Double($0 * 86_400))) }
        for _ in 0..<Effort.of(8, thorough: 30) {
            let chosen = units.shuffled(using: &random).prefix(.random(in: 1...4, using: &random))
                .filter { $0 != .quarter }
            guard let day = days.randomElement(using: &random), !chosen.isEmpty else { continue }
            let values = CalendarOracle.Values(uniqueKeysWithValues: chosen.map { ($0, day.value(for: $0) ?? 0) })
            let expected = days.indices.filter { number in
                values.allSatisfy { days[number].value(for: $0) == $1 }
            }
            var components = DateComponents(values)
            (components.calendar, components.hour) = (calendar, 0)
            let rule = CalendarRule(components, in: .gmt)
            var (found, instant) = ([Int](), -1)
            while let next = rule.next(after: instant), next > instant, next / 86_400 < days.count {
                found.append(next / 86_400)
                instant = next
            }
            #expect(found == expected, "\(values)")
        }
    }

    @Test func otherCalendarsHaveTheirYears() throws {
        let newYear = DateComponents(calendar: Calendar(identifier: .hebrew), month: 1)
        #expect(
            try texts(newYear, "UTC", from: "2026-01-01T00:00:00Z", count: 3)
                == ["2026-09-12T00:00:00Z", "2027-10-02T00:00:00Z", "2028-09-21T00:00:00Z"]
        )
        // The sixth month of this year has a leap month after it.
        var sixth = DateComponents(calendar: Calendar(identifier: .chinese), month: 6, day: 1)
        #expect(
            try texts(sixth, "UTC", from: "2025-01-01T00:00:00Z", count: 2)
                == ["2025-06-25T00:00:00Z", "2026-07-14T00:00:00Z"]
        )
        sixth.isLeapMonth = true
        #expect(
            try texts(sixth, "UTC", from: "2025-01-01T00:00:00Z", count: 2)
                == ["2025-07-25T00:00:00Z", "2036-07-23T00:00:00Z"]
        )
    }

    @Test func aMonthAfterAShortOneBeginsWithItsFirstDay() throws {
        for components in [DateComponents(month: 3), DateComponents(month: 3, hour: 0), DateComponents(day: 1)] {
            #expect(
                try texts(components, "UTC", from: "2026-02-02T00:00:00Z", count: 1) == ["2026-03-01T00:00:00Z"]
            )
        }
    }

    @Test func aYearOfWeeksBeginsUpToSixDaysBeforeTheYearOrAfter() throws {
        var calendar = Calendar(identifier: .gregorian)
        (calendar.firstWeekday, calendar.minimumDaysInFirstWeek) = (1, 1)
        let early = DateComponents(calendar: calendar, yearForWeekOfYear: 2028)
        #expect(try texts(early, "UTC", from: "2027-06-01T00:00:00Z", count: 2) == ["2027-12-26T00:00:00Z"])
        calendar.minimumDaysInFirstWeek = 7
        let late = DateComponents(calendar: calendar, yearForWeekOfYear: 2029)
        #expect(try texts(late, "UTC", from: "2028-06-01T00:00:00Z", count: 2) == ["2029-01-07T00:00:00Z"])
    }

    @Test func theRarestDayOfTheGregorianCalendarIsFound() throws {
        let components = DateComponents(month: 2, day: 29, weekday: 1)
        #expect(
            try texts(components, "UTC", from: "2080-01-01T00:00:00Z", count: 2)
                == ["2088-02-29T00:00:00Z", "2128-02-29T00:00:00Z"]
        )
        #expect(
            try texts(DateComponents(quarter: 2), "UTC", from: "2026-03-30T00:00:00Z", count: 2)
                == ["2026-04-01T00:00:00Z", "2027-04-01T00:00:00Z"]
        )
    }
}

extension [Int] {
    /// The index of the first number of an ascending array that is greater than another.
    fileprivate func firstIndex(after number: Int) -> Int {
        var (start, end) = (startIndex, endIndex)
        while start < end {
            let middle = (start + end) / 2
            if self[middle] > number { end = middle } else { start = middle + 1 }
        }
        return start
    }
}

extension DateComponents {
    fileprivate init(_ values: CalendarOracle.Values) {
        self.init()
        for (component, value) in values { setValue(value, for: component) }
    }
}
