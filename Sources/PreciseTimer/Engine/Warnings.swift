internal import TimerAlarms

/// What debug builds say on standard error.
extension TimerRecord {
    /// Tells the developer of a handle that was dropped too early.
    func warnOfDroppedHandle() {
        let (file, line) = callSite
        StandardError.write(
            "PreciseTimer: \(file):\(line): the handle of this timer was dropped before its first tick, which ended the "
                + "timer; keep the handle, or schedule with a target\n"
        )
    }

    /// What to tell the developer of a handler that asks for the main actor elsewhere, which the Swift runtime answers by
    /// ending the process.
    var warningOfMainActor: String {
        let (file, line) = callSite
        let name = label.map { " (\"\($0)\")" } ?? ""
        return "PreciseTimer: \(file):\(line): the handler of this timer\(name) asks for the main actor but does not "
            + "run on it; pass `deliver: .mainActor`, or isolate the handler: `{ @MainActor target, tick in … }`\n"
    }
}
