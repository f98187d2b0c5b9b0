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
    /// The lateness is sorted into this many equal classes, and one for everything later.
    private static var classes: Int { 64 }

    private struct Window {
        /// Without an allocation, since the thread turns the windows between two ticks.
        var counts = InlineArray<65, UInt32>(repeating: 0)
        var wakeUps: UInt64 = 0
        var spun: UInt64 = 0
    }

    /// The longest margin.
    private let maximum: UInt64
    /// The width of a class of lateness.
    private let width: UInt64
    private var present = Window()
    private var former = Window()
    /// When the present window began.
    private var start: UInt64 = 0

    package init(maximum: UInt64) {
        self.maximum = maximum
        width = max((maximum + UInt64(Self.classes) - 1) / UInt64(Self.classes), 1)
    }

    /// Adds a wake-up.
    package mutating func add(lateness: UInt64, at now: UInt64) {
        turn(to: now)
        present.counts[min(Int(clamping: lateness / width), Self.classes)] += 1
        present.wakeUps += 1
    }

    /// Adds a spin.
    package mutating func add(spin length: UInt64, at now: UInt64) {
        turn(to: now)
        present.spun += length
    }

    /// Begins a new window if the present one is over. A clock that was set back begins both anew.
    private mutating func turn(to now: UInt64) {
        if now >= start, now - start < Self.half { return }
        let isNext = now >= start && now - start < 2 * Self.half
        former = isNext ? present : Window()
        present = Window()
        start = isNext ? start + Self.half : now
    }

    /// The margin that covers all but one in ``rarity`` of these wake-ups, with a class to spare for the thread to
    /// begin its spin. If there are too few of them to know, deadlines are rare and spinning is cheap: then it is the
    /// maximum.
    package var margin: UInt64 {
        let rare = (present.wakeUps + former.wakeUps) / Self.rarity
        guard rare > 0 else { return maximum }
        var later: UInt64 = 0
        for number in stride(from: Self.classes, through: 0, by: -1) {
            later += UInt64(present.counts[number]) + UInt64(former.counts[number])
            if later > rare { return min(UInt64(number + 2) * width, maximum) }
        }
        return maximum
    }

    /// The share of the last half to whole second that was spent spinning.
    package func share(at now: UInt64) -> Double {
        var copy = self
        copy.turn(to: now)
        let length = now - copy.start + Self.half
        return Double(copy.present.spun + copy.former.spun) / Double(length)
    }
}
