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

    /// What to tell the developer of a handler that asks for the main actor elsewhere, which the Swift runtime answers by
    /// ending the process.
    var warningOfMainActor: String {
        let name = label.map { " (\"\($0)\")" } ?? ""
        return "PreciseTimer: \(file):\(line): the handler of this timer\(name) asks for the main actor but does not "
            + "run on it; pass `deliver: .mainActor`, or isolate the handler: `{ @MainActor target, tick in … }`\n"
    }
}
