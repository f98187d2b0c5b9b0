internal import TimerAlarms
public import TimerKernel

extension TimerService {
    /// Which of its ``ThreadOptions`` a service obtained.
    public struct ThreadGrant: Equatable, Sendable, CustomStringConvertible {
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
            /// The name of the thread.
            case name
        }

        /// The outcome of one option.
        public struct Item: Equatable, Sendable, CustomStringConvertible {
            /// The option.
            public let option: Option
            /// The request, such as `fifo:80`.
            public let asked: String
            /// Whether the thread has asked for it by itself.
            let isDefault: Bool
            /// Why it was refused; nil if it was granted.
            public let refusal: TimerError?
            /// One sentence on what would help; nil if nothing would, or if the option was granted and does what it
            /// should. On a Linux with PREEMPT_RT the timers of libevent and Foundation gain little from a real-time
            /// policy.
            public let advice: String?

            /// One line: the option, the request, and whether it was granted.
            public var description: String {
                let lack = isDefault ? "the default, not obtained" : "refused"
                let outcome = refusal.map { "\(lack): \($0)" } ?? "obtained"
                let facts = ["\(option.rawValue) \(asked): \(outcome)", advice].compactMap(\.self)
                return facts.joined(separator: ". ").onOneLine
            }
        }

        /// One item for each option that was asked for. A service's own thread always asks for a timer slack, and
        /// by default for a slice. If the main thread has a real-time policy, which the service's thread does not take
        /// over, an item for the policy `normal` says so.
        public let items: [Item]

        /// The requested items that were refused. A timer slack or a slice that the thread requests on its own is not
        /// among them; ``items`` say whether it was obtained.
        public var refusals: [Item] { items.filter { $0.refusal != nil && !$0.isDefault } }

        /// One line for each item.
        public var description: String { items.map(\.description).joined(separator: "\n") }

        /// What helps a real-time thread on a kernel with PREEMPT_RT if it does not sleep by a time-out of its own.
        static let adviceForLoops = "\(delay) of this backend \(cause): use timerfd or hybrid, or \(remedy)"
        static let adviceForHosts = "\(delay) that a loop polls \(cause): \(remedy)"
        private static let adviceForMain =
            "The main thread is real-time, and this thread does not take that over: ask for a policy, as with "
            + "ThreadOptions.realTime(priority:)."
        private static let delay = "But on this kernel (PREEMPT_RT) the timers"
        private static let cause = "expire in its threads ktimers/N, of a lower priority"
        private static let remedy = "raise the priority of those threads with chrt."

        /// - Parameters:
        ///   - settings: the settings that were asked for.
        ///   - setup: has the outcomes of those settings that were made.
        ///   - reason: why the others were not.
        ///   - policyAdvice: the advice for a policy that was granted.
        ///   - isOwnThread: whether the thread is the service's.
        init(
            of settings: [ThreadSetting],
            from setup: ThreadSetup,
            missingSince reason: String,
            policyAdvice: String? = nil,
            isOwnThread: Bool = false
        ) {
            let outcomes = setup.outcomes
            var items = settings.map { setting in
                guard let option = Option(rawValue: setting.name) else { preconditionFailure("no such option") }
                let (outcome, missing) = (outcomes[setting.name], "setting \(setting.name) (\(reason))")
                let refusal = outcome == nil ? TimerError(.unavailable, missing) : outcome?.refusal
                return Item(
                    option: option,
                    asked: setting.asked,
                    isDefault: setting.isDefault,
                    refusal: refusal,
                    advice: refusal == nil && option == .policy ? policyAdvice : outcome?.advice
                )
            }
            if isOwnThread, MainThread.isRealTime, !items.contains(where: { $0.option == .policy }) {
                let advice = Self.adviceForMain
                items.append(Item(option: .policy, asked: "normal", isDefault: true, refusal: nil, advice: advice))
            }
            self.items = items
        }
    }

    /// Which of its ``ThreadOptions`` the service obtained, and still has: an affinity counts as refused as soon as the
    /// thread has other processors, because one was taken away, or another program moved the thread. The kernel does
    /// not give it back when the processor returns. No items for a service whose thread or loop belongs to the host,
    /// and for one that does not run.
    public var grant: ThreadGrant {
        let settings = core.alarm == nil ? [] : core.setup.settings
        let sleepsByTimeOut = core.alarm is TimerFDAlarm
        let advice = RealTimeKernel.expiresTimersInThreads && !sleepsByTimeOut ? ThreadGrant.adviceForLoops : nil
        let reason = "it cannot be set on this backend"
        return ThreadGrant(
            of: settings,
            from: core.setup,
            missingSince: reason,
            policyAdvice: advice,
            isOwnThread: !settings.isEmpty && !(core.alarm is DispatchAlarm)
        )
    }
}
