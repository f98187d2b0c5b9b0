internal import Foundation
internal import Synchronization

/// The instants at which the clocks of a time zone show a certain time.
///
/// Foundation finds the next such time on a clock that never jumps, which shows the zone's time as if it were UTC. The
/// rule then finds the instant at which the zone's clocks show it. Foundation's own search across a jump is not used:
/// it loses a day if clocks jump by half an hour (02:15 on 4 October 2026 on Lord Howe Island).
struct CalendarRule: Sendable {
    private let components: DateComponents
    private let zone: TimeZone
    /// Shows any zone's time as if it were UTC.
    private let calendar: Calendar
    /// Whether the components name times of a day, as 02:30; if not, times of each hour, as minute 30.
    private let hasHour: Bool

    init(_ components: DateComponents, in zone: TimeZone?) {
        self.zone = zone ?? components.timeZone ?? .autoupdatingCurrent
        var (calendar, components) = (components.calendar ?? Calendar(identifier: .gregorian), components)
        calendar.timeZone = .gmt
        (components.calendar, components.timeZone) = (nil, nil)
        hasHour = components.hour != nil || (components.minute == nil && components.second == nil)
        (self.calendar, self.components) = (calendar, components)
    }

    /// The first such instant after another, in seconds since 1970; nil if there is none.
    func next(after second: Int) -> Int? {
        if zone == .autoupdatingCurrent { SystemZone.update() }
        return hasHour ? nextOfDay(after: second) : nextOfHour(after: second)
    }

    /// A time that a day has twice counts once, the first time. A time that a day lacks is the end of the gap.
    private func nextOfDay(after second: Int) -> Int? {
        var shown = second + offset(at: second)
        while let next = time(after: shown) {
            let instant = firstInstant(showing: next)
            if instant > second { return instant }
            shown = next
        }
        return nil
    }

    /// Each hour that passes has its times, also one that a day has twice.
    private func nextOfHour(after second: Int) -> Int? {
        var (second, offset) = (second, offset(at: second))
        while let next = time(after: second + offset) {
            let instant = next - offset
            if self.offset(at: instant) == offset { return instant }
            // The search goes on from the jump, under the new offset.
            let jump = self.jump(from: second, to: instant)
            (second, offset) = (jump - 1, self.offset(at: jump))
        }
        return nil
    }

    /// The next time that the clocks show, as if it were UTC.
    private func time(after shown: Int) -> Int? {
        let date = Date(timeIntervalSince1970: Double(shown))
        return calendar.nextDate(after: date, matching: components, matchingPolicy: .strict)
            .map { Int($0.timeIntervalSince1970.rounded()) }
    }

    /// The first instant at which the clocks show a time or, if they never do, a later one.
    private func firstInstant(showing shown: Int) -> Int {
        let day = 86_400
        let (first, second) = (shown - offset(at: shown - day), shown - offset(at: shown + day))
        let matching = [first, second].filter { $0 + offset(at: $0) == shown }
        return matching.min() ?? jump(from: min(first, second) - 1, to: max(first, second))
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

    private func offset(at second: Int) -> Int {
        zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(second)))
    }
}

/// The system's time zone, which Foundation on Linux reads once.
private enum SystemZone {
    private static let lastRead = Mutex(ContinuousClock.now)

    /// Lets Foundation read it again, at most every ten seconds.
    static func update() {
        let now = ContinuousClock.now
        let isOld = lastRead.withLock { last in
            if now < last + .seconds(10) { return false }
            last = now
            return true
        }
        if isOld { NSTimeZone.resetSystemTimeZone() }
    }
}
