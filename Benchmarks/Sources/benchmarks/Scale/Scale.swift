import ArgumentParser

/// The price of each operation for several numbers of pending timers.
struct Scale: Measurement {
    static let configuration = CommandConfiguration(
        abstract: "The price of schedule, cancel, reschedule, fire and tick, with up to a million timers pending."
    )
    @OptionGroup var options: Options

    static func tables(_ options: Options) throws -> [Table] {
        var results: [ScaleKey: Figures] = [:]
        for count in options.counts {
            for round in options.rounds(with: count) {
                for side in Side.allCases where side.takesPart(with: count) {
                    progress("scale: \(grouped(count)) timers, round \(round + 1): \(side.title)")
                    for (operation, figure) in try ScaleCase.figures(side, count, tick: false) {
                        let key = ScaleKey(side: side, count: count, operation: operation)
                        results[key, default: Figures()].values.append(figure)
                    }
                }
            }
        }
        for round in options.rounds(with: Storm.timers) {
            for side in Side.allCases {
                progress("scale: ticks, round \(round + 1): \(side.title)")
                let figure = try ScaleCase.figures(side, Storm.timers, tick: true)[.tick]
                let key = ScaleKey(side: side, count: Storm.timers, operation: .tick)
                results[key, default: Figures()].values += figure.map { [$0] } ?? []
            }
        }
        let tables = ScaleTables(results: results)
        var scales = options.counts.map(tables.table)
        scales[scales.count - 1].remarks += tables.reasons(options.counts)
        return scales
    }
}

/// Which side, sample and operation a figure belongs to.
struct ScaleKey: Hashable {
    let side: Side
    let count: Int
    let operation: Operation
}

/// One side's figures with one sample, measured in a separate process.
struct ScaleCase: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "scale-case", shouldDisplay: false)

    @Argument var side: Side
    @Argument var count: Int
    @Flag var tick = false

    func run() throws {
        if tick { return Program.report(Operation.tick.rawValue, try side.tick()) }
        for (operation, figure) in try side.operations(Sample(count: count)) {
            Program.report(operation.rawValue, figure)
        }
    }

    /// Runs the command. Returns nanoseconds per operation.
    static func figures(_ side: Side, _ count: Int, tick: Bool) throws -> [Operation: Double] {
        let arguments = ["scale-case", side.rawValue, "\(count)"] + (tick ? ["--tick"] : [])
        return try Program.figures(of: arguments)
            .reduce(into: [:]) { figures, figure in
                if let operation = Operation(rawValue: figure.key) { figures[operation] = figure.value }
            }
    }
}

/// The tables of `scale`, and sentences about the rows that are behind.
struct ScaleTables {
    let results: [ScaleKey: Figures]

    func table(_ count: Int) -> Table {
        let reference = Side.dispatch.takesPart(with: count) ? Side.dispatch : .libevent
        var table = Table(
            title: "Nanoseconds per operation, \(grouped(count)) timers; × \(reference.title)",
            columns: [""] + Side.allCases.map(\.title) + ["PreciseTimer ÷ C heap"],
            rows: operations(count).map { row($0, count, reference) }
        )
        let absent = Side.allCases.filter { !$0.takesPart(with: count) }.map(\.title)
        if !absent.isEmpty {
            let limit = grouped(DispatchTimers.mostTimers)
            let who = absent.joined(separator: " and ")
            table.remarks.append("\(who): up to \(limit) only, as a million take too long and too much memory.")
        }
        if count > 1_000 {
            let number = grouped(LoopTasks.operations(with: count))
            table.remarks.append("SwiftNIO: \(number) cancels and pairs, as each searches all pending tasks.")
        }
        return table
    }

    /// Those of always-due timers, and of a service without others, belong to the smallest table.
    private func operations(_ count: Int) -> [Operation] {
        Operation.allCases.filter { ![.tick, .pairAlone].contains($0) || count == Storm.timers }
    }

