package import Foundation

/// The instants at which the clocks of a time zone show certain components of a calendar.
///
/// `CalendarDays` finds the days, `TimePattern` the times within a day, and this rule the instants at which the clocks
/// of the zone show them. Foundation's own search is not used: it loses a day if clocks jump by half an hour (02:15 on
/// 4 October 2026 on Lord Howe Island), it fills a gap between two components with zero, and it has no bound.
package struct CalendarRule: Sendable {
    private let reader: ZoneReader
    private let days: CalendarDays
    private let times: TimePattern
    /// Whether the components name times of each hour, as minute 30; if not, times of a day, as 02:30 or midnight.
    private let followsHours: Bool

    package init(_ components: DateComponents, in zone: TimeZone?) {
        reader = .of(zone ?? components.timeZone)
        days = CalendarDays(components)
        times = TimePattern(components)
        followsHours = components.hour == nil && TimePattern.isNamed(by: components)
    }

    /// The first such instant after another, in seconds since 1970; nil if the calendar's longest search finds none.
    package func next(after second: Int) -> Int? {
        guard let zone = reader.recent() else { return nil }
        // Clocks that go back over midnight show the day before again.
        var day = (second + zone.offset(at: second)) / TimePattern.day - 1
        let end = day + days.longestSearch
        while let found = days.first(from: day, before: end) {
            if let instant = first(on: found, after: second, in: zone) {
                // The next day may have begun before they went back.
                let next = days.first(from: found + 1, before: found + 2)
                    .flatMap { first(on: $0, after: second, in: zone) }
                return min(instant, next ?? instant)
            }
            day = found + 1
        }
        return nil
    }

    /// The first such instant of a day after another instant.
    private func first(on day: Int, after second: Int, in zone: Zone) -> Int? {
        let (midnight, nextMidnight) = (day * TimePattern.day, (day + 1) * TimePattern.day)
        // Clocks may be more than a day ahead.
        let stretches = zone.stretches(from: midnight - 2 * TimePattern.day, to: nextMidnight + 2 * TimePattern.day)
        // A day that the zone leaves out whole has no deadline.
        guard stretches.contains(where: { $0.shown.lowerBound < nextMidnight && $0.shown.upperBound > midnight }) else {
            return nil
        }
        // The clocks have shown the day up to here. A time that they jump over is due at the end of the gap, and one
        // that they show again is not due again; unless the schedule follows the hours that pass.
        var shown = midnight
        for stretch in stretches {
            let end = min(nextMidnight, stretch.shown.upperBound)
            var start = followsHours ? max(midnight, stretch.shown.lowerBound) : shown
            if second >= stretch.start { start = max(start, second + 1 + stretch.offset) }
            if let time = times.first(from: start - midnight), midnight + time < end {
                return max(stretch.start, midnight + time - stretch.offset)
            }
            shown = max(shown, end)
        }
        return nil
    }
}

extension Zone {
    /// The stretches between two instants in which the clocks do not jump.
    fileprivate func stretches(from start: Int, to end: Int) -> [Stretch] {
        var (start, stretches) = (start, [Stretch]())
        let last = offset(at: end)
        while offset(at: start) != last {
            let jump = jump(from: start, to: end)
            stretches.append(Stretch(start: start, end: jump, offset: offset(at: start)))
            start = jump
        }
        return stretches + [Stretch(start: start, end: end, offset: last)]
    }

    /// The first instant after one second, and up to another, that has another offset.
    private func jump(from before: Int, to after: Int) -> Int {
        var (before, after, old) = (before, after, offset(at: before))
        while after - before > 1 {
            let middle = before + (after - before) / 2
            if offset(at: middle) == old { before = middle } else { after = middle }
        }
        return after
    }
}

/// A stretch of time in which the clocks of a zone do not jump.
private struct Stretch {
    let start: Int
    let end: Int
    let offset: Int

    /// What the clocks show in it, as if it were UTC.
    var shown: Range<Int> { start + offset..<end + offset }
}

/// Times of a day: an hour, a minute and a second, of which each may have any value.
struct TimePattern: Sendable {
    /// The seconds of a day.
    static let day = 86_400

    private let hour: Int?
    private let minute: Int?
    private let second: Int?

    /// Components below the smallest given one are zero. Components without a time are midnight.
    init(_ components: DateComponents) {
        (hour, minute, second) =
            if let second = components.second {
                (components.hour, components.minute, second)
            } else if let minute = components.minute {
                (components.hour, minute, 0)
            } else {
                (components.hour ?? 0, 0, 0)
            }
    }

    static func isNamed(by components: DateComponents) -> Bool {
        components.hour != nil || components.minute != nil || components.second != nil
    }

