/// The lines of a report that are not figures: the same on the screen, in JSON, in Markdown and on the page. The
/// screen has no room for the last three.
struct Words: Sendable {
    private let report: Report
    private var results: Results { report.results }

    init(_ report: Report) { self.report = report }

    /// The measurement, the machine and the time, in one line with as many of the facts as fit.
    func heading(width: Int = .max) -> String {
        let options = results.options
        let period = DurationText.spaced(nanoseconds: options.period)
        var parts = [options.timers == 1 ? "\(period) timer" : "\(options.timers) timers of \(period)"]
        if options.delivery != HandlerPlace.inline.rawValue { parts[0] += " on \(options.delivery)" }
        if options.clock != "suspending" { parts[0] += " on the \(options.clock) clock" }
        if let thread = options.thread { parts.append(thread) }
        if results.host.build == .debug { parts.append("DEBUG BUILD") }
        parts.append(results.origin.duration)
        return (parts.dropFirst() + results.host.shortFacts)
            .reduce(parts[0]) { line, part in
                line.count + part.count + 3 <= width ? "\(line) · \(part)" : line
            }
    }

    /// The state of the machine; nil if it was quiet.
    var state: String? { results.machine.words(on: results.host) }

    /// What a partial result lacks, in one line; nil if it is complete.
    var partial: String? {
        results.missing.isEmpty ? nil : "PARTIAL: \(results.missing.joined(separator: "; "))"
    }

    /// What follows from the figures, and what else a reader must know.
    var sentences: [String] { report.advice + notes }

    /// Whether other work disturbed the measurement, in one or two sentences.
    var disturbance: String {
        let state = results.machine.sentence(on: results.host, under: results.rows.map(\.key.load))
        return [state, lapsLeftOut ?? lapsKept].compactMap(\.self).joined(separator: " ")
    }

    private var lapsLeftOut: String? {
        guard results.lapsLeftOut > 0 else { return nil }
        return "p50 excludes \(results.lapsLeftOut) of \(results.laps.count) laps: other work disturbed them."
    }

    /// Disturbed laps that count, since the others are too few.
    private var lapsKept: String? {
        let disturbed = results.laps.count(where: \.isDisturbed)
        guard disturbed > 0, results.rows.contains(where: { $0.key.load == RowKey.idle }) else { return nil }
        return "Other work disturbed \(disturbed) of \(results.laps.count) laps: too many to exclude them from p50."
    }

    /// How far the figures can be believed.
    var confidence: String {
        let laps = report.rows.map(\.row.turns.count).max() ?? 0
        guard laps >= Ratio.fewest else {
            return "\(laps == 1 ? "1 lap is" : "\(laps) laps are") too few for ranges and verdicts: measure longer "
                + "(--time)."
        }
        let isCompared = report.rows.contains { $0.p50Ratio != nil }
        let machine = results.machine
        let sentences = [
            machine.isThrottled ? "Not very: these figures say more about the quota than about the timers." : nil,
            machine.isBusy
                ? "Not very: these figures say more about the machine’s other work than about the timers." : nil,
            "The range of p50 contains the true p50 in about 99 of 100 runs of \(laps) laps. The range of a figure "
                + "that a few stalls decide, such as p99, does so in 70 to 99.",
            report.rows.contains { $0.drift != nil } ? "The ± of a drift comes from one stretch." : nil,
            isCompared ? "“Later” and “earlier” are as reliable as the range of p50." : nil,
            "Another hour may give other figures.",
        ]
        return sentences.compactMap(\.self).joined(separator: " ")
    }

    /// What else a reader must know, sentence by sentence.
    var notes: [String] {
        var notes = [lapsLeftOut].compactMap(\.self)
        for row in report.rows {
            if let late = row.row.late { notes.append("\(row.key): \(late.words).") }
            guard let spin = row.row.spin else { continue }
            if let obstacle = spin.obstacle { notes.append("\(row.key) did not spin: \(obstacle).") }
            let share = Double(spin.cuts) / Double(max(row.deadlines, 1))
            if share > 0.01 {
                let percent = NumberText.fixed(100 * min(share, 1), places: 0)
                notes.append(
                    "\(row.key): the budget shortened the spin before \(percent) % of the deadlines (--thread budget:)."
                )
            }
        }
        return notes
            + results.remarks.map {
                "\($0.prefix(1) == "-" ? "Note: " : "")\($0.prefix(1).uppercased() + $0.dropFirst())."
            }
    }
}

