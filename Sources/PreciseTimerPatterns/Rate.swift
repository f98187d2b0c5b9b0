public import PreciseTimer

extension PreciseTimer.Schedule {
    /// `rate` deadlines in each `duration`, for a rate with a fraction: a tempo of 127.5 beats a minute.
    ///
    /// ```swift
    /// let clock = try PreciseTimer.schedule(.rate(24 * 127.5, per: .seconds(60)), target: model) { $0.step($1) }
    /// ```
    ///
    /// The rate is rounded to the nearest millionth, and is exact from there on: 127.5 a minute are 255 in two minutes,
    /// and 127.1 are 1,271 in ten. Otherwise like the form that takes a whole number.
    ///
    /// - Parameters:
    ///   - rate: the number of deadlines in the duration.
    ///   - duration: the time that they take.
    ///   - count: the number of ticks after which the timer ends; nil for no end.
    /// - Returns: the schedule.
    public static func rate(_ rate: Double, per duration: Duration, count: Int? = nil) -> Self {
        // A value that is no number, or too great, is refused when the timer is scheduled.
        let millionths = Int(exactly: (rate * 1_000_000).rounded()) ?? (rate > 0 ? .max : 0)
        var (divisor, rest) = (1_000_000, max(millionths, 0))
        while rest > 0 { (divisor, rest) = (rest, divisor % rest) }
        let longest = Duration.seconds(Int64.max / 1_000_000)
        let time = min(max(duration, .zero), longest) * (1_000_000 / divisor)
        return .rate(millionths / divisor, per: time, count: count)
    }
}