    /// The first such second of a day, from another on.
    func first(from start: Int) -> Int? {
        var time = start
        while time < Self.day {
            if let hour, time / 3_600 != hour {
                time = time < hour * 3_600 ? hour * 3_600 : Self.day
            } else if let minute, time / 60 % 60 != minute {
                time += (minute - time / 60 % 60 + 60) % 60 * 60 - time % 60
            } else if let second, time % 60 != second {
                time += (second - time % 60 + 60) % 60
            } else {
                return time
            }
        }
        return nil
    }
}

/// The days on which a calendar shows certain components. Days are numbered from 1 January 1970.
struct CalendarDays: Sendable {
    private let calendar: Calendar
    private let wanted: [(component: Calendar.Component, value: Int)]
    /// Whether the month must be a leap month, or must not; nil for any month.
    private let isLeapMonth: Bool?
    /// Whether only the first one of some consecutive days counts, as 1 March for the month 3.
    private let onlyFirst: Bool
    /// What a search looks at.
    private let components: Set<Calendar.Component>

    /// Missing components may have any value. If no time is given, only the first of consecutive days counts: without a
    /// day, that is the first day of the smallest given unit.
    init(_ components: DateComponents) {
        var calendar = components.calendar ?? Calendar(identifier: .gregorian)
        // The calendar shows days as if they were UTC.
        calendar.timeZone = .gmt
        self.calendar = calendar
        wanted = Self.units.compactMap { unit in components.value(for: unit).map { (unit, $0) } }
        isLeapMonth = components.isLeapMonth == true ? true : components.month.map { _ in false }
        onlyFirst = !TimePattern.isNamed(by: components)
        self.components = Set(wanted.map(\.component)).union([.month, .day, .dayOfYear, .isLeapMonth])
    }

    /// The components of a day, largest first.
    static let units: [Calendar.Component] = [
        .era, .year, .yearForWeekOfYear, .quarter, .month, .weekOfYear, .weekOfMonth, .dayOfYear, .day, .weekday,
        .weekdayOrdinal,
    ]

    /// The first such day, from one day on and before another.
    func first(from start: Int, before end: Int) -> Int? {
        if wanted.isEmpty, isLeapMonth == nil { return start < end ? start : nil }
        var day = start
        while day < end {
            let shown = shown(on: day)
            if !isWanted(shown) {
                day += step(from: shown)
            } else if onlyFirst, isWanted(self.shown(on: day - 1)) {
                day += 1
            } else {
                return day
            }
        }
        return nil
    }

    private func shown(on day: Int) -> DateComponents {
        let date = Date(timeIntervalSince1970: Double(day * TimePattern.day))
        var shown = calendar.dateComponents(components, from: date)
        // To Foundation, 31 March may be of the second quarter, and other calendars have no quarters.
        shown.quarter = shown.month.map { ($0 + 2) / 3 }
        return shown
    }

    private func isWanted(_ shown: DateComponents) -> Bool {
        wanted.allSatisfy { shown.value(for: $0.component) == $0.value }
            && (isLeapMonth == nil || shown.isLeapMonth == isLeapMonth)
    }

    // MARK: Long searches

    /// How many days ahead a search looks: the Gregorian calendar repeats after 146,097 days.
    var longestSearch: Int { Self.yearsOfSearch(in: calendar) * 146_097 / 400 }

    /// How many years ahead a search looks; nil is the Gregorian calendar.
    static func yearsOfSearch(in calendar: Calendar?) -> Int { calendar.map(isRegular) ?? true ? 400 : 100 }

    /// Whether months have at least 28 days, which are numbered without a gap, and years 365. A search leaves out days
    /// only then: some calendars of Foundation leave out numbers, or show a day 0.
    private static func isRegular(_ calendar: Calendar) -> Bool {
        switch calendar.identifier {
        case .gregorian, .iso8601, .buddhist, .republicOfChina: true
        default: false
        }
    }

    /// The number of days to an unwanted day's successor that may be a wanted day. All between them are unwanted.
    private func step(from shown: DateComponents) -> Int {
        guard Self.isRegular(calendar), let day = shown.day, let dayOfYear = shown.dayOfYear else { return 1 }
        let (restOfMonth, restOfYear) = (29 - day, 366 - dayOfYear)
        var step = 1
        for (component, value) in wanted {
            guard let shown = shown.value(for: component), shown != value else { continue }
            switch component {
            case .year: step = max(step, restOfYear)
            // The year of the weeks begins up to six days before the year, or after.
            case .yearForWeekOfYear: step = max(step, dayOfYear > 6 ? restOfYear - 6 : 1)
            case .quarter, .month: step = max(step, restOfMonth)
            case .weekOfYear: step = max(step, (value - shown) * 7 - 6)
            case .dayOfYear: step = max(step, value > shown ? value - shown : restOfYear)
            case .day: step = max(step, value > shown ? value - shown : restOfMonth)
            case .weekday: step = max(step, (value - shown + 7) % 7)
            default: break
            }
        }
        return step
    }
}
