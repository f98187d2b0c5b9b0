internal import TimerAlarms
public import TimerKernel

extension TimerService {
    /// What a service obtained of its ``ThreadOptions``.
    public struct ThreadGrant: Equatable, Sendable {
        /// An option.
        @nonexhaustive public enum Option: String, CaseIterable, Sendable {
            /// The scheduling policy.
            case policy
            /// The processors.
            case affinity
            /// The timer slack.
            case timerSlack = "timer slack"
            /// The slice.
            case slice
            /// The memory of the process.
            case lockedMemory = "locked memory"
            /// The idle latency of the processors.
            case idleLatency = "idle latency"
        }

        /// What came of one option.
        public struct Item: Equatable, Sendable {
            /// The option.
            public let option: Option
            /// What was asked for, as `fifo:80`.
            public let asked: String
            /// Why it was not obtained; nil if it was.
            public let refusal: TimerError?
            /// One sentence on what would help; nil if it was obtained, or if nothing would help.
            public let advice: String?
        }

        /// One item for each option that was asked for. A service's own thread always asks for a timer slack, and
        /// by default for a slice.
        public let items: [Item]

        /// The items that were not obtained.
        public var refusals: [Item] { items.filter { $0.refusal != nil } }

        /// - Parameters:
        ///   - settings: what was asked for.
        ///   - outcomes: the outcomes of those settings that were made.
        ///   - reason: why the others were not.
        init(of settings: [ThreadSetting], _ outcomes: [ThreadSetup.Outcome], missingSince reason: String) {
            items = settings.map { setting in
                let (option, outcome) = (setting.option, outcomes.first { $0.setting.property == setting.property })
                let missing = "setting \(option.rawValue) (\(reason))"
                let refusal = outcome == nil ? TimerError(.unavailable, missing) : outcome?.refusal
                return Item(option: option, asked: setting.asked, refusal: refusal, advice: outcome?.advice)
            }
        }
    }

    /// What the service obtained of its ``ThreadOptions``. No items for a service whose thread or loop belongs to the
    /// host, and for one that does not run.
    public var grant: ThreadGrant {
        let isRunning = core.alarm != nil
        let (settings, outcomes) = isRunning ? (core.setup.settings, core.setup.outcomes) : ([], [])
        return ThreadGrant(of: settings, outcomes, missingSince: "it cannot be set on this backend")
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

extension ThreadSetting {
    fileprivate var option: TimerService.ThreadGrant.Option {
        switch property {
        case .policy: .policy
        case .affinity: .affinity
        case .timerSlack: .timerSlack
        case .slice: .slice
        case .lockedMemory: .lockedMemory
        case .idleLatency: .idleLatency
        }
    }
}
