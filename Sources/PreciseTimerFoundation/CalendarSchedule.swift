internal import Foundation
internal import PreciseTimer

/// A schedule of the calendar as the user wrote it: what the clocks of which zone show, and what is left to chance.
struct CalendarSchedule: Sendable {
    /// What it is called, as in `daily at 02:30`.
    private let name: String
    /// What the clocks show at its dates.
    private let dates: [DateComponents]
    /// The zone of the clocks; nil for the present one.
    private let zone: TimeZone?
    /// What is wrong with the components, and what to do.
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
