import Foundation

/// What the clocks of a zone show in each minute of the year 2026, and when a schedule of the calendar is due by that.
/// It reads the clocks minute by minute, and computes nothing from one date to another.
struct CalendarOracle {
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

    let start = 1_767_225_600
    let end = 1_798_761_600
    /// The instants at which the clocks jump.
    private(set) var jumps: [Int] = []
    private var hours: [Hour] = []

    init(_ zone: TimeZone) {
        var (there, utc) = (Calendar(identifier: .gregorian), Calendar(identifier: .gregorian))
        (there.timeZone, utc.timeZone) = (zone, .gmt)
        var next = start + zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(start)))
        for instant in stride(from: start, to: end, by: 60) {
            let date = Date(timeIntervalSince1970: Double(instant))
            let now = instant + zone.secondsFromGMT(for: date)
            for skipped in stride(from: next, to: now, by: 60) {
                add(instant, utc, Date(timeIntervalSince1970: Double(skipped)), isSkipped: true)
            }
            if next != now, jumps.last.map({ $0 + 86_400 < instant }) ?? true { jumps.append(instant) }
            add(instant, there, date, isRepeated: now < next)
            next = max(next, now + 60)
        }
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
        let minute = Minute(
            instant: instant,
            minute: time.minute ?? 0,
            isSkipped: isSkipped,
            isRepeated: isRepeated
        )
        hours[hours.endIndex - 1].minutes.append(minute)
    }

    /// The values of some components in a minute, which come together at least then.
    func values(of components: [Calendar.Component], using random: inout some RandomNumberGenerator) -> Values {
        var shown = hours[Int.random(in: hours.indices, using: &random)].shown
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
