internal import TimerAlarms

/// What a caller says of a timer, apart from when it ticks and whom for.
struct Description: Sendable {
    /// The timer's name.
    let label: String?
    /// Where in the user's code it was scheduled.
    let file: StaticString
    let line: UInt
    /// Whom its ending is told.
    var onEnd: (@Sendable (PreciseTimer.EndReason) -> Void)?
}

extension Description {
    /// Tells the developer of a handle that was dropped too early; true, so that it can be an assertion's condition and
    /// is there in debug builds only.
    func warnOfDroppedHandle() -> Bool {
        StandardError.write(
            "PreciseTimer: \(file):\(line): the handle of this timer was dropped before its first tick, which ended the "
                + "timer; keep the handle, or schedule with a target\n"
        )
        return true
    }
}
