package import TimerKernel

/// Decides how long before a deadline a thread stops sleeping and reads the clock in a loop, that is, spins. A pure
/// value: it learns what happened, and knows no clock and no thread. Instants and lengths are in nanoseconds.
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

    /// The longest margin before a deadline that follows another one closely. Before a rare one it may be two and a
    /// half times as long, if that is at most a fortieth of the time between them: a processor that has rested for long
    /// wakes up late, and the longer spin costs little.
    package let maximum: UInt64
    /// The share of one core that may be spent.
    package let budgetShare: Double
    /// Whether a runtime leaves less than was asked for.
    package let isLimitedByRuntime: Bool
    /// The margin before the last deadline.
    package private(set) var margin: UInt64
    /// How many deadlines had a smaller margin than their wake-ups needed, because of the budget.
    package private(set) var cuts: UInt64 = 0
    private var budget: SpinBudget
    private var history: SpinHistory
    /// What the wake-ups needed before the last deadline, until its wait was learned from.
    private var wanted: UInt64?
    /// The last deadline that was decided on, the longest margin before it, and whether it was counted as cut.
    private var last: (deadline: UInt64, longest: UInt64, isCut: Bool)?
    private static var rareShare: UInt64 { 40 }

    /// - Parameters:
    ///   - maximum: the longest margin before a deadline that follows another one closely.
    ///   - budget: the share of one core that may be spent, more than 0 and less than 1.
    ///   - runtime: the most processor time that the thread gets; nil for no such limit. Half of it is left for
    ///     decisions and handlers: a thread that has used it up gets no processor until its next period.
    package init(maximum: UInt64, budget: Double, runtime: ThreadSetting.Runtime? = nil) {
        let half = runtime.map { $0.length / 2 } ?? .max
        let share = runtime.map { Double($0.length) / Double($0.period) / 2 } ?? 1
        self.maximum = min(maximum, half)
        budgetShare = min(budget, share)
        isLimitedByRuntime = share < budget || half < maximum
        margin = self.maximum
        self.budget = SpinBudget(share: budgetShare, maximum: self.maximum)
        history = SpinHistory(maximum: min(maximum * 5 / 2, half))
    }

    /// Decides the margin before a deadline.
    package mutating func margin(before deadline: UInt64) -> UInt64 {
        if last?.deadline != deadline {
            let gap = deadline - min(last?.deadline ?? deadline, deadline)
            last = (deadline, max(min(gap / Self.rareShare, history.maximum), maximum), false)
        }
        let wanted = min(history.margin, last?.longest ?? maximum)
        let payable = budget.allowance(at: deadline)
        margin = min(wanted, payable)
        self.wanted = wanted
        if payable < wanted, last?.isCut == false {
            cuts += 1
            last?.isCut = true
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
        if let wanted = wanted.take() { history.add(wanted: wanted, isCut: margin < wanted, at: wait.end) }
        budget.pay(spin, at: wait.end)
    }

    /// What the wake-ups needed on average, if the budget was too small for most deadlines of the last half to whole
    /// second: the margin, and the share of one core that pays for it. Nil if the budget is large enough.
    package func shortage(at now: UInt64) -> (margin: UInt64, share: Double)? { history.shortage(at: now) }

    /// The longest time that the thread spins without a sleep.
    package var longest: UInt64 { budget.longest }

    /// The share of one core spent spinning in the last half to whole second.
    package func share(at now: UInt64) -> Double { history.share(at: now) }
}

/// Limits the time that a thread spins to a share of one processor core. Instants and lengths are in nanoseconds.
///
/// It is a token bucket (a leaky bucket as a meter, ITU-T I.371): the allowance grows at a constant rate up to a
/// capacity, and spinning uses it up. In any second the thread can use at most the capacity and what a second adds.
/// Both are chosen so that this is never more than the share, whatever the deadlines are.
package struct SpinBudget: Sendable {
    /// The most that can be spun at a time.
    package let capacity: UInt64
    /// How many nanoseconds of spinning a nanosecond of time adds.
    private let rate: Double
    private var allowance: UInt64
    /// When the allowance was last brought up to date; nil before the first payment.
    private var instant: UInt64?

    /// A budget that allows one longest spin at once.
    ///
    /// - Parameters:
    ///   - share: the share of one core, more than 0 and less than 1.
    ///   - maximum: the longest spin that is wanted at a time.
    package init(share: Double, maximum: UInt64) {
        let second = 1_000_000_000.0
        // The allowance saved up for bursts: a fiftieth of a second's budget, or one longest spin, but at most half a
        // second's budget.
        let capacity = share * max(0.02, min(Double(maximum) / (share * second), 0.5))
        self.capacity = UInt64(capacity * second)
        // A spin is paid when it ends, by at most the capacity. So the allowance of one second must pay for the spins
        // of a second and of one spin that ends later: capacity + rate × (1 + capacity) = share.
        rate = (share - capacity) / (1 + capacity)
        // Not full: many services, one after the other, must not spin more than one.
        allowance = min(self.capacity, maximum)
    }

    /// The longest time that a thread spins without a sleep, if its deadlines follow each other so closely: until what
    /// is saved up and what the time itself adds are used up.
    package var longest: UInt64 { UInt64(Double(capacity) / (1 - rate)) }

    /// What could be spun until an instant, if nothing else were spun before it.
    package func allowance(at instant: UInt64) -> UInt64 {
        guard let last = self.instant, instant > last else { return allowance }
        return UInt64(min(Double(allowance) + rate * Double(instant - last), Double(capacity)))
    }

    /// Pays for a spin that ended at an instant. A clock that was set back adds nothing.
    package mutating func pay(_ length: UInt64, at instant: UInt64) {
        allowance = allowance(at: instant)
        allowance -= min(length, allowance)
        self.instant = instant
    }
}

