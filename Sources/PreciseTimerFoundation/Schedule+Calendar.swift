public import Foundation
public import PreciseTimer

/// Schedules of the calendar, for a service of the wall clock: `on: .wall`.
///
/// ```swift
/// try PreciseTimer.schedule(.daily(at: .init(hour: 2, minute: 30)), on: .wall, target: model) { model, _ in
///     model.save()
/// }
/// ```
///
/// The deadlines are whole seconds, computed one at a time. Around a change to or from daylight saving time:
///
/// - On a day that lacks 02:30, the deadline is the first instant after the gap. On a day that has it twice, the first
///   one is the deadline. A day that the time zone leaves out whole (30 December 2011 in Samoa) has no deadline.
/// - Schedules without an hour (`hourly`, and `calendar` with a minute or a second but no hour) follow
///   the hours that pass: an hour that a day has twice has its deadlines twice, and one that it lacks has none.
///
/// After a step of the wall clock the next deadline is computed anew, as `PreciseTimer.Schedule.computed` describes.
/// The present time zone, the default, is looked at about once a minute. The thread that delivers computes each
/// deadline, which takes some 5 µs, and up to a millisecond for a rare one, as 29 February on a Sunday. A
/// calendar that is not the Gregorian or its kin is searched day by day, and a rare date takes far longer there.
///
/// Components that make no sense, as hour 25 or 30 February, are refused when the timer is scheduled. A search for a
/// deadline goes 400 years ahead, which is when the Gregorian calendar repeats. It goes 100 years ahead for other
/// calendars, except the Buddhist one and that of the Republic of China, which have the Gregorian months.
extension PreciseTimer.Schedule {
    /// A deadline each day, at a time.
    ///
    /// - Parameters:
    ///   - time: the hour and, if they are not zero, the minute and the second, as in `.init(hour: 2, minute: 30)`.
    ///   - zone: the time zone whose clocks show this time; nil for that of the components or, if they have none, the
    ///     present one.
    /// - Returns: the schedule.
    public static func daily(at time: DateComponents, in zone: TimeZone? = nil) -> Self {
        schedule("daily at \(time.text)", [time], in: zone, flaw: time.flawOfTime)
    }

    /// A deadline on some days of each week, at a time: `.weekly(on: .monday, .friday, at: .init(hour: 9))`.
    ///
    /// - Parameters:
    ///   - days: the days of the week.
    ///   - time: the hour and, if they are not zero, the minute and the second.
    ///   - zone: the time zone whose clocks show this time; nil for that of the components or, if they have none, the
    ///     present one.
    /// - Returns: the schedule.
    public static func weekly(
        on days: Locale.Weekday...,
        at time: DateComponents,
        in zone: TimeZone? = nil
    ) -> Self {
        weekly(on: days, at: time, in: zone)
    }

    /// A deadline on some days of each week, at a time. The same as the form with single days.
    public static func weekly(
        on days: [Locale.Weekday],
        at time: DateComponents,
        in zone: TimeZone? = nil
    ) -> Self {
        let names = days.map(\.rawValue).joined(separator: ", ")
        let flaw = time.flawOfTime ?? (days.isEmpty ? "it has no day; give at least one day of the week" : nil)
        let dates = Set(days)
            .map { day in
                var date = time
                date.weekday = day.number
                return date
            }
        return schedule("weekly on \(names) at \(time.text)", dates, in: zone, flaw: flaw)
    }

    /// A deadline in each hour, at a minute.
    ///
    /// - Parameters:
    ///   - minute: the minute, from 0 to 59.
    ///   - zone: the time zone; few zones are not a whole number of hours from another.
    /// - Returns: the schedule.
    public static func hourly(at minute: Int = 0, in zone: TimeZone = .autoupdatingCurrent) -> Self {
        let time = DateComponents(minute: minute)
        return schedule("hourly at minute \(minute)", [time], in: zone, flaw: time.flaw)
    }

    /// A deadline whenever the calendar shows these components.
    ///
    /// ```swift
    /// .calendar(DateComponents(day: 1, hour: 6))                                       // the first of each month
    /// .calendar(DateComponents(month: 3, hour: 9))                                     // each day of March
    /// .calendar(DateComponents(hour: 9, weekday: 2, weekdayOrdinal: 1))                // its first Monday
    /// .calendar(DateComponents(second: 0))                                             // each minute
    /// ```
    ///
    /// A missing component may have any value, except below the smallest given one: there hours, minutes and seconds
    /// are zero, and a year, a quarter, a month or a week means its first day. So `day: 15, minute: 30` has a deadline
    /// in each hour of the 15th, and `month: 3` has one at midnight of 1 March. A month without the day is skipped:
    /// `day: 31` has seven deadlines a year. A month means the regular one, unless `isLeapMonth` is true. Components
    /// with a year have an end, and the timer ends there.
    ///
    /// - Parameters:
    ///   - components: what the calendar shows, in whole seconds. Their calendar is used, but not its time zone; if
    ///     there is none, the Gregorian calendar.
    ///   - zone: the time zone; nil for that of the components or, if they have none, the present one.
    /// - Returns: the schedule.
    public static func calendar(_ components: DateComponents, in zone: TimeZone? = nil) -> Self {
        var shown = components
        (shown.calendar, shown.timeZone) = (nil, nil)
        return schedule(
            "at \(shown)".trimmingCharacters(in: .whitespaces),
            [components],
            in: zone,
            flaw: components.flaw
        )
    }

    /// One deadline, at a date. A date in the past is due now. For a service of the wall clock: `on: .wall`.
    public static func once(at date: Date) -> Self { once(at: TimerInstant(date)) }

    /// The deadlines at which one of some components matches; none if they have a flaw.
    private static func schedule(
        _ name: String,
        _ dates: [DateComponents],
        in zone: TimeZone?,
        flaw: String?
    ) -> Self {
        let rules = flaw == nil ? dates.map { CalendarRule($0, in: zone) } : []
        let years = CalendarDays.yearsOfSearch(in: dates.first?.calendar)
        let hint = "no date from now on matches, up to \(years) years ahead; give components that come together"
        return computed(name, on: .wall, hint: flaw ?? hint) { instant in
            // Whole seconds are after an instant if they are after its second.
            let second = Int(instant.nanoseconds / 1_000_000_000)
            guard let next = rules.compactMap({ $0.next(after: second) }).min(), next < UInt64.max / 1_000_000_000
            else {
                return nil
            }
            return TimerInstant(nanoseconds: UInt64(next) * 1_000_000_000, clock: .wall)
        }
    }
}

extension DateComponents {
    /// The time as in `02:30` or `02:30:15`.
    fileprivate var text: String {
        let numbers = second.map { [hour ?? 0, minute ?? 0, $0] } ?? [hour ?? 0, minute ?? 0]
        return numbers.map { (0..<10).contains($0) ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }
}

extension Locale.Weekday {
    /// The number in a calendar.
    fileprivate var number: Int {
        switch self {
        case .sunday: 1
        case .monday: 2
        case .tuesday: 3
        case .wednesday: 4
        case .thursday: 5
        case .friday: 6
        case .saturday: 7
        @unknown default: 0
        }
    }
}
