/// Everything that was measured. Files keep it, and every table, page and rule is made from it.
package struct Results: Hashable, Sendable {
    var host: Host
    var origin: Origin
    var options: Options
    var machine = MachineState()
    /// What the machine did in each lap, in their order.
    var laps: [Lap] = []
    /// Differences from the request, one sentence each without its full stop.
    var remarks: [String] = []
    /// In the order of the table.
    var rows: [MeasuredRow]
    /// Whether the measurement was stopped before its end.
    var isStopped = false
    /// The needs, with their outcomes as they were judged after the measurement.
    var judgements: [Judgement] = []

    /// A row by its name and load; nil if it was not measured.
    func row(_ name: String, load: String) -> MeasuredRow? {
        rows.first { $0.key.row == name && $0.key.load == load }
    }

    /// The missing parts, a few words each; empty if the results are complete.
    var missing: [String] {
        func names(_ rows: [MeasuredRow]) -> String { rows.map(\.key.description).joined(separator: ", ") }
        var missing: [String] = []
        if isStopped {
            missing.append("stopped after \(NumberText.fixed(origin.seconds, places: 0)) s")
            let most = rows.map(\.turns.count).max() ?? 0
            let behind = rows.filter { $0.turns.count < most && $0.failure == nil }
            if !behind.isEmpty { missing.append("the last lap lacks \(names(behind))") }
        }
        missing += rows.compactMap { row in row.failureText.map { "\(row.key) \($0)" } }
        let still = rows.filter { $0.drift == nil && $0.failure == nil }
        if isStopped, options.stretch > 0, !still.isEmpty {
            missing.append("no drift for \(still.count == rows.count ? "any row" : names(still))")
        }
        return missing
    }
}

/// When, how long and by what a measurement was made.
struct Origin: Codable, Hashable, Sendable {
    /// The beginning, in universal time, as `2026-05-01T12:00:00Z`.
    let date: String
    /// The seconds that it took.
    let seconds: Double
    /// The version of compare-backends.
    let version: String
}

/// The request. Only results of equal requests can be compared.
struct Options: Codable, Hashable, Sendable {
    /// Nanoseconds between two deadlines of a timer.
    var period: UInt64
    /// Nanoseconds that a row is measured at a time.
    var turn: UInt64
    /// Nanoseconds of the long stretch that shows a row's drift; 0 for none.
    var stretch: UInt64 = 0
    /// The number of timers that tick at a time.
    var timers: Int = 1
    /// The place where handlers run: see ``HandlerPlace``.
    var delivery: String = HandlerPlace.inline.rawValue
    /// The clock of the deadlines.
    var clock: String = "suspending"
    /// The seed of the order of the turns.
    var seed: UInt64 = 1
    /// The nanoseconds from which on the causes of late ticks were counted; nil if they were not.
    var why: UInt64?
    /// The options of the threads, as on the command line: `fifo:80 cpu:1`; nil for nothing.
    var thread: String?

    private enum CodingKeys: String, CodingKey {
        case period = "period_ns"
        case turn = "turn_ns"
        case stretch = "stretch_ns"
        case timers
        case delivery = "deliver"
        case clock
        case seed
        case why = "why_ns"
        case thread
    }
}

/// The place where handlers run: the alarm's thread, a serial Dispatch queue, or the main queue, whose thread does
/// nothing else.
package enum HandlerPlace: String, CaseIterable, Sendable { case inline, queue, main }

extension Results {
    /// The most laps, and the most rows: what lies beyond is a typing error, or a damaged file.
    static let mostLaps = 100_000
    static let mostRows = 200

