internal import PreciseTimer
internal import PreciseTimerExecutor
internal import TimerAlarms
internal import TimerKernel

// How the public types read in messages, in logs and in the debugger.

extension VirtualTime: CustomStringConvertible {
    /// The time since the start, and the timers in the order of their next deadlines, as in
    /// `virtual time 500 ms, 2 timers: "clock" due at 1 s, Tests/PollTests.swift:12 at rest`. Ten timers at most.
    public var description: String {
        let timers = service.activeTimers.filter { $0.label != TimerExecutor.label }
            .sorted { ($0.due, $0.line) < ($1.due, $1.line) }
        let texts = timers.prefix(10)
            .map { timer in
                let name = timer.label.map { "\"\($0)\"" } ?? "\(timer.file):\(timer.line)"
                let due = timer.nextDeadline.map { "due at \(start.duration(to: $0).text)" } ?? "at rest"
                return "\(name) \(timer.isPaused ? "paused" : due)".onOneLine
            }
        let count = timers.count == 1 ? "1 timer" : "\(timers.count) timers"
        let list = texts + (timers.count > 10 ? ["\(timers.count - 10) more"] : [])
        return "virtual time \(start.duration(to: now).text), \(count)"
            + (list.isEmpty ? "" : ": " + list.joined(separator: ", "))
    }
}

extension TimerService.Snapshot {
    /// The next deadline in nanoseconds, the last of all if there is none.
    fileprivate var due: UInt64 { nextDeadline?.nanoseconds ?? .max }
}

extension VirtualTime.Fault: CustomStringConvertible {
    /// The fault, as in `wake 3 ms late`.
    public var description: String {
        switch self {
        case .wakeLate(let delay): "wake \(delay.text) late"
        case .wakeEarly(let lead): "wake \(lead.text) early"
        case .stall(let length): "stall for \(length.text)"
        case .stepClock(let step): "step the clock by \(step.text)"
        case .suspend(let length): "suspend for \(length.text)"
        }
    }
}

extension TickLog: CustomStringConvertible {
    /// The number of ticks, and when they were due since the start of virtual time, as in `2 ticks, due at 1 s, 2 s`.
    /// Ten deadlines at most.
    public var description: String {
        let deadlines = deadlines
        let count = deadlines.count == 1 ? "1 tick" : "\(deadlines.count) ticks"
        let texts = deadlines.prefix(10).map(\.text) + (deadlines.count > 10 ? ["\(deadlines.count - 10) more"] : [])
        return count + (texts.isEmpty ? "" : ", due at " + texts.joined(separator: ", "))
    }
}

extension AlarmConformance: CustomStringConvertible {
    /// The checks and their patience, as in `alarm conformance, patience 10 s`.
    public var description: String { "alarm conformance, patience \(patience.text)" }
}

extension AlarmConformance.Clause: CustomStringConvertible {
    /// The number and the words of the clause, as in `2: fires for past deadlines`.
    public var description: String {
        switch self {
        case .holdsOneDeadline: "\(rawValue): holds one deadline"
        case .firesForPastDeadlines: "\(rawValue): fires for past deadlines"
        case .neverFiresInsideSet: "\(rawValue): never fires inside set"
        case .neverFiresTwiceAtOnce: "\(rawValue): never fires twice at once"
        case .stopIsFinal: "\(rawValue): stop is final"
        case .goesOnIfItSaysSo: "\(rawValue): goes on if it says so"
        }
    }
}

// What `dump`, a debugger and a failed expectation show: the description, and no parts, which may change.

extension VirtualTime: CustomReflectable {
    /// Shows the description alone.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension TickLog: CustomReflectable {
    /// Shows the description alone.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension AlarmConformance: CustomReflectable {
    /// Shows the description alone.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
