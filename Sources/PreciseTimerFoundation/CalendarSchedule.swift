internal import Foundation
internal import PreciseTimer

/// A schedule of the calendar as the user wrote it: what the clocks of which zone show, and what is left to chance.
struct CalendarSchedule: Sendable {
    /// Its name, as in `daily at 02:30`.
    private let name: String
    /// What the clocks show at its dates.
    private let dates: [DateComponents]
    /// The zone of the clocks; nil for the system's.
    private let zone: TimeZone?
    /// The fault of the components, and what to do.
    private let flaw: String?
    private let count: Int?
    private let spread: Duration?
    private let jitter: Duration?
    private let span: Duration?

    init(
        _ name: String,
        _ dates: [DateComponents],
        in zone: TimeZone?,
        flaw: String?,
        _ count: Int?,
        _ spread: Duration?,
        _ jitter: Duration?,
        for span: Duration?
    ) {
        (self.name, self.dates, self.zone, self.flaw) = (name, dates, zone ?? dates.first?.timeZone, flaw)
        (self.count, self.spread, self.jitter, self.span) = (count, spread, jitter, span)
    }

    var schedule: PreciseTimer.Schedule {
        let years = CalendarDays.yearsOfSearch(in: dates.first?.calendar)
        let hint =
            "no date in the next \(years) years matches; give components that occur on the same date, and no past year"
        return PreciseTimer.Schedule(
            .never,
            .computed,
            rule: ScheduleRule({ description }, on: .wall, hint: hint, begin)
        )
    }

    /// The name, the zone with the source of its rules, and the rest.
    private var description: String {
        [
            name, reader.recent()?.description ?? "in a time zone that cannot be read",
            spread.map { "spread over \($0.text)" }, jitter.map { "jitter \($0.text)" }, span.map { "for \($0.text)" },
            count.map { $0 == 1 ? "1 tick" : "\($0) ticks" },
        ]
        .compactMap(\.self).joined(separator: ", ")
    }

    private var reader: ZoneReader { .of(zone) }

    /// The function that computes the deadlines of a timer, and its number of ticks.
    ///
    /// - Throws: `TimerError` if the schedule makes no sense, or if its time zone cannot be read.
    private func begin(at now: TimerInstant, seed: UInt64?) throws(TimerError) -> (ScheduleRule.Next, UInt64) {
        if let problem { throw refusal(problem) }
        do throws(Zone.Problem) { _ = try reader.read() } catch { throw refusal("(\(error))") }
        let deadlines = CalendarDeadlines(
            rules: dates.map { CalendarRule($0, in: zone) },
            spread: seed == nil ? 0 : spread?.nanosecondsOrForever ?? 0,
            jitter: seed == nil ? 0 : jitter?.nanosecondsOrForever ?? 0,
            seed: seed ?? 0,
            end: span.map { now.advanced(by: $0).nanoseconds } ?? .max
        )
        if let span, deadlines.end(before: now) {
            throw refusal("for \(span.text) (no date comes in that time)")
        }
        return (deadlines.next, count.map(UInt64.init) ?? .max)
    }

    /// What makes no sense, and what to do.
    private var problem: String? {
        if let flaw { return "(\(flaw))" }
        if let count, count < 1 { return "with \(count) ticks (the count must be at least 1)" }
        if let spread, spread < .zero { return "with a spread of \(spread.text) (it must not be negative)" }
        if let span, span < .zero { return "for \(span.text) (it must not be negative)" }
        let (step, name) = leastStep
        guard let jitter, jitter < .zero || jitter > step else { return nil }
        return "with a jitter of \(jitter.text) (it must be from zero to \(name), the time between two dates)"
    }

    /// The least time between two dates, but for the days on which clocks change.
    private var leastStep: (length: Duration, name: String) {
        // All dates have the same time.
        guard let time = dates.first else { return (.seconds(86_400), "a day") }
        if time.second != nil, time.minute == nil { return (.seconds(60), "a minute") }
        return time.minute != nil && time.hour == nil ? (.seconds(3_600), "an hour") : (.seconds(86_400), "a day")
    }

    private func refusal(_ what: String) -> TimerError { .refusedSchedule("\(name) \(what)") }
}

/// The faults of components, and what to do: the reasons of refusals.
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

/// The deadlines of one timer on the calendar: dates, each later by what is left to chance.
struct CalendarDeadlines: Sendable {
    private let rules: [CalendarRule]
    /// By how much all deadlines are later than their dates, and by how much more each is at most, in nanoseconds.
    private let spread: UInt64
    private let jitter: UInt64
    private let seed: UInt64
    /// No date is later, in nanoseconds since 1970.
    private let end: UInt64

    init(rules: [CalendarRule], spread: UInt64, jitter: UInt64, seed: UInt64, end: UInt64) {
        var random = SeededGenerator(seed: seed)
        self.spread = .random(in: 0...spread, using: &random)
        (self.rules, self.jitter, self.seed, self.end) = (rules, jitter, random.next(), end)
    }

    /// The first deadline after an instant; nil if there is none.
    @Sendable func next(after instant: TimerInstant) -> TimerInstant? {
        // Whole seconds are after an instant if they are after its second. The date of a deadline may be earlier.
        let most = spread.addingReportingOverflow(jitter)
        guard !most.overflow else { return nil }
        var date = date(after: instant.nanoseconds > most.partialValue ? instant.nanoseconds - most.partialValue : 0)
        while let found = date, found <= end {
            let following = jitter > 0 ? self.date(after: found) : nil
            // Deadlines keep the order of their dates.
            let limit = min(jitter, end - found, following.map { $0 - found - 1 } ?? .max)
            var random = SeededGenerator(seed: seed ^ found)
            let (deadline, isTooLate) = (found + .random(in: 0...limit, using: &random)).addingReportingOverflow(spread)
            if isTooLate { return nil }
            if deadline > instant.nanoseconds { return TimerInstant(nanoseconds: deadline, clock: .wall) }
            date = following ?? self.date(after: found)
        }
        return nil
    }

    /// Whether there is no date between an instant and the end.
    func end(before instant: TimerInstant) -> Bool { (date(after: instant.nanoseconds) ?? 0) > end }

    /// The first date after an instant, both in nanoseconds since 1970; nil if there is none.
    private func date(after instant: UInt64) -> UInt64? {
        let second = Int(instant / 1_000_000_000)
        let next = rules.compactMap { $0.next(after: second) }.min()
        return next.flatMap { $0 > 0 && $0 < UInt64.max / 1_000_000_000 ? UInt64($0) * 1_000_000_000 : nil }
    }
}