extension Origin {
    /// In seconds, with two digits or all before the point.
    var duration: String { "\(NumberText.fixed(seconds, places: seconds < 9.5 ? 1 : 0)) s" }
}

extension Host {
    /// The processor and the system, in a few words.
    fileprivate var shortFacts: [String] {
        let noise = ["(R)", "(TM)", "CPU", "Processor"]
        let model = cpu.map { cpu in
            cpu.prefix { $0 != "@" }.split(separator: " ").filter { !noise.contains(String($0)) }.joined(separator: " ")
        }
        let usable = usableProcessors ?? processors
        let count = usable < processors ? "\(usable) of \(processors)" : "\(processors)"
        let place = hypervisor == true ? "\(count) vCPU guest" : "\(count) CPUs"
        let version = kernel.split { !$0.isNumber }.prefix(2).joined(separator: ".")
        return [[model, place].compactMap(\.self).joined(separator: ", "), "\(system) \(version)"]
    }
}

/// A column of a table of rows.
struct RowColumn {
    let title: String
    let text: (RowReport) -> String

    static let missing = "–"

    /// The columns that a person reads first, from the one that is needed most.
    static func first(comparedWith base: String) -> [RowColumn] {
        [
            RowColumn(title: "p50") { $0.p50.map { NumberText.time($0.value) } ?? missing },
            RowColumn(title: "p99 (range)") { $0.p99.map { NumberText.time($0) } ?? missing },
            RowColumn(title: "missed") { share($0.missed) },
            RowColumn(title: "drift ppm") { $0.drift.map { NumberText.drift($0) } ?? missing },
            RowColumn(title: "CPU") { share($0.cpu) },
            RowColumn(title: "than \(base)") { comparison($0) },
        ]
    }

    /// Every figure with its range.
    static func all(comparedWith base: String, hops: Bool) -> [RowColumn] {
        let figures = Figure.allCases.map { column($0.rawValue, of: $0) }
        let hop = RowColumn(title: "hop p50") { NumberText.time($0.row.hop.percentile(50)) }
        var columns = figures
        columns.insert(worst, at: 4)
        columns.append(RowColumn(title: "waited") { waited($0) })
        if hops { columns.append(hop) }
        columns.append(RowColumn(title: "than \(base)") { comparison($0, isLong: true) })
        return columns
    }

    /// What the page has below its first table.
    static var percentiles: [RowColumn] {
        let known: [RowColumn] = [Figure.p50, .p90, .p99, .p999].map { figure in column(figure.rawValue, of: figure) }
        return [RowColumn(title: "deadlines") { NumberText.grouped($0.deadlines) }] + known + [
            worst, column("missed", of: .missed),
            column("wake-ups per tick", of: .wakeUps), column("switches per tick", of: .switches),
            RowColumn(title: "waited for a processor") { waited($0) },
        ]
    }

    private static var worst: RowColumn {
        RowColumn(title: "worst") { $0.worst.map { NumberText.time($0) } ?? missing }
    }

    private static func column(_ title: String, of figure: Figure) -> RowColumn {
        RowColumn(title: title) { $0.figures[figure].map { figure.text($0) } ?? missing }
    }

    private static func waited(_ row: RowReport) -> String {
        row.runDelay.map { "\(NumberText.fixed($0, places: 1)) %" } ?? missing
    }

    private static func share(_ estimate: Estimate?) -> String {
        estimate.map { "\(NumberText.fixed($0.value, places: 1)) %" } ?? missing
    }

    /// `6 µs later`, `39 µs earlier`, `same` or `runs away`; with its range if there is room.
    private static func comparison(_ row: RowReport, isLong: Bool = false) -> String {
        if row.key.kind == .relative { return row.runsAway ? "runs away" : missing }
        guard let ratio = row.p50Ratio, let difference = row.difference else { return "" }
        let word =
            switch ratio.verdict {
            case .later: "later"
            case .earlier: "earlier"
            case .same: "same"
            case .unclear: "unclear"
            }
        guard ratio.verdict == .later || ratio.verdict == .earlier else { return word }
        let size = ratio.verdict == .later ? difference : -difference
        return "\(isLong ? NumberText.time(size) : NumberText.time(size.value)) \(word)"
    }
}

extension [RowReport] {
    /// The name of the base in the title of the last column.
    var nameOfBase: String { first { $0.base == nil && $0.key.kind != .relative }?.key.row ?? "" }
}

