internal import TimerAlarms
public import TimerCore

extension TimerService {
    /// What a service obtained of its ``ThreadOptions``.
    public struct ThreadGrant: Hashable, Sendable {
        /// An option.
        public enum Option: String, CaseIterable, Sendable {
            /// The scheduling policy.
            case policy
            /// The processors.
            case affinity
            /// The timer slack.
            case timerSlack = "timer slack"
            /// The memory of the process.
            case lockedMemory = "locked memory"
            /// The idle latency of the processors.
            case idleLatency = "idle latency"
        }

        /// What came of one option.
        public struct Item: Hashable, Sendable {
            /// The option.
            public let option: Option
            /// What was asked for, as `fifo:80`.
            public let asked: String
            /// Why it was not obtained; nil if it was.
            public let refusal: TimerError?
            /// One sentence on what would help; nil if it was obtained, or if nothing would help.
            public let advice: String?
        }

        /// One item for each option that was asked for. A service's own thread always asks for a timer slack.
        public let items: [Item]

        /// The items that were not obtained.
        public var refusals: [Item] { items.filter { $0.refusal != nil } }

        init(of settings: [ThreadSetting], _ outcomes: [ThreadSetup.Outcome]) {
            items = settings.map { setting in
                guard let outcome = outcomes.first(where: { $0.setting == setting }) else {
                    let attempt = "setting \(setting.option.rawValue)"
                    let error = TimerError(.unavailable, "\(attempt) (it cannot be set on this backend)")
                    return Item(option: setting.option, asked: setting.asked, refusal: error, advice: nil)
                }
                return Item(
                    option: setting.option,
                    asked: setting.asked,
                    refusal: outcome.refusal,
                    advice: outcome.advice
                )
            }
        }

        /// The first refusal, with its advice.
        var error: TimerError? {
            guard let item = refusals.first, let refusal = item.refusal else { return nil }
            let attempted = [refusal.attempted, item.advice].compactMap(\.self).joined(separator: "; ")
            return TimerError(refusal.code, attempted, errno: refusal.errno, systemMessage: refusal.systemMessage)
        }
    }

    /// What the service obtained of its ``ThreadOptions``. No items for a service whose thread or loop belongs to the
    /// host, and for one that has not started yet.
    public var grant: ThreadGrant {
        let (settings, outcomes) = (core.setup.settings, core.setup.outcomes)
        return ThreadGrant(of: core.alarm == nil ? [] : settings, outcomes)
    }
}

extension TimerService.ThreadGrant: CustomStringConvertible {
    /// One line for each item.
    public var description: String { items.map(\.description).joined(separator: "\n") }
}

extension TimerService.ThreadGrant.Item: CustomStringConvertible {
    /// One line: the option, what was asked for, and whether it was obtained.
    public var description: String {
        let outcome = refusal.map { "refused: \($0)" } ?? "obtained"
        return ["\(option.rawValue) \(asked): \(outcome)", advice].compactMap(\.self).joined(separator: ". ")
    }
}

/// The names of settings, in the words of the options.
extension ThreadSetting {
    fileprivate var option: TimerService.ThreadGrant.Option {
        switch self {
        case .policy: .policy
        case .affinity: .affinity
        case .timerSlack: .timerSlack
        case .lockedMemory: .lockedMemory
        case .idleLatency: .idleLatency
        }
    }

    fileprivate var asked: String {
        switch self {
        case .policy(.fifo(let priority)): "fifo:\(priority)"
        case .policy(.roundRobin(let priority)): "rr:\(priority)"
        case .policy(.deadline(let runtime, let deadline, let period)): "deadline:\(runtime):\(deadline):\(period) ns"
        case .affinity(let processors): processors.sorted().map(String.init).joined(separator: ",")
        case .timerSlack(let nanoseconds): "\(nanoseconds) ns"
        case .lockedMemory: "yes"
        case .idleLatency(let microseconds): "\(microseconds) µs"
        }
    }
}