/// How late a thread woke up, and how long it spun, in the last half to whole second. Instants and lengths are in
/// nanoseconds.
///
/// Two windows of half a second take turns, and the older one is forgotten as a whole. So a spike has no effect after
/// a second, and a change of the machine's state is followed within a second. An average that decays exponentially
/// would need five times its time constant to forget a high value.
package struct SpinHistory: Sendable {
    /// One lateness in this many may be later than the margin.
    package static var rarity: UInt64 { 200 }
    /// The length of a window.
    private static var half: UInt64 { 500_000_000 }
    /// The lateness is sorted into this many equal classes. No margin covers a later one.
    private static var classes: Int { 160 }

    private struct Window {
        /// Without an allocation, since the thread turns the windows between two ticks.
        var counts = InlineArray<160, UInt32>(repeating: 0)
        var wakeUps: UInt64 = 0
        var spun: UInt64 = 0
        /// The deadlines, how many of them had a smaller margin than they needed, and the sum of the margins needed.
        var deadlines: UInt64 = 0
        var cuts: UInt64 = 0
        var wanted: UInt64 = 0
    }

    /// The longest margin.
    let maximum: UInt64
    /// The width of a class of lateness.
    private let width: UInt64
    private var current = Window()
    private var previous = Window()
    /// When the current window began.
    private var start: UInt64 = 0

    package init(maximum: UInt64) {
        self.maximum = maximum
        width = max((maximum + UInt64(Self.classes) - 1) / UInt64(Self.classes), 1)
    }

    /// Adds a wake-up.
    package mutating func add(lateness: UInt64, at now: UInt64) {
        turn(to: now)
        let number = Int(clamping: lateness / width)
        guard number < Self.classes else { return }
        current.counts[number] += 1
        current.wakeUps += 1
    }

    /// Adds a spin.
    package mutating func add(spin length: UInt64, at now: UInt64) {
        turn(to: now)
        current.spun += length
    }

    /// Adds a deadline, and the margin that the wake-ups needed.
    package mutating func add(wanted margin: UInt64, isCut: Bool, at now: UInt64) {
        turn(to: now)
        current.deadlines += 1
        current.cuts += isCut ? 1 : 0
        current.wanted += margin
    }

    /// Begins a new window if this one is over. If the clock was set back, both are new.
    private mutating func turn(to now: UInt64) {
        if now >= start, now - start < Self.half { return }
        let isNext = now >= start && now - start < 2 * Self.half
        previous = isNext ? current : Window()
        current = Window()
        start = isNext ? start + Self.half : now
    }

    /// The margin that covers all but one in ``rarity`` of these wake-ups, with a class to spare for the thread to
    /// begin its spin. If there are too few of them to know, deadlines are rare and spinning is cheap: then it is the
    /// maximum.
    package var margin: UInt64 {
        let rare = (current.wakeUps + previous.wakeUps) / Self.rarity
        guard rare > 0 else { return maximum }
        var later: UInt64 = 0
        for number in stride(from: Self.classes - 1, through: 0, by: -1) {
            later += UInt64(current.counts[number]) + UInt64(previous.counts[number])
            if later > rare { return min(UInt64(number + 2) * width, maximum) }
        }
        return maximum
    }

    /// The share of the last half to whole second that was spent spinning.
    package func share(at now: UInt64) -> Double {
        let (previous, current, length) = windows(at: now)
        return Double(current.spun + previous.spun) / length
    }

    /// The mean margin needed, and its share of the last half to whole second; nil unless most deadlines got less.
    package func shortage(at now: UInt64) -> (margin: UInt64, share: Double)? {
        let (previous, current, length) = windows(at: now)
        let (deadlines, wanted) = (previous.deadlines + current.deadlines, previous.wanted + current.wanted)
        guard (previous.cuts + current.cuts) * 2 > deadlines else { return nil }
        return (wanted / deadlines, Double(wanted) / length)
    }

    /// Both windows at an instant, and the time since the previous one began.
    private func windows(at now: UInt64) -> (Window, Window, length: Double) {
        var copy = self
        copy.turn(to: now)
        return (copy.previous, copy.current, Double(now - copy.start + Self.half))
    }
}
