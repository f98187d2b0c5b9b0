internal import Synchronization
internal import TimerAlarms
internal import TimerCore

extension HandlerWatch.SlowPlace {
    private static let warnings = Atomic(0)

    /// Warns the developer about a handler that runs for longer than its period. A process is warned of the first 16
    /// places: a test run may have thousands.
    func warn() {
        guard Self.warnings.add(1, ordering: .relaxed).oldValue < 16 else { return }
        let (file, name) = unsafe (String(cString: file), label.map { " (\"\($0)\")" } ?? "")
        let (time, period) = (Duration(wholeNanoseconds: longest).text, Duration(wholeNanoseconds: period).text)
        StandardError.write(
            "PreciseTimer: \(file):\(line): the handler of this timer\(name) ran for \(time), longer than its period "
                + "of \(period); its ticks are late, and inline handlers make the service's other timers late, too\n"
        )
    }
}

/// Messages of debug builds on standard error.
extension TimerRecord {
    /// Warns the developer about a handle that was released before the first tick.
    func warnOfDroppedHandle() {
        let (file, line) = callSite
        StandardError.write(
            "PreciseTimer: \(file):\(line): the handle of this timer was dropped before its first tick, which ended "
                + "the timer; keep the handle, or schedule with a target\n"
        )
    }

    /// The message for a handler that asks for the main actor while it runs elsewhere. The Swift runtime ends the
    /// process for that.
    var warningOfMainActor: String {
        let (file, line) = callSite
        let name = label.map { " (\"\($0)\")" } ?? ""
        return "PreciseTimer: \(file):\(line): the handler of this timer\(name) asks for the main actor but does not "
            + "run on it; pass `deliver: .mainActor`, or isolate the handler: `{ @MainActor target, tick in … }`\n"
    }
}
