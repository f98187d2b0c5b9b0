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
        let thinned = stride(from: 0, to: triples.count, by: Effort.of(18, thorough: 1)).map { triples[$0] }
        return (single + pairs + thinned)
            .map { numbers in
                let components = numbers.map { all[$0] }
                let isAlone = components.contains(.weekdayOrdinal) && !components.contains(.weekday)
                return isAlone ? components + [.weekday] : components
            }
    }()

    /// Clocks jump by an hour, by half an hour, and in Havana and Nuuk from midnight or to it. In St John's they went
    /// back from 00:01 to the day before, and Samoa left out a day. Past years: of others, Foundation may know older
    /// rules than the system.
    @Test(arguments: [
        ("Europe/Berlin", 2024), ("Australia/Lord_Howe", 2024), ("America/Havana", 2024), ("America/Nuuk", 2024),
        ("America/St_Johns", 2010), ("Pacific/Apia", 2011),
    ])
    func deadlinesAreTheInstantsAtWhichTheClocksShowTheComponents(identifier: String, year: Int) throws {
        let zone = try #require(TimeZone(identifier: identifier))
        let oracle = try CalendarOracle(zone, of: year)
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

/// What the clocks of a zone show in each minute of a year, and when a schedule of the calendar is due by that.
/// It reads the clocks minute by minute, and computes nothing from one date to another.
private struct CalendarOracle {
    typealias Values = [Calendar.Component: Int]

    static let components: [Calendar.Component] = [
        .year, .yearForWeekOfYear, .quarter, .month, .weekOfYear, .weekOfMonth, .dayOfYear, .day, .weekday,
        .weekdayOrdinal, .hour, .minute,
    ]

    /// A minute of the clocks: one that passes, or one that the clocks jump over at this instant.
    private struct Minute {
        let instant: Int
        let minute: Int
        /// Whether the clocks jump over it.
        let isSkipped: Bool
        /// Whether the clocks have shown it before.
        let isRepeated: Bool
    }

    /// Minutes of one hour, in which the calendar shows the same.
    private struct Hour {
        let shown: DateComponents
        var minutes: [Minute] = []
    }

    let start: Int
    let end: Int
    /// The instants at which the clocks jump.
    private(set) var jumps: [Int] = []
    private var hours: [Hour] = []
    private var hoursOfJumps: [Hour] = []

    init(_ zone: TimeZone, of year: Int) throws {
        (start, end) = (try second("\(year)-01-01T00:00:00Z"), try second("\(year + 1)-01-01T00:00:00Z"))
        var (there, utc) = (Calendar(identifier: .gregorian), Calendar(identifier: .gregorian))
        (there.timeZone, utc.timeZone) = (zone, .gmt)
        var next = start + zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(start)))
        for instant in stride(from: start, to: end, by: 60) {
            let date = Date(timeIntervalSince1970: Double(instant))
            let now = instant + zone.secondsFromGMT(for: date)
            // A day that is left out whole has no deadline.
            for skipped in stride(from: next, to: now, by: 60) where now < next + 86_400 {
                add(instant, utc, Date(timeIntervalSince1970: Double(skipped)), isSkipped: true)
            }
            if next != now, jumps.last.map({ $0 + 86_400 < instant }) ?? true { jumps.append(instant) }
            add(instant, there, date, isRepeated: now < next)
            next = max(next, now + 60)
        }
        hoursOfJumps = hours.filter { hour in hour.minutes.contains { $0.isSkipped || $0.isRepeated } }
    }

    private mutating func add(
        _ instant: Int,
        _ calendar: Calendar,
        _ date: Date,
        isSkipped: Bool = false,
        isRepeated: Bool = false
    ) {
        let time = calendar.dateComponents([.day, .hour, .minute], from: date)
        if hours.last?.shown.day != time.day || hours.last?.shown.hour != time.hour {
            var shown = calendar.dateComponents(Set(Self.components), from: date)
            // Foundation's quarter of 31 March is the second.
            shown.quarter = shown.month.map { ($0 + 2) / 3 }
            hours.append(Hour(shown: shown))
        }
        hours[hours.endIndex - 1].minutes
            .append(Minute(instant: instant, minute: time.minute ?? 0, isSkipped: isSkipped, isRepeated: isRepeated))
    }

    /// The values of some components in a minute, which come together at least then: every other time in an hour in
    /// which the clocks jump.
    func values(of components: [Calendar.Component], using random: inout some RandomNumberGenerator) -> Values {
        let isNearJump = Bool.random(using: &random)
        var shown = (isNearJump ? hoursOfJumps : hours).randomElement(using: &random)?.shown ?? DateComponents()
        (shown.minute, shown.second) = (.random(in: 0..<60, using: &random), .random(in: 0..<60, using: &random))
        return Values(uniqueKeysWithValues: components.map { ($0, shown.value(for: $0) ?? 0) })
    }

    /// The instants in the year at which a schedule with these values is due.
    func instants(of values: Values) -> [Int] {
        var wanted = values
        let second = wanted.removeValue(forKey: .second)
        var minute = wanted.removeValue(forKey: .minute)
        if second == nil, minute == nil {
            minute = 0
            wanted[.hour] = wanted[.hour] ?? 0
        }
        let times = Set([Calendar.Component.second, .minute, .hour])
        let isFirstDayOnly = times.union([.day, .dayOfYear, .weekday]).isDisjoint(with: values.keys)
        let hasHour = values[.hour] != nil || times.isDisjoint(with: values.keys)
        var instants: [Int] = []
        for hour in hours where wanted.allSatisfy({ hour.shown.value(for: $0) == $1 }) {
            if isFirstDayOnly, !values.keys.contains(where: { begins($0, in: hour.shown) }) { continue }
            for passed in hour.minutes where minute == nil || passed.minute == minute {
                if hasHour ? passed.isRepeated : passed.isSkipped { continue }
                let instant = passed.instant + (passed.isSkipped ? 0 : second ?? 0)
                if instant != instants.last { instants.append(instant) }
            }
        }
        return instants
    }

    /// Whether a day is the first one of a year, a quarter, a month or a week.
    private func begins(_ unit: Calendar.Component, in day: DateComponents) -> Bool {
        switch unit {
        case .year: day.dayOfYear == 1
        case .quarter: day.day == 1 && [1, 4, 7, 10].contains(day.month)
        case .month: day.day == 1
        case .weekOfMonth: day.day == 1 || day.weekday == 1
        case .weekOfYear: day.weekday == 1
        case .yearForWeekOfYear: day.weekday == 1 && day.weekOfYear == 1
        default: false
        }
    }
}