extension NumberText {
    /// A count with a comma before each three digits.
    static func grouped(_ count: UInt64) -> String {
        let digits = String(count)
        return digits.enumerated()
            .reduce(into: "") { text, digit in
                if digit.offset > 0, (digits.count - digit.offset).isMultiple(of: 3) { text.append(",") }
                text.append(digit.element)
            }
    }
}

/// A fact of the machine or of the measurement, for a reader who repeats it: a name, and a few sentences. JSON
/// and the page have them.
struct Fact: Codable, Hashable, Sendable {
    let name: String
    let text: String

    /// The facts in the order of the page.
    static func all(of results: Results) -> [Fact] {
        let early = results.rows.filter { $0.early > 0 }.map { "\($0.key) ticked early \($0.early) times" }
        let facts: [(String, [String])] = [
            ("Machine", [machine(results.host)]), ("Clock", clock(results)), ("Method", method(results)),
            ("Disturbance", disturbance(results.machine)), ("Origin", [origin(results)]),
            ("Remarks", early),
        ]
        return facts.filter { !$0.1.isEmpty }
            .map { name, sentences in Fact(name: name, text: sentences.map { "\($0)." }.joined(separator: " ")) }
    }

    private static func machine(_ host: Host) -> String {
        let usable = host.usableProcessors ?? host.processors
        let parts: [String?] = [
            host.cpu, host.machine, count(host.processors, "processor"),
            usable < host.processors ? "\(usable) of them usable" : nil,
            host.cpuQuota.map { "a quota of \(NumberText.fixed($0, places: 2)) processors" },
            host.governor.map { "governor \($0)" }, host.hypervisor == true ? "a guest of a hypervisor" : nil,
            "\(host.system) \(host.kernel)",
        ]
        return parts.compactMap(\.self).joined(separator: ", ")
    }

    private static func clock(_ results: Results) -> [String] {
        let host = results.host
        let reading = host.clockRead.map { "One reading takes \(NumberText.time($0))" }
        return ["\(results.options.clock) (\(host.clockSource ?? "of an unknown source"))"]
            + [reading].compactMap(\.self)
    }

    private static func method(_ results: Results) -> [String] {
        let options = results.options
        let (period, turn) = (options.period, options.turn)
        let sentences: [String?] = [
            "\(count(options.timers, "timer")), every \(DurationText.spaced(nanoseconds: period)), delivered "
                + options.delivery,
            "\(count(results.laps.count, "lap")), in which each row has one turn of "
                + "\(DurationText.spaced(nanoseconds: turn)), in random order (seed \(options.seed))",
            options.stretch == 0
                ? nil
                : "The drift is of a stretch of \(DurationText.spaced(nanoseconds: options.stretch)), "
                    + "in which all rows tick at the same time",
            options.thread.map { "Threads: \($0)" },
            options.why.map { "Each tick later than \(DurationText.spaced(nanoseconds: $0)) was traced to its cause" },
        ]
        return sentences.compactMap(\.self)
    }

    private static func disturbance(_ machine: MachineState) -> [String] {
        func percent(_ share: Double) -> String { "\(NumberText.fixed(share, places: 1)) %" }
        let load = machine.loadAverage.map { " (load \(NumberText.fixed($0, places: 1)))" } ?? ""
        let sentences: [String?] = [
            machine.others.map { "Other programs used \(percent($0)) of the processors\(load)" },
            machine.waiting.map { "Programs waited for a processor \(percent($0)) of the time" },
            machine.stolen.map { "Other guests of the host took \(percent($0))" },
            machine.quota.map { "Throttling: \($0.words)" },
        ]
        let unknown: [String?] = [
            machine.others == nil ? "what other programs used\(load)" : nil,
            machine.waiting == nil ? "how long programs waited for a processor" : nil,
            machine.stolen == nil ? "what other guests of the host took" : nil,
        ]
        let missing = unknown.compactMap(\.self)
        return sentences.compactMap(\.self) + (missing.isEmpty ? [] : ["Unknown: \(missing.listed)"])
    }

    private static func origin(_ results: Results) -> String {
        let (origin, build) = (results.origin, results.host.build.rawValue)
        let date = origin.date.replacing("T", with: " ").replacing("Z", with: " UTC")
        return "compare-backends \(origin.version), \(build) build, \(date), in \(origin.duration)"
    }

    private static func count(_ number: Int, _ thing: String) -> String {
        "\(NumberText.grouped(UInt64(clamping: number))) \(thing)\(number == 1 ? "" : "s")"
    }
}
