/// How the budget of a row that spins limited it.
package struct SpinCuts: Codable, Hashable, Sendable {
    /// How many deadlines had a shorter spin than the wake-ups needed, because the budget was used up.
    package private(set) var cuts: UInt64
    /// Why the row did not spin at all; nil if it may spin.
    package private(set) var obstacle: String?

    package init(cuts: UInt64, obstacle: String? = nil) {
        self.cuts = cuts
        self.obstacle = obstacle
    }

    /// Adds a later turn.
    package mutating func add(_ later: SpinCuts) {
        cuts += later.cuts
        obstacle = obstacle ?? later.obstacle
    }

    /// Whether a measurement can have counted these.
    var isSound: Bool { cuts < 1 << 52 }
}
