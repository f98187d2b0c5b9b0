internal import TimerKernel

/// What a caller asks of a timer besides its schedule, and that is no object of the user.
struct TimerRequest {
    /// Nanoseconds.
    let tolerance: UInt64
    let missedTicks: PreciseTimer.MissedTickPolicy
    let isPaused: Bool
    /// The call in the user's code.
    let site: CallSite

    /// - Throws: `TimerError` if the tolerance or the policy makes no sense.
    @inline(__always) init(
        _ tolerance: Duration,
        _ missedTicks: PreciseTimer.MissedTickPolicy,
        _ isPaused: Bool,
        _ file: StaticString,
        _ line: UInt
    ) throws(TimerError) {
        try missedTicks.validate()
        self.tolerance = tolerance.attoseconds == 0 ? 0 : try Self.nanoseconds(of: tolerance)
        self.missedTicks = missedTicks
        self.isPaused = isPaused
        site = CallSite(file, line)
    }

    /// The timing of the new timer.
    @inline(__always) var timing: Timing {
        Timing(
            burstLimit: missedTicks.limit,
            restartsLate: missedTicks == .delay,
            tolerance: tolerance,
            isPaused: isPaused
        )
    }

    private static func nanoseconds(of tolerance: Duration) throws(TimerError) -> UInt64 {
        if tolerance >= .zero { return tolerance.nanosecondsRoundedDown }
        let attempted = "scheduling with a tolerance of \(tolerance.text)"
        throw TimerError(.invalidSchedule, "\(attempted) (it must not be negative)")
    }
}
