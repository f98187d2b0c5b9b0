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
///   one is the deadline.
/// - Schedules without an hour (`hourly`, and `calendar` with a minute or a second only) follow
///   the hours that pass: an hour that a day has twice has its deadlines twice, and one that it lacks has none.
///
/// After a step of the wall clock the next deadline is computed anew, as `PreciseTimer.Schedule.computed` describes.
/// The present time zone, the default, is looked at about once a minute. Computing a deadline takes some 50 µs of the
/// thread that delivers. Numbers that make no sense, as hour 25 or 30 February, are refused when the timer is
/// scheduled.
extension PreciseTimer.Schedule {
    /// A deadline each day, at a time.
    ///
    /// - Parameters:
    ///   - time: the hour and, if they are not zero, the minute and the second, as in `.init(hour: 2, minute: 30)`.
    ///   - zone: the time zone whose clocks show this time.
    /// - Returns: the schedule.
    public static func daily(at time: DateComponents, in zone: TimeZone = .autoupdatingCurrent) -> Self {
        schedule("daily at \(time.text)", time.isTimeOfDay ? [time] : [], in: zone, hint: DateComponents.hint)
    }

    /// A deadline on some days of each week, at a time: `.weekly(on: .monday, .friday, at: .init(hour: 9))`.
    ///
    /// - Parameters:
    ///   - days: the days of the week.
    ///   - time: the hour and, if they are not zero, the minute and the second.
    ///   - zone: the time zone whose clocks show this time.
    /// - Returns: the schedule.
    public static func weekly(
        on days: Locale.Weekday...,
        at time: DateComponents,
        in zone: TimeZone = .autoupdatingCurrent
    ) -> Self {
        weekly(on: days, at: time, in: zone)
    }

    /// A deadline on some days of each week, at a time. The same as the form with single days.
    public static func weekly(
        on days: [Locale.Weekday],
        at time: DateComponents,
        in zone: TimeZone = .autoupdatingCurrent
    ) -> Self {
        let names = days.map(\.rawValue).joined(separator: ", ")
        let hint = "\(DateComponents.hint), and at least one day of the week"
        let dates = (time.isTimeOfDay ? Array(Set(days)) : [])
            .map { day in
                var date = time
                date.weekday = day.number
                return date
            }
        return schedule("weekly on \(names) at \(time.text)", dates, in: zone, hint: hint)
    }

    /// A deadline in each hour, at a minute.
    ///
    /// - Parameters:
    ///   - minute: the minute, from 0 to 59.
    ///   - zone: the time zone; few zones are not a whole number of hours from another.
    /// - Returns: the schedule.
    public static func hourly(at minute: Int = 0, in zone: TimeZone = .autoupdatingCurrent) -> Self {
        let hint = "give a minute from 0 to 59"
        return schedule("hourly at minute \(minute)", [DateComponents(minute: minute)], in: zone, hint: hint)
    }

    /// A deadline whenever the calendar shows these components.
    ///
    /// ```swift
    /// .calendar(DateComponents(day: 1, hour: 6))                                       // the first of each month
    /// .calendar(DateComponents(hour: 9, weekday: 2, weekdayOrdinal: 1))                // its first Monday
    /// .calendar(DateComponents(second: 0))                                             // each minute
    /// ```
    ///
    /// Components that are missing may have any value if they are larger than a given one, and are zero if they are
    /// smaller. A month without the day is skipped: `day: 31` has seven deadlines a year. Components with a year have
    /// an end, and the timer ends there.
    ///
    /// - Parameters:
    ///   - components: what the calendar shows, in whole seconds. Their calendar is used; if there is none, the
    ///     Gregorian calendar.
    ///   - zone: the time zone; nil for that of the components or, if they have none, the present one.
    /// - Returns: the schedule.
    public static func calendar(_ components: DateComponents, in zone: TimeZone? = nil) -> Self {
        // A search for a day that no month has ends after about 0.1 s.
        schedule(
            "at \(components)".trimmingCharacters(in: .whitespaces),
            (components.nanosecond ?? 0) == 0 ? [components] : [],
            in: zone,
            hint: "no date from now on matches; give components of whole seconds that the calendar can show"
        )
    }

    /// One deadline, at a date. A date in the past is due now. For a service of the wall clock: `on: .wall`.
    public static func once(at date: Date) -> Self { once(at: TimerInstant(date)) }

    /// The deadlines at which one of some components matches.
    private static func schedule(
        _ name: String,
        _ dates: [DateComponents],
        in zone: TimeZone?,
        hint: String
    ) -> Self {
        let rules = dates.map { CalendarRule($0, in: zone) }
        return computed(name, on: .wall, hint: hint) { instant in
            // Whole seconds are after an instant if they are after its second.
            let second = Int(instant.nanoseconds / 1_000_000_000)
            guard let next = rules.compactMap({ $0.next(after: second) }).min(), next < Int.max / 1_000_000_000 else {
                return nil
            }
            return TimerInstant(nanoseconds: UInt64(next) * 1_000_000_000, clock: .wall)
        }
    }
}

extension DateComponents {
    fileprivate static var hint: String { "give an hour from 0 to 23, a minute and a second from 0 to 59" }

    /// Whether this is a time of a day, and nothing else.
    fileprivate var isTimeOfDay: Bool {
        guard let hour else { return false }
        let time = DateComponents(hour: hour, minute: minute, second: second)
        return self == time && (0..<24).contains(hour) && (0..<60).contains(minute ?? 0)
            && (0..<60).contains(second ?? 0)
    }

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
