internal import TimerCore

/// What a caller asks for, apart from whom the ticks are for and what is called.
@safe
struct TimerRequest {
    let schedule: PreciseTimer.Schedule
    /// Nanoseconds.
    let tolerance: UInt64
    let policy: LatePolicy
    let isPaused: Bool
    let label: String?
    /// Where in the user's code the call is.
    let file: UnsafePointer<UInt8>
    let line: UInt
    let onEnd: (@Sendable (PreciseTimer.EndReason) -> Void)?

    /// - Throws: `TimerError` if the tolerance or the policy makes no sense.
    init(
        _ schedule: PreciseTimer.Schedule,
        _ tolerance: Duration,
        _ missedTicks: PreciseTimer.MissedTickPolicy,
        _ label: String?,
        _ isPaused: Bool,
        _ file: StaticString,
        _ line: UInt,
        _ onEnd: (@Sendable (PreciseTimer.EndReason) -> Void)? = nil
    ) throws(TimerError) {
        try missedTicks.validate()
        if tolerance < .zero {
            throw TimerError(.invalidSchedule, "scheduling with a tolerance of \(tolerance) (it must not be negative)")
        }
        self.schedule = schedule
        self.tolerance = tolerance.nanosecondsOrForever
        policy = missedTicks.latePolicy
        self.isPaused = isPaused
        self.label = label
        // A static string is one character by itself only if it was made so on purpose.
        unsafe self.file = (file.hasPointerRepresentation ? file : "?").utf8Start
        self.line = line
        self.onEnd = onEnd
    }
}
