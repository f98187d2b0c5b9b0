/// The targets and deadlines of one pass, the same for every side.
struct Sample: Sendable {
    /// The order of deadlines, and the order in which timers are moved and cancelled.
    enum Order: String, CaseIterable {
        case sequential
        case random
    }

    /// Objects that have been referred to weakly before.
    let targets: [Target]
    /// Nanoseconds from scheduling to the deadline: an hour, and up to 29 seconds more.
    let delays: [UInt64]
    /// The timers in the order in which they are moved and cancelled.
    let turns: [Int]
    /// Nanoseconds by which deadlines differ if all come due: zero, or up to a millisecond.
    let spread: [UInt64]

    var count: Int { targets.count }

    init(count: Int, order: Order) {
        targets = (0..<count).map { _ in Target() }
        precondition(targets.map(Reference.init).allSatisfy { $0.target != nil })
        var random = Generator(state: 42)
        let (hour, range) = (3_600_000_000_000 as UInt64, 29_000_000_000 as UInt64)
        let isRandom = order == .random
        delays = (0..<count)
            .map { isRandom ? hour + random.next() % range : hour + UInt64($0) * (range / UInt64(count)) }
        turns = isRandom ? (0..<count).shuffled(using: &random) : Array(0..<count)
        spread = (0..<count).map { _ in isRandom ? random.next() % 1_000_000 : 0 }
    }
}

/// A weak reference, which makes the target's side table.
private struct Reference {
    weak var target: Target?

    init(_ target: Target) { self.target = target }
}

/// Numbers that are the same in every run (xorshift64).
struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}
