internal import Foundation

/// What is wrong with components, and what to do: the reasons of refusals.
extension DateComponents {
    /// The flaw of a time of a day, which has an hour; nil if it has none.
    var flawOfTime: String? {
        var others = CalendarDays.units.filter { value(for: $0) != nil }
        if let nanosecond, nanosecond != 0 { others.append(.nanosecond) }
        if isLeapMonth == true { others.append(.isLeapMonth) }
        if !others.isEmpty {
            let names = others.map { "\($0)" }.joined(separator: ", ")
            return "a time of a day has an hour, a minute and a second only; leave out \(names)"
        }
        if hour == nil { return "it has no hour; give an hour from 0 to 23" }
        return flawOfRange(in: Calendar(identifier: .gregorian))
    }

    /// The flaw of components of a calendar; nil if it takes a search to find one.
    var flaw: String? {
        let calendar = calendar ?? Calendar(identifier: .gregorian)
        if let nanosecond, nanosecond != 0 {
            return "deadlines are whole seconds; leave out nanosecond \(nanosecond)"
        }
        let days = CalendarDays.units.filter { value(for: $0) != nil }
        if !TimePattern.isNamed(by: self), isLeapMonth != true, days.isEmpty || days == [.era] {
            return "no date from now on matches without a component; give at least one, as an hour"
        }
        if isLeapMonth == true, calendar.maximumRange(of: .isLeapMonth)?.contains(1) == false {
            return "no date from now on has a leap month in this calendar; leave out isLeapMonth"
        }
        if weekdayOrdinal != nil, weekday == nil { return "a weekdayOrdinal needs a weekday; give both" }
        return flawOfRange(in: calendar)
    }

    /// The first component whose value a calendar never shows. Years and eras have no range of use.
    private func flawOfRange(in calendar: Calendar) -> String? {
        let years: [Calendar.Component] = [.era, .year, .yearForWeekOfYear]
        for component in CalendarDays.units + [.hour, .minute, .second] where !years.contains(component) {
            guard let value = value(for: component), let range = calendar.maximumRange(of: component),
                !range.contains(value)
            else { continue }
            let article = component == .hour ? "an" : "a"
            let limits = "from \(range.lowerBound) to \(range.upperBound - 1)"
            return "no date from now on has \(component) \(value); give \(article) \(component) \(limits)"
        }
        return nil
    }
}
