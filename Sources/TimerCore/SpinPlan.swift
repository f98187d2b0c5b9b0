/// Decides how long before a deadline a thread stops sleeping and reads the clock in a loop, that is, spins. A pure
/// value: it is told what happened, and knows no clock and no thread. Instants and lengths are in nanoseconds.
///
/// The margin follows what the kernel's wake-ups need (``SpinHistory``) and shrinks to what the budget can pay
/// (``SpinBudget``). A thread that is woken late spins less than the margin and pays only for that. So if the budget is
/// short, the margin settles at the usual lateness plus what the budget pays for each deadline.
package struct SpinPlan: Sendable {
    /// A wait for one deadline.
    package struct Wait: Hashable, Sendable {
        /// When the thread asked to be woken; nil if it did not sleep.
        package var alarm: UInt64?
        /// When it woke, and began to spin.
        package var woke: UInt64
        /// When the wait ended.
        package var end: UInt64

        /// A wait that has not spun.
        package init(alarm: UInt64? = nil, woke: UInt64) {
            self.alarm = alarm
            self.woke = woke
            end = woke
        }
    }

    /// The longest margin.
    package let maximum: UInt64
    /// The margin before the last deadline.
    package private(set) var margin: UInt64
    /// How many deadlines had a smaller margin than their wake-ups needed, because of the budget.
    package private(set) var cuts: UInt64 = 0
    private var budget: SpinBudget
    private var history: SpinHistory
    /// The last deadline that was counted as cut.
    private var lastCut: UInt64?

    /// - Parameters:
    ///   - maximum: the longest margin.
    ///   - budget: the share of one core that may be spent, more than 0 and less than 1.
    package init(maximum: UInt64, budget: Double) {
        self.maximum = maximum
        margin = maximum
        self.budget = SpinBudget(share: budget, maximum: maximum)
        history = SpinHistory(maximum: maximum)
    }

    /// Decides the margin before a deadline.
    package mutating func margin(before deadline: UInt64) -> UInt64 {
        let (wanted, payable) = (history.margin, budget.allowance(at: deadline))
        margin = min(wanted, payable)
        if payable < wanted, lastCut != deadline {
            cuts += 1
            lastCut = deadline
        }
        return margin
    }

    /// Learns from a wait and pays for its spin.
    package mutating func learn(from wait: Wait) {
        // A thread that was woken before had another reason.
        if let alarm = wait.alarm, wait.woke >= alarm { history.add(lateness: wait.woke - alarm, at: wait.woke) }
        // If the host stood still during a spin, that time does not count.
        let spin = min(wait.end - min(wait.woke, wait.end), margin)
        history.add(spin: spin, at: wait.end)
        budget.pay(spin, at: wait.end)
    }

    /// The longest time that the thread spins without a sleep.
    package var longest: UInt64 { budget.longest }

    /// The share of one core spent spinning in the last half to whole second.
    package func share(at now: UInt64) -> Double { history.share(at: now) }
}
