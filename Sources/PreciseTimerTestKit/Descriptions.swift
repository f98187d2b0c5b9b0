internal import PreciseTimer
internal import TimerAlarms
internal import TimerKernel

// How the public types read in messages, in logs and in the debugger.

extension VirtualTime: CustomStringConvertible {
    /// The instant and the number of timers, as in `virtual time 1500000000 ns (suspending), 3 timers`.
    public var description: String {
        let count = pendingCount
        return "virtual time \(now), \(count == 1 ? "1 timer" : "\(count) timers")"
    }
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
