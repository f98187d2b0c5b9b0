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
