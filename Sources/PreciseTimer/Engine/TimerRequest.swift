internal import TimerKernel

/// A caller's request: everything but schedule, target, handler and destination.
@safe struct TimerRequest {
    /// Nanoseconds.
    let tolerance: UInt64
    let policy: LatePolicy
    let isPaused: Bool
    let label: String?
    /// The file of the call in the user's code.
    let file: UnsafePointer<UInt8>
    let line: UInt
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
        policy = missedTicks.latePolicy
        self.isPaused = isPaused
        self.label = label
        // A static string holds a single character instead of a pointer only if someone made it so on purpose.
        unsafe self.file = (file.hasPointerRepresentation ? file : "?").utf8Start
        self.line = line
        self.onEnd = onEnd
    }

    private static func nanoseconds(of tolerance: Duration) throws(TimerError) -> UInt64 {
        if let nanoseconds = tolerance.nanosecondsUnlessNegative { return nanoseconds }
        let attempted = "scheduling with a tolerance of \(tolerance.text)"
        throw TimerError(.invalidSchedule, "\(attempted) (it must not be negative)")
    }
}
