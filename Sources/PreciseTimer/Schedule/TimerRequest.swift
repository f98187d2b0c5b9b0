internal import TimerKernel

/// A caller's request: everything but schedule, target, handler and destination.
struct TimerRequest {
    /// Nanoseconds.
    let tolerance: UInt64
    let missedTicks: PreciseTimer.MissedTickPolicy
    let isPaused: Bool
    let label: String?
    /// The call in the user's code.
    let site: CallSite
    let onEnd: (@Sendable (PreciseTimer.EndReason) -> Void)?

    /// - Throws: `TimerError` if the tolerance or the policy makes no sense.
    @inline(__always) init(
        _ tolerance: Duration,
        _ missedTicks: PreciseTimer.MissedTickPolicy,
        _ label: String?,
        _ isPaused: Bool,
        _ file: StaticString,
        _ line: UInt,
        _ onEnd: (@Sendable (PreciseTimer.EndReason) -> Void)? = nil
    ) throws(TimerError) {
        try missedTicks.validate()
        self.tolerance = tolerance == .zero ? 0 : try Self.nanoseconds(of: tolerance)
        self.missedTicks = missedTicks
        self.isPaused = isPaused
        self.label = label
        site = CallSite(file, line)
        self.onEnd = onEnd
    }

    /// The timing of the new timer.
    var timing: Timing {
        Timing(
            burstLimit: missedTicks.limit,
            restartsLate: missedTicks == .delay,
            tolerance: tolerance,
            isPaused: isPaused
        )
    }

    private static func nanoseconds(of tolerance: Duration) throws(TimerError) -> UInt64 {
        if let nanoseconds = tolerance.nanosecondsUnlessNegative { return nanoseconds }
        let attempted = "scheduling with a tolerance of \(tolerance.text)"
        throw TimerError(.invalidSchedule, "\(attempted) (it must not be negative)")
    }
}
