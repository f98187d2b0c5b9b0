internal import Foundation

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