    private func figures(_ operation: Operation, _ count: Int, _ side: Side) -> Figures? {
        results[ScaleKey(side: side, count: count, operation: operation)]
    }

    private func row(_ operation: Operation, _ count: Int, _ reference: Side) -> [String] {
        func figures(_ side: Side) -> Figures? { self.figures(operation, count, side) }
        let cells = Side.allCases.map { side in
            figures(side)?.text(.nanoseconds, against: side == reference ? nil : figures(reference)) ?? "–"
        }
        return [operation.rawValue] + cells + [figures(.ours)?.quotient(figures(.heap)) ?? "–"]
    }

    /// The sentences of all tables, with the highest ratio of each row. Operations of the same reason share a sentence.
    func reasons(_ counts: [Int]) -> [String] {
        Side.allCases.filter { $0 != .ours }
            .flatMap { side in
                var reasons: [String] = []
                for operation in Operation.allCases where !reasons.contains(operation.reason(beside: side)) {
                    reasons.append(operation.reason(beside: side))
                }
                return reasons.compactMap { reason in
                    let rows = Operation.allCases.filter { $0.reason(beside: side) == reason }
                        .map { operation in
                            let ratios = counts.compactMap { count in
                                figures(operation, count, .ours)?.ratio(to: figures(operation, count, side))
                            }
                            return (operation.rawValue, ratios.max())
                        }
                    let limit = side == .heap ? Behind.floor : Behind.peer
                    return Behind.remark(rows, above: limit, side == .heap ? "the C heap" : side.title, reason)
                }
            }
    }
}

extension Operation {
    /// Why PreciseTimer may take longer than another side.
    fileprivate func reason(beside side: Side) -> String {
        switch (side, self) {
        case (.dispatch, .cancel): "Dispatch marks the source, and another thread removes it at the same time"
        case (.dispatch, .fire):
            "one thread of Dispatch takes the due sources from its heap while another calls the handlers, and the "
                + "time begins with the first handler"
        case (.libevent, _):
            "libevent has no lock, handle or weak reference, so its caller must keep the event and the target alive, "
                + "and make all calls on the loop's thread"
        case (.heap, .pairAlone), (.heap, .pair), (.heap, .schedule):
            "a handle, a record, a lock and a weak reference are what PreciseTimer pays for"
        case (.heap, .reschedule), (.heap, .cancel):
            "PreciseTimer takes a lock and finds the timer through its handle and record; a cancel also releases the "
                + "handler"
        case (.heap, .fire), (.heap, .tick):
            "a tick takes the lock, makes a strong reference of the weak one, and counts missed deadlines"
        default: ""
        }
    }
}

/// The operations measured on each side.
enum Operation: String, CaseIterable {
    case pairAlone = "pair, none pending"
    case pair = "pair, all pending"
    case schedule
    case reschedule = "reschedule, later"
    case cancel
    case fire
    case tick = "tick, always due"
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

/// The targets and deadlines of one pass, at random, and the same for every side.
struct Sample: Sendable {
    /// Objects that have been referred to weakly before.
    let targets: [Target]
    /// Nanoseconds from scheduling to the deadline: an hour, and up to 29 seconds more.
    let delays: [UInt64]
    /// The timers in the order in which they are moved and cancelled.
    let turns: [Int]
    /// Nanoseconds by which deadlines differ if all come due: up to a millisecond.
    let spread: [UInt64]

    var count: Int { targets.count }

    init(count: Int) {
        targets = (0..<count).map { _ in Target() }
        precondition(targets.map(Reference.init).allSatisfy { $0.target != nil })
        var random = Generator(state: 42)
        let (hour, range) = (3_600_000_000_000 as UInt64, 29_000_000_000 as UInt64)
        delays = (0..<count).map { _ in hour + random.next() % range }
        turns = (0..<count).shuffled(using: &random)
        spread = (0..<count).map { _ in random.next() % 1_000_000 }
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