    /// Why a measurement cannot have made these results, for instance because their file is damaged; nil if it can.
    var problem: String? {
        if rows.isEmpty || rows.allSatisfy(\.turns.isEmpty) { return "has no turns" }
        if rows.count > Self.mostRows { return "has \(rows.count) rows, more than the limit of \(Self.mostRows)" }
        if let most = rows.map(\.turns.count).max(), most > Self.mostLaps || laps.count > Self.mostLaps {
            return "has \(max(most, laps.count)) laps, more than the limit of \(Self.mostLaps)"
        }
        if Set(rows.map(\.key)).count < rows.count { return "has one row twice" }
        if let row = rows.first(where: { !$0.isSound }) { return "has counts of \(row.key) that contradict each other" }
        if options.period == 0 || options.timers < 1 || !machine.isSound || !laps.allSatisfy(\.isSound)
            || !(0...1e9).contains(origin.seconds)
        {
            return "has numbers that make no sense"
        }
        return texts.allSatisfy(\.isOneLine) ? nil : "has a name or remark that is not a plain line of text"
    }

    /// Every text that is shown unchanged.
    private var texts: [String] {
        // In parts, since Swift 6.2 does not manage the whole in one expression.
        let known: [String] = [
            options.delivery, options.clock, origin.date, origin.version, host.system, host.kernel, host.machine,
        ]
        let optional: [String?] = [host.cpu, host.clockSource, host.governor, options.thread]
        let ofNeeds: [[String]] = judgements.map { judgement in
            [judgement.need] + judgement.findings.flatMap { [$0.row, $0.load, $0.reason] }
        }
        let ofRows: [[String?]] = rows.map { row in
            [row.key.row, row.key.load, row.problem, row.failure, row.spin?.obstacle]
        }
        let plain: [String] = remarks + known + ofNeeds.flatMap { $0 }
        return plain + (optional + ofRows.joined()).compactMap(\.self)
    }
}

extension MeasuredRow {
    /// Greater numbers could overflow a sum.
    private static let limit = 0x1p52

    fileprivate var isSound: Bool {
        turns.allSatisfy { turn in
            let counts = [turn.median, turn.missed, turn.elapsed, turn.runDelay ?? 0].map { Double($0) }
            let costs = [turn.cpu, turn.wakeUps, turn.switches].map { Double($0 ?? 0) }
            return turn.missed <= turn.lateness.count && turn.lateness.count > 0 && turn.elapsed > 0
                && (counts + costs).allSatisfy { $0 < Self.limit }
        } && turns.reduce(0) { $0 + Double($1.lateness.count) } < Self.limit
            && early <= ticks.count && (drift?.isSound ?? true) && (series?.isSound ?? true)
            && (late?.isSound ?? true) && Double(spin?.cuts ?? 0) < Self.limit
    }
}

extension String {
    /// The text with a space for each character that a terminal might obey.
    package var inOneLine: String { isOneLine ? self : String(map { "\($0)".isOneLine ? $0 : " " }) }

    /// Whether a terminal shows the text in one line and obeys nothing in it.
    var isOneLine: Bool {
        unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: false
            default: true
            }
        }
    }
}

/// Whether two measurements can be compared.
extension Results {
    /// Why two results are not of one question, or not of one machine in one state, in a few words; nil if they are.
    /// Two kernels on one machine can be compared: a reader may want to see what a new kernel changed.
    func difference(from other: Results) -> String? {
        func quota(_ results: Results) -> String {
            results.host.cpuQuota.map { NumberText.fixed($0, places: 2) } ?? "none"
        }
        // An unknown value does not differ.
        let facts: [(name: String, of: (Results) -> String?)] = [
            ("the period", { DurationText.spaced(nanoseconds: $0.options.period) }),
            ("the timers", { "\($0.options.timers)" }), ("the place of the handlers", { $0.options.delivery }),
            ("the clock", { $0.options.clock }), ("the threads", { $0.options.thread ?? "nothing asked" }),
            ("the machine", { $0.host.machine }), ("the processor", { $0.host.cpu ?? "without a name" }),
            ("the processors", { "\($0.host.processors)" }),
            ("the usable processors", { $0.host.usableProcessors.map(String.init) }), ("the quota", quota),
            ("the governor", { $0.host.governor }), ("the clock source", { $0.host.clockSource }),
            ("the build", { $0.host.build.rawValue }),
        ]
        for (name, value) in facts {
            guard let own = value(self), let others = value(other), own != others else { continue }
            return "\(name): \(own) and \(others)"
        }
        return nil
    }
}
