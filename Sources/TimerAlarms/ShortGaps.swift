/// Decides whether a thread stays awake for a deadline that is near, because a sleep would cost more. A pure value: it
/// is told what happened, and knows no clock and no thread. Instants and lengths are in nanoseconds.
///
/// A sleep costs processor time: the timer is set, the thread leaves its processor and gets it back. This price is
/// learned from every sixteenth short sleep. A gap of up to two fifths of it is not slept. (With a half, ten thousand
/// timers took 4 % more of a processor and were hardly nearer; with a third, they were three times as late.) A budget
/// bounds the time that is spent so, since a thread that never sleeps keeps others from its processor.
package struct ShortGaps: Sendable {
    /// What the thread does with a short gap.
    package enum Choice: Sendable {
        /// It reads the clock until the deadline.
        case stayAwake
        case sleep
        /// It sleeps, and tells the processor time that this took.
        case measureSleep
    }

    /// A gap that is longer is no short one. A sleep would end with cold caches, and says little of a short one.
    package static var longest: UInt64 { 100_000 }
    /// The longest gap for which a thread ever stays awake.
    package static var bound: UInt64 { 25_000 }
    /// The share of one core that may be spent so in any second. Together with a spinner's budget it is at most 0.9,
    /// since the kernel stops real-time threads at 0.95.
    package static var share: Double { 0.7 }
    private static var shareOfAll: Double { 0.9 }
    private static var measuredOnceIn: UInt64 { 16 }

    /// The longest gap for which the thread stays awake: 0 before the first sleep was measured.
    package private(set) var worthwhile: UInt64 = 0
    private var price: UInt64?
    private var sleeps: UInt64 = 0
    private var budget: SpinBudget

    /// For a thread that always sleeps.
    package static var none: ShortGaps { ShortGaps(beside: 1) }

    /// - Parameter other: the share of the core that the thread may spin anyway.
    package init(beside other: Double = 0) {
        budget = SpinBudget(share: max(min(Self.share, Self.shareOfAll - other), 0), maximum: Self.bound)
    }

    /// The longest time that the thread stays awake because of this.
    package var longestStretch: UInt64 { budget.longest }

    /// Decides on a gap that begins now.
    package mutating func choice(for gap: UInt64, at now: UInt64) -> Choice {
        if gap <= worthwhile, gap <= budget.allowance(at: now) { return .stayAwake }
        guard gap <= Self.longest else { return .sleep }
        defer { sleeps &+= 1 }
        return sleeps.isMultiple(of: Self.measuredOnceIn) ? .measureSleep : .sleep
    }

    /// Pays for a gap that ended at an instant.
    package mutating func pay(_ length: UInt64, at instant: UInt64) { budget.pay(length, at: instant) }

    /// Learns the processor time that a sleep has taken. The price follows the last eight or so.
    package mutating func learn(price sample: UInt64) {
        let sample = min(sample, 4 * Self.bound)
        let price = price.map { ($0 * 7 + sample) / 8 } ?? sample
        self.price = price
        worthwhile = min(price * 2 / 5, Self.bound)
    }
}
