internal import PreciseTimer

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
