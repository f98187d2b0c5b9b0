/// The operations measured on each side.
enum Operation: String, CaseIterable {
    case pairAlone = "pair, none pending"
    case pair = "pair, all pending"
    case schedule
    case reschedule = "reschedule, later"
    case cancel
    case fire
    case tick
}

/// Measures one side with one sample.
enum ScalePass {
    /// Nanoseconds per operation.
    static func run<Side: TimerSide>(_: Side.Type, _ sample: Sample) throws -> [Operation: Double] {
        var figures = try Side.onItsThread { try operations(Side.self, sample) }
        let repetitions = repetitions(sample)
        var total = 0.0
        for _ in 0..<repetitions {
            Ticks.expect(sample.count)
            total += try Side.fire(sample)
        }
        figures[.fire] = total / Double(repetitions * sample.count)
        return figures
    }

    private static func operations<Side: TimerSide>(_: Side.Type, _ sample: Sample) throws -> [Operation: Double] {
        var side = try Side(sample)
        let (count, repetitions) = (sample.count, repetitions(sample))
        var timers = [Side.Timer?](repeating: nil, count: count)
        let cancels = min(count, Side.operations(with: count))
        var totals: [Operation: Double] = [:]
        _ = try pairs(&side, sample, pending: 0)
        totals[.pairAlone] = try pairs(&side, sample, pending: 0)
        for repetition in 0..<repetitions {
            totals[.schedule, default: 0] += try Clock.time {
                for number in 0..<count { timers[number] = try side.schedule(number) }
                side.settle(pending: count)
            }
            if Side.canReschedule {
                totals[.reschedule, default: 0] += try Clock.time {
                    for number in sample.turns {
                        if let timer = timers[number] { try side.reschedule(timer, number) }
                    }
                    side.settle(pending: count)
                }
            }
            if repetition == 0 { totals[.pair] = try pairs(&side, sample, pending: count) }
            totals[.cancel, default: 0] += Clock.time {
                for number in sample.turns.prefix(cancels) {
                    if let timer = timers[number] { side.cancel(timer) }
                }
                side.settle(pending: count - cancels)
            }
            for number in sample.turns.prefix(cancels) { timers[number] = nil }
        }
        side.close(timers.compactMap { $0 })
        for operation in [Operation.schedule, .reschedule] { totals[operation]? /= Double(count * repetitions) }
        totals[.cancel]? /= Double(cancels * repetitions)
        return totals
    }

    private static func pairs<Side: TimerSide>(
        _ side: inout Side,
        _ sample: Sample,
        pending: Int
    ) throws -> Double {
        let count = min(50_000, Side.operations(with: pending))
        return try Clock.time {
            for number in 0..<count { side.cancel(try side.schedule(sample.count - 1 - number % 1_000)) }
            side.settle(pending: pending)
        } / Double(count)
    }

    private static func repetitions(_ sample: Sample) -> Int { max(1, 50_000 / sample.count) }
}

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
