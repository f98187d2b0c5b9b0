internal import CTimerKernel
internal import Synchronization
internal import TimerKernel

/// Lets an alarm's thread spin as its plan decides, unless that would keep other threads from running.
package final class Spinner: Sendable {
    private struct State: Sendable {
        var plan: SpinPlan
        var obstacle: String?
        /// When the processors were last checked, in nanoseconds; nil before the first deadline.
        var check: UInt64?
    }

    private let state: Lock<State>
    /// The last margin. Relaxed, because a wrong margin only makes the thread wake a little too early or too late for
    /// its spin. A setter reads it after `TimerFDAlarm.wakesBy`, so it sees at least the margin of the sleep that it
    /// shortens.
    private let margin: Atomic<UInt64>
    /// The length of the ``Lead``, the deadline for which the thread has fired and that is not yet decided on, and when
    /// it fired. Relaxed: only the spinning thread stores them, and the others can do no more with an old value than
    /// report it, or find that it is not their deadline.
    private let leadLength = Atomic<UInt64>(Lead.shortest)
    private let undecided = Atomic<UInt64>(0)
    private let fired = Atomic<UInt64>(0)

    package init(_ plan: SpinPlan) {
        state = Lock(State(plan: plan))
        margin = Atomic(plan.margin)
    }

    /// The state, for any thread.
    package var report: Report { state.withLock { Report(plan: $0.plan, obstacle: $0.obstacle) } }

    /// The margin before the last deadline, in nanoseconds. It does not wait for a lock.
    var lastMargin: UInt64 { margin.load(ordering: .relaxed) }

    /// How many nanoseconds before a deadline the calling thread must wake, to spin from then on.
    func margin(before deadline: UInt64) -> UInt64 {
        let now = TimerClock.suspending.now.nanoseconds
        let decided = state.withLock { state in
            if state.check.map({ now - $0 >= Self.second }) ?? true {
                state.obstacle = Self.obstacle
                state.check = now
            }
            return state.obstacle == nil ? state.plan.margin(before: deadline) : 0
        }
        margin.store(decided, ordering: .relaxed)
        return decided
    }

    /// How many nanoseconds before a deadline the alarm fires.
    package var lead: UInt64 { leadLength.load(ordering: .relaxed) }

    /// The calling thread fires for a deadline.
    func fires(for deadline: UInt64, at now: UInt64) {
        fired.store(now, ordering: .relaxed)
        undecided.store(deadline, ordering: .relaxed)
    }

    /// Learns from the service's first decision on a deadline, which is made now.
    func learn(decisionOn deadline: UInt64, at now: UInt64) {
        guard undecided.load(ordering: .relaxed) == deadline else { return }
        undecided.store(0, ordering: .relaxed)
        var lead = Lead(length: lead)
        lead.learn(decision: now - min(fired.load(ordering: .relaxed), now))
        leadLength.store(lead.length, ordering: .relaxed)
    }

    /// Learns from a wait of the calling thread.
    func learn(from wait: SpinPlan.Wait) { state.withLock { $0.plan.learn(from: wait) } }

    /// Why the calling thread must not spin; nil if it may. Most threads run where the main thread may run. If that is
    /// the one processor that the calling thread may use, too, a spin keeps them from running. Other threads may have
    /// more processors.
    private static var obstacle: String? {
        guard processors_of_main_and_this() == 1 else { return nil }
        return "this thread and the main thread have only one processor, which a spin would take from the main thread; "
            + "if the process may use others, give the service an affinity"
    }

    /// In nanoseconds.
    private static let second: UInt64 = 1_000_000_000
}

extension Spinner {
    /// What a spinner does, at one moment.
    package struct Report: Sendable {
        /// The plan's state.
        package let plan: SpinPlan
        /// Why the thread does not spin; nil if it may.
        package let obstacle: String?
    }
}

/// How long before a deadline an alarm fires, so that the service's decision takes no time of the tick. A pure value.
/// Lengths are in nanoseconds.
///
/// The lead grows by a microsecond after each decision that took longer, and shrinks by five nanoseconds after each
/// other one. So in the end one decision in two hundred takes longer, and an outlier hardly moves it. This is a
/// quantile estimated in constant memory: Ma, Muthukrishnan and Sandler, "Frugal Streaming for Estimating Quantiles"
/// (2013).
package struct Lead: Sendable {
    /// In the lead a service sees neither an earlier deadline nor a cancellation.
    package static var longest: UInt64 { 20_000 }
    package static var shortest: UInt64 { 2_000 }
    private static var growth: UInt64 { 1_000 }
    private static var rarity: UInt64 { 200 }

    package private(set) var length = Self.shortest

    package init(length: UInt64 = Self.shortest) { self.length = length }

    /// Learns how long a decision took.
    package mutating func learn(decision: UInt64) {
        length =
            decision > length
            ? min(length + Self.growth, Self.longest) : max(length - Self.growth / Self.rarity, Self.shortest)
    }
}
