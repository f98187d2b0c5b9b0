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
/// A time zone is what the system's file of its name says. Foundation's own rules, which are as old as the toolchain,
/// count only if there is no such file. Without a zone the clocks of the system count, as date(1) shows them: the
/// variable `TZ`, or else `/etc/localtime`. A description names the zone and the source of its rules. A zone that is
/// not found, or whose file is damaged, is refused when the timer is scheduled. A new or changed file is noticed within
/// about a minute. An absent file changes nothing: the last reading stays. Do not pass `TimeZone.current` to mean the
/// system's zone: Foundation knows it by name only, and guesses the name if `/etc/localtime` is no link.
///
/// Each has the parameters of `every(_:after:count:spread:jitter:for:)` of `PreciseTimer.Schedule`, in the
/// same sense:
///
/// - `count`: the number of ticks after which the timer ends.
/// - `spread`: all deadlines of a timer are later by the same random length, from zero up to this one. Each call that
///   schedules or reschedules a timer draws its own. A date that has passed counts if its deadline has not.
/// - `jitter`: each deadline is later by a random length of its own, from zero up to this one, but never as late as the
///   next date. It is at most a day; for a schedule without an hour an hour, and without a minute a minute.
/// - `for`: how long from now there are dates.
///
/// After a step of the wall clock the next deadline is recomputed, as `PreciseTimer.Schedule.computed` describes. The
/// thread that delivers computes each deadline, which takes one to six µs, and up to a millisecond for a rare one, as
/// 29 February on a Sunday. A calendar that is not the Gregorian or its kin is searched day by day, and a rare date
/// takes far longer there. The first deadline of a process takes a millisecond more.
///
/// Components that make no sense, as hour 25 or 30 February, are refused when the timer is scheduled. A search for a
/// deadline goes 400 years ahead, which is when the Gregorian calendar repeats. It goes 100 years ahead for other
/// calendars, except the Buddhist one and that of the Republic of China, which have the Gregorian months.
extension PreciseTimer.Schedule {
    /// A deadline each day, at a time.
    ///
    /// ```swift
    /// .daily(at: .init(hour: 2, minute: 30), spread: .seconds(600))       // a thousand machines do not call at once
    /// ```
    ///
    /// - Parameters:
    ///   - time: the hour and, if they are not zero, the minute and the second, as in `.init(hour: 2, minute: 30)`.
    ///   - zone: the time zone whose clocks show this time; nil for that of the components or, if they have none, the
    ///     current one.
    ///   - count: the number of ticks; nil for no limit.
    ///   - spread: by how much later all deadlines may be; nil for none.
    ///   - jitter: by how much later each deadline may be; nil for none.
    ///   - span: the time from now after which there is no date; nil for no limit.
    /// - Returns: the schedule.
    public static func daily(
        at time: DateComponents,
        in zone: TimeZone? = nil,
        count: Int? = nil,
        spread: Duration? = nil,
        jitter: Duration? = nil,
        for span: Duration? = nil
    ) -> Self {
        let name = "daily at \(time.text)"
        return CalendarSchedule(name, [time], in: zone, flaw: time.flawOfTime, count, spread, jitter, for: span)
            .schedule
    }

    /// A deadline on some days of each week, at a time: `.weekly(on: .monday, .friday, at: .init(hour: 9))`. The other
    /// parameters are those of ``daily(at:in:count:spread:jitter:for:)``.
    public static func weekly(
        on days: Locale.Weekday...,
        at time: DateComponents,
        in zone: TimeZone? = nil,
        count: Int? = nil,
        spread: Duration? = nil,
        jitter: Duration? = nil,
        for span: Duration? = nil
    ) -> Self {
        weekly(on: days, at: time, in: zone, count: count, spread: spread, jitter: jitter, for: span)
    }

    /// A deadline on some days of each week, at a time. The same as the form with single days.
    public static func weekly(
        on days: [Locale.Weekday],
        at time: DateComponents,
        in zone: TimeZone? = nil,
        count: Int? = nil,
        spread: Duration? = nil,
        jitter: Duration? = nil,
        for span: Duration? = nil
    ) -> Self {
        let name = "weekly on \(days.map(\.rawValue).joined(separator: ", ")) at \(time.text)"
        let flaw = time.flawOfTime ?? (days.isEmpty ? "it has no day; give at least one day of the week" : nil)
        let dates = Set(days)
            .map { day in
                var date = time
                date.weekday = day.number
                return date
            }
        return CalendarSchedule(name, dates, in: zone, flaw: flaw, count, spread, jitter, for: span).schedule
    }

    /// A deadline in each hour, at a minute from 0 to 59. The other parameters are those of
    /// ``daily(at:in:count:spread:jitter:for:)``. Few zones are not a whole number of hours from another.
    public static func hourly(
        at minute: Int = 0,
        in zone: TimeZone? = nil,
        count: Int? = nil,
        spread: Duration? = nil,
        jitter: Duration? = nil,
        for span: Duration? = nil
    ) -> Self {
        let (name, time) = ("hourly at minute \(minute)", DateComponents(minute: minute))
        return CalendarSchedule(name, [time], in: zone, flaw: time.flaw, count, spread, jitter, for: span).schedule
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
    /// The calendar of the components is used, but not its time zone; if they have none, the Gregorian calendar. The
    /// other parameters are those of ``daily(at:in:count:spread:jitter:for:)``.
    public static func calendar(
        _ components: DateComponents,
        in zone: TimeZone? = nil,
        count: Int? = nil,
        spread: Duration? = nil,
        jitter: Duration? = nil,
        for span: Duration? = nil
    ) -> Self {
        var shown = components
        (shown.calendar, shown.timeZone) = (nil, nil)
        let name = "at \(shown)".trimmingCharacters(in: .whitespaces)
        return CalendarSchedule(name, [components], in: zone, flaw: components.flaw, count, spread, jitter, for: span)
            .schedule
    }

    /// One deadline, at a date. A date in the past is due now. For a service of the wall clock: `on: .wall`.
    public static func once(at date: Date) -> Self { once(at: TimerInstant(date)) }
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
