internal import TimerKernel

// How timers read in messages, in logs and in the debugger. Reading a description changes nothing, and calls nothing of
// the user's.
//
// `dump`, a debugger and a failed expectation show the description, and no parts. A part may be of a kind that Swift
// cannot copy, which would end the process, and parts under a lock may change. So the public classes, and the
// structures that hold objects, have mirrors without children.

extension PreciseTimer: CustomStringConvertible, CustomReflectable {
    /// The timer's name, the call that scheduled it, its state and its deadlines, as in
    /// `timer "clock" (App/Clock.swift:12): scheduled, every 1 s`. If its target has been released, this does not end
    /// the timer.
    public var description: String {
        let (state, period) = core.locked(inForkedChild: (nil, nil)) { _ in
            (
                record.endReason.map(State.ended) ?? (record.timing.isPaused ? .paused : .scheduled),
                record.endReason == nil ? record.nominalPeriod : nil
            )
        }
        let facts = [state.map { "\($0)" } ?? "of the parent process", period.map { "every \($0.text)" }]
        return "\(core.name(of: record)): " + facts.compactMap(\.self).joined(separator: ", ")
    }

    /// Shows the description alone.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension PreciseTimer.State: CustomStringConvertible {
    /// The state, as in `ended: cancelled`.
    public var description: String {
        switch self {
        case .scheduled: "scheduled"
        case .paused: "paused"
        case .ended(let reason): "ended: \(reason)"
        }
    }
}

extension PreciseTimer.EndReason: CustomStringConvertible {
    /// The reason, as in `target released`.
    public var description: String {
        switch self {
        case .completed: "completed"
        case .cancelled: "cancelled"
        case .targetReleased: "target released"
        case .handleReleased: "handle released"
        case .serviceShutDown: "service shut down"
        case .failed(let error): "failed: \(error)".onOneLine
        case .backendFailed(let error): "\(error)"
        }
    }
}

extension PreciseTimer.Tick: CustomStringConvertible {
    /// The facts, as in `tick 4, 12.3 µs late, 1 missed`.
    public var description: String {
        "\(isExtra ? "extra tick before" : "tick") \(index), \(lateness.text) late"
            + (missed > 0 ? ", \(missed) missed" : "")
    }
}

extension PreciseTimer.Schedule: CustomStringConvertible, CustomReflectable {
    /// Shows the description alone.
    public var customMirror: Mirror { Mirror(self, children: [:]) }

    /// The rule, as in `every 30 s, the first after 5 s, 10 ticks`.
    public var description: String {
        if let rule { return rule.name().onOneLine }
        let rule: (text: String, delay: Duration?) =
            switch repetition {
            case .once, .computed: ("once", nil)
            case .every(let period): ("every \(period.text)", period)
            case .rate(let rate, let duration): ("\(rate) per \(duration.text)", nil)
            case .fixedDelay(let delay): ("\(delay.text) after each return", delay)
            case .onDemand: ("on demand", nil)
            }
        let first: String? =
            switch (start, repetition) {
            case (.after(let delay), .once): "after \(delay.text)"
            case (.at(let instant), .once): "at \(instant)"
            case (.after(let delay), _): delay == rule.delay ? nil : "the first after \(delay.text)"
            case (.at(let instant), _): "the first at \(instant)"
            case (.aligned(let instant), _): "aligned to \(instant)"
            case (.afterOneStep, _), (.never, _): nil
            }
        return [
            rule.text, first, modifiers?.spread.map { "spread over \($0.text)" },
            modifiers?.jitter.map { "jitter \($0.text)" },
            modifiers?.span.map { "for \($0.text)" },
            modifiers?.count.map { counted($0, "tick") },
        ]
        .compactMap(\.self).joined(separator: rule.text == "once" ? " " : ", ")
    }
}

extension PreciseTimer.MissedTickPolicy: CustomStringConvertible {
    /// The policy, as in `catch up, at most 5`.
    public var description: String {
        switch self {
        case .skip: "skip"
        case .catchUp(let limit): "catch up, at most \(limit)"
        case .delay: "delay"
        }
    }
}

/// A number of things, as in `1 tick` and `3 ticks`.
func counted(_ number: Int, _ thing: String) -> String { number == 1 ? "1 \(thing)" : "\(number) \(thing)s" }

extension ServiceCore {
    /// A timer's name, and the call that scheduled it.
    func name(of record: Record) -> String {
        let (site, label) = (record.user.site, locked(inForkedChild: nil) { _ in record.label })
        return "\(label.map { "timer \"\($0)\"" } ?? "timer") (\(site.file):\(site.line))".onOneLine
    }
}
