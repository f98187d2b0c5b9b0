/// From what a caller asks for to the deadlines that the core counts.
extension PreciseTimer.Schedule {
    /// Refuses a schedule that makes no sense.
    func validate() throws(TimerError) {
        if let period, period <= .zero {
            throw TimerError(.invalidSchedule, "scheduling every \(period) (a period must be longer than zero)")
        }
        if case .after(let delay) = start, delay < .zero {
            throw TimerError(.invalidSchedule, "scheduling after \(delay) (a delay must not be negative)")
        }
    }

    /// The deadlines, counted from `now`. Lengths too large to represent become never.
    func grid(from now: TimerInstant) -> Grid {
        let period = period.map { UInt64($0.nanosecondsRoundedUp) }
        return switch start {
        case .after(let delay): Grid(start: now.advanced(by: delay), period: period)
        case .at(let instant): Grid(start: instant, period: period)
        }
    }
}
