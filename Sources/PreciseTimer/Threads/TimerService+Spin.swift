internal import TimerAlarms
internal import TimerKernel

extension TimerService {
    /// How long and how often the thread of a ``Backend/hybrid`` service may spin, that is, read the clock in a loop.
    ///
    /// The thread sleeps until a margin before each deadline, and spins from then on. The margin follows the lateness
    /// of the kernel's wake-ups: it covers all but one in two hundred of those in the last half to whole second. The
    /// ``maximum`` and the budget limit it. If the budget is too short, ticks are as late as with ``Backend/timerFD``,
    /// never lost. If a timer is cancelled while the thread spins for it, the thread spins on until its deadline, in
    /// vain, unless another deadline comes first.
    public struct SpinOptions: Equatable, Sendable, CustomStringConvertible {
        /// The longest margin. Before a deadline that is far from the one before, it may be two and a half times as
        /// long, if that is at most a fortieth of the time between them.
        public var maximum: Duration
        /// The share of one processor core that spinning may take in any second: more than 0, and at most 0.9, since
        /// the kernel stops real-time threads that take more than 95 %.
        public var budget: Double

        /// Options, by default 100 µs and a tenth of a core.
        public init(maximum: Duration = .microseconds(100), budget: Double = 0.1) {
            self.maximum = maximum
            self.budget = budget
        }

        /// - Throws: `TimerError` if a value is out of its range.
        func validate() throws(TimerError) {
            guard maximum >= .zero, maximum <= .seconds(1) else {
                throw TimerError(.invalidOption, "spinning for \(maximum.text) at a time (0 s to 1 s are possible)")
            }
            guard budget > 0, budget <= 0.9 else {
                let reason = "at most 0.9, since the kernel stops real-time threads at 0.95"
                throw TimerError(.invalidOption, "spinning with a budget of \(budget) of a core (\(reason))")
            }
        }

        /// A limit of the process can make a spin on a real-time thread fatal.
        ///
        /// - Throws: `TimerError` if the thread might spin for more than half of that limit. Handlers need the rest.
        func validate(against policy: ThreadOptions.Policy) throws(TimerError) {
            let longestSpin = plan(within: nil).longest
            guard policy != .normal, let limit = RealTimeLimit.nanoseconds, longestSpin > limit / 2 else { return }
            let longest = Duration(wholeNanoseconds: longestSpin).text
            let allowed = Duration(wholeNanoseconds: limit).text
            let end = "after \(allowed) without a sleep, RLIMIT_RTTIME ends the process"
            let advice = "choose a smaller maximum or budget, or raise the limit: ulimit -R"
            let attempted = "spinning for up to \(longest) on a real-time thread"
            throw TimerError(.invalidOption, "\(attempted) (\(end); \(advice))")
        }

        /// The plan for a thread that gets no more than this runtime.
        func plan(within runtime: ThreadSetting.Runtime?) -> SpinPlan {
            SpinPlan(maximum: maximum.nanosecondsOrForever, budget: budget, runtime: runtime)
        }

        /// The limits, as in `at most 100 µs, 10 % of a core`.
        public var description: String { "at most \(maximum.text), \(percent(budget)) of a core" }
    }

    /// What the thread of a ``Backend/hybrid`` service does at one moment. A plain value.
    public struct Spin: Equatable, Sendable, CustomStringConvertible {
        /// How long before the last deadline the thread woke up to spin.
        public let margin: Duration
        /// How long before a deadline the thread begins to decide on the tick, 2 to 20 µs: as long as all but one in
        /// two hundred decisions take. So the decision does not make the tick late.
        public let lead: Duration
        /// The share of one core spent spinning in the last half to whole second.
        public let share: Double
        /// How many deadlines had a shorter margin than the wake-ups needed, because the budget was used up.
        public let cuts: Int
        /// One sentence, if the budget was too small for most deadlines of the last half to whole second: what the
        /// wake-ups need, and which budget pays for it. Nil if the budget is large enough.
        public let shortage: String?
        /// Why the thread does not spin at all; nil if it may spin. If it and the main thread may use only one
        /// processor, which is the same, a spin would keep the main thread from running.
        public let obstacle: String?

        /// What the thread does, as in `margin 60 µs, lead 2 µs, 3 % of a core, 0 cuts`.
        public var description: String {
            if let obstacle { return "does not spin: \(obstacle)" }
            let facts = "margin \(margin.text), lead \(lead.text), \(percent(share)) of a core, \(cuts) cuts"
            return [facts, shortage].compactMap(\.self).joined(separator: "; ")
        }
    }

    /// What the service's thread does besides sleeping; nil if the service does not run or does not spin.
    public var spin: Spin? {
        guard let alarm = core.alarm as? TimerFDAlarm, let report = alarm.spinner?.report else { return nil }
        let now = alarm.now.nanoseconds
        return Spin(
            margin: Duration(wholeNanoseconds: report.obstacle == nil ? report.plan.margin : 0),
            lead: Duration(wholeNanoseconds: alarm.lead),
            share: report.plan.share(at: now),
            cuts: Int(clamping: report.plan.cuts),
            shortage: Self.shortage(report.plan, at: now),
            obstacle: report.obstacle
        )
    }

    private static func shortage(_ plan: SpinPlan, at now: UInt64) -> String? {
        guard let shortage = plan.shortage(at: now) else { return nil }
        let margin = Duration(wholeNanoseconds: shortage.margin).text
        if plan.isLimitedByRuntime {
            return
                "the runtime of its policy is too short for these deadlines: the wake-ups need a margin of \(margin), "
                + "and half of the runtime is left for handlers"
        }
        let budget = shortage.share <= 0.9 ? "a budget of \(percent(shortage.share))" : "no budget"
        let need = "the wake-ups need a margin of \(margin), and \(budget) pays for it"
        return "a budget of \(percent(plan.budgetShare)) of a core is too small for these deadlines: \(need)"
    }
}

/// A share in percent with at most one decimal, as in `2.5 %` and `10 %`.
private func percent(_ share: Double) -> String {
    let text = "\((share * 1000).rounded() / 10)"
    return (text.hasSuffix(".0") ? text.dropLast(2) : text[...]) + " %"
}
