internal import Dispatch
internal import TimerAlarms
internal import TimerKernel

// How the public types read in messages, in logs and in the debugger. Reading a description changes nothing, and
// calls nothing of the user's.

// MARK: Timers

extension PreciseTimer: CustomStringConvertible {
    /// The timer's name, the place that scheduled it, its state and its deadlines, as in
    /// `timer "clock" (App/Clock.swift:12): scheduled, every 1 s`. If its target has been released, this does not end
    /// the timer.
    public var description: String { core.description(of: record) }
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

extension PreciseTimer.Schedule: CustomStringConvertible {
    /// The rule, as in `every 30 s, the first after 5 s, 10 ticks`.
    public var description: String {
        if let rule = special?.rule { return rule.name.onOneLine }
        let rule: (text: String, delay: Duration?) =
            switch repetition {
            case .none: ("once", nil)
            case .every(let period): ("every \(period.text)", period)
            case .rate(let rate, let duration): ("\(rate) per \(duration.text)", .zero)
            case .fixedDelay(let delay): ("\(delay.text) after each return", delay)
            case .onDemand: ("on demand", nil)
            }
        let first: String? =
            switch (start, repetition) {
            case (.after(let delay), .none): "after \(delay.text)"
            case (.at(let instant), .none): "at \(instant)"
            case (.after(let delay), _): delay == rule.delay ? nil : "the first after \(delay.text)"
            case (.at(let instant), _): "the first at \(instant)"
            case (.aligned(let instant), _): "aligned to \(instant)"
            case (.never, _): nil
            }
        return [
            rule.text, first, special?.spread.map { "spread over \($0.text)" },
            special?.jitter.map { "jitter \($0.text)" },
            special?.span.map { "for \($0.text)" },
            special?.count.map { $0 == 1 ? "1 tick" : "\($0) ticks" },
        ]
        .compactMap(\.self).joined(separator: repetition == .none ? " " : ", ")
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

extension PreciseTimer.Delivery: CustomStringConvertible {
    /// The place, as in `queue com.example.work`.
    public var description: String {
        switch self {
        case .inline: "inline"
        case .queue(let queue): "queue \(queue.label)".onOneLine
        }
    }
}

extension PreciseTimer.Statistics: CustomStringConvertible {
    /// One line, as in `1200 ticks, 3 missed; 99 % at most 87 µs late; handlers 99 % at most 12 µs`.
    public var description: String {
        let late = lateness.percentile(0.99).map { "99 % at most \($0.shortText) late" }
        let handlers = handlerTime.percentile(0.99).map { "handlers 99 % at most \($0.shortText)" }
        let stall = longestStall.map { "longest stall \($0.length.shortText)" }
        let counts = "\(ticks == 1 ? "1 tick" : "\(ticks) ticks"), \(missed) missed"
        return [counts, late, handlers, stall].compactMap(\.self).joined(separator: "; ")
    }
}

extension PreciseTimer.Statistics.Histogram: CustomStringConvertible {
    /// One line, as in `1200, 50 % at most 30 µs, 99 % at most 87 µs, the longest 120 µs`.
    public var description: String {
        guard let half = percentile(0.5), let most = percentile(0.99), let longest else { return "empty" }
        let (middle, end) = (half.shortText, most.shortText)
        return "\(count), 50 % at most \(middle), 99 % at most \(end), the longest \(longest.shortText)"
    }
}

extension PreciseTimer.Statistics.Stall: CustomStringConvertible {
    /// The stall, as in `4.1 ms since 1500000000 ns (suspending)`.
    public var description: String { "\(length.shortText) since \(deadline)" }
}

extension Duration {
    /// The duration, rounded up to three digits: a bucket's end has more digits than it knows.
    fileprivate var shortText: String {
        let nanoseconds = self < .zero ? .max : nanosecondsOrForever
        guard nanoseconds < .max else { return text }
        var step: UInt64 = 1
        while nanoseconds / step >= 1_000 { step *= 10 }
        return Duration(wholeNanoseconds: (nanoseconds + step - 1) / step * step).text
    }
}

extension TimerTicks: CustomStringConvertible {
    /// The schedule, as in `ticks every 10 ms`.
    public var description: String { "ticks \(schedule)" }
}

// MARK: Services

extension TimerService: CustomStringConvertible {
    /// The backend, its clock and the number of its timers, as in `shared timerfd service, suspending clock, 3 timers`,
    /// and then a line for each of the first 64 timers or more, as ``Snapshot`` describes it.
    public var description: String {
        let timers = core.survey(atLeast: 64) { Snapshot($0, core.clock) }
        return ([title] + timers.map { "  \($0)" }).joined(separator: "\n")
    }

    /// The first line of the description.
    fileprivate var title: String {
        let count = core.lock.isOfAnotherProcess ? 0 : core.pendingCount
        let timers = count == 1 ? "1 timer" : "\(count) timers"
        return "\(isShared ? "shared " : "")\(name) service, \(core.clock.rawValue) clock, \(timers)"
    }
}

extension TimerService.Backend: CustomStringConvertible {
    /// The name on the command line.
    public var description: String { rawValue }
}

extension TimerService.Snapshot: CustomStringConvertible {
    /// The facts, as in `timer "clock" (App/Clock.swift:12): 4 ticks, the last 12.3 µs late`.
    public var description: String {
        let name = label.map { "timer \"\($0)\"" } ?? "timer"
        let facts = [
            ticks == 1 ? "1 tick" : "\(ticks) ticks", lastLateness.map { "the last \($0.text) late" },
            lastRun.map { "it ran for \($0.duration.text)" }, lastRun?.error.map { "and threw: \($0)" },
            runningSince.map { "running since \($0)" }, nextDeadline.map { "the next at \($0)" },
            isPaused ? "paused" : nil,
            isTargetAlive ? nil : "target released",
        ]
        return "\(name) (\(file):\(line)): \(facts.compactMap(\.self).joined(separator: ", "))".onOneLine
    }
}

extension TimerService.SlowHandler: CustomStringConvertible {
    /// The facts, as in `"clock" (App/Clock.swift:12): 3 calls longer than 1 ms, the longest 3.2 ms`.
    public var description: String {
        let name = label.map { "\"\($0)\" " } ?? ""
        let calls = count == 1 ? "1 call" : "\(count) calls"
        return "\(name)(\(file):\(line)): \(calls) longer than \(period.text), the longest \(longest.text)".onOneLine
    }
}

extension TimerService.ClockStep: CustomStringConvertible {
    /// The step, as in `-3600 s, to 1767225600000000000 ns (wall)`.
    public var description: String { "\(change.text), to \(at)" }
}

extension TimerService.Suspension: CustomStringConvertible {
    /// The suspension, as in `60 s, until 1500000000 ns (suspending)`.
    public var description: String { "\(duration.text), until \(at)" }
}

extension TimerService.SpinOptions: CustomStringConvertible {
    /// The limits, as in `at most 100 µs, 10 % of a core`.
    public var description: String { "at most \(maximum.text), \(percent(budget)) of a core" }
}

extension TimerService.Spin: CustomStringConvertible {
    /// What the thread does, as in `margin 60 µs, lead 2 µs, 3 % of a core, 0 cuts`.
    public var description: String {
        if let obstacle { return "does not spin: \(obstacle)" }
        let facts = "margin \(margin.text), lead \(lead.text), \(percent(share)) of a core, \(cuts) cuts"
        return [facts, shortage].compactMap(\.self).joined(separator: "; ")
    }
}

extension TimerServiceClock: CustomStringConvertible {
    /// The service, as in `clock of shared timerfd service, suspending clock, 3 timers`.
    public var description: String { "clock of \(service.title)" }
}

extension PollableTimers: CustomStringConvertible {
    /// The descriptor and the service.
    public var description: String { "descriptor \(descriptor) of \(service.title)" }
}

// MARK: Keeping timers

extension TimerBag: CustomStringConvertible {
    /// The number of timers, with those that have ended and were not removed yet.
    public var description: String { size == 1 ? "bag of 1 timer" : "bag of \(size) timers" }
}

/// A share in percent with at most one decimal, as in `2.5 %` and `10 %`.
func percent(_ share: Double) -> String {
    let text = "\((share * 1000).rounded() / 10)"
    return (text.hasSuffix(".0") ? text.dropLast(2) : text[...]) + " %"
}
