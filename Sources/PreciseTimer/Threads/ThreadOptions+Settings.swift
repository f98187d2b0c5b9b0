internal import TimerAlarms
internal import TimerCore

/// Checks thread options, and turns them into the kernel's settings.
extension TimerService.ThreadOptions {
    /// - Throws: `TimerError` if a value is out of its range.
    func validate() throws(TimerError) {
        try policy.validate()
        if let wrong = affinity.first(where: { !(0..<Self.processors).contains($0) }) {
            throw TimerError(.invalidOption, "running on processor \(wrong) (0 to \(Self.processors - 1) are possible)")
        }
        if let timerSlack, timerSlack < .nanoseconds(1) {
            throw TimerError(.invalidOption, "a timer slack of \(timerSlack.text) (it must be at least 1 ns)")
        }
        if let idleLatency, idleLatency < .zero || idleLatency > .seconds(2000) {
            throw TimerError(.invalidOption, "an idle latency of \(idleLatency.text) (0 s to 2000 s are possible)")
        }
    }

    /// - Throws: the first refusal, with its advice, if the options are required. The timer slack that a service's
    ///   thread gets unasked is not.
    func check(_ grant: TimerService.ThreadGrant) throws(TimerError) {
        let refused = grant.refusals.first { $0.option != .timerSlack || timerSlack != nil }
        guard demand == .required, let refused, let refusal = refused.refusal else { return }
        let attempted = [refusal.attempted, refused.advice].compactMap(\.self).joined(separator: "; ")
        throw TimerError(refusal.code, attempted, errno: refusal.errno, systemMessage: refusal.systemMessage)
    }

    /// The kernel's settings, in the order in which they are made.
    func settings(hasOwnThread: Bool) -> [ThreadSetting] {
        var settings: [ThreadSetting] = []
        if let slack = timerSlack ?? (hasOwnThread ? .nanoseconds(1) : nil) {
            settings.append(.timerSlack(slack.nanosecondsOrForever))
        }
        if !affinity.isEmpty { settings.append(.affinity(affinity)) }
        if let policy = policy.setting { settings.append(.policy(policy)) }
        if locksMemory { settings.append(.lockedMemory) }
        // Rounded down: no state that is slower than asked for.
        if let idleLatency { settings.append(.idleLatency(Int32(idleLatency / .microseconds(1)))) }
        return settings
    }

    /// The kernel's mask of processors is never larger.
    private static let processors = 65_536
}

extension TimerService.ThreadOptions.Policy {
    fileprivate func validate() throws(TimerError) {
        switch self {
        case .normal: break
        case .fifo(let priority), .roundRobin(let priority):
            if (1...99).contains(priority) { break }
            throw TimerError(.invalidOption, "a real-time priority of \(priority) (1 to 99 are possible)")
        case .deadline(let runtime, let deadline, let period):
            if runtime > .zero, runtime <= deadline, deadline <= period, period <= .seconds(4) { break }
            let asked = "a runtime of \(runtime.text), a deadline of \(deadline.text) and a period of \(period.text)"
            throw TimerError(.invalidOption, "\(asked) (0 < runtime ≤ deadline ≤ period ≤ 4 s must hold)")
        }
    }

    fileprivate var setting: ThreadSetting.Policy? {
        switch self {
        case .normal: nil
        case .fifo(let priority): .fifo(priority: Int32(priority))
        case .roundRobin(let priority): .roundRobin(priority: Int32(priority))
        case .deadline(let runtime, let deadline, let period):
            .deadline(
                runtime: runtime.nanosecondsOrForever,
                deadline: deadline.nanosecondsOrForever,
                period: period.nanosecondsOrForever
            )
        }
    }
}
