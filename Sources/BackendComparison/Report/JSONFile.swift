internal import FoundationEssentials

/// Results as a JSON file. `Documentation/results.md` has its keys.
package enum JSONFile {
    /// The version of the form. It grows if a part of the form changes its meaning or goes.
    static let schema = 5

    /// The results and what they mean, with keys in alphabetical order.
    package static func encode(_ report: Report) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(Form(report)), as: UTF8.self)
    }

    /// Reads the results in a file's text. Their meaning is not read, but decided again,
    /// except for the needs.
    ///
    /// - Throws: `Failure`, to be printed behind the file's name.
    package static func decode(_ text: some Sequence<UInt8>) throws(Failure) -> Results {
        let data = Data(text)
        guard let version = try? JSONDecoder().decode(Version.self, from: data) else {
            throw .invalid("is not JSON from compare-backends, or is cut off after \(data.count) bytes")
        }
        guard version.schema == schema else {
            throw .invalid(
                "has schema \(version.schema), and this compare-backends reads schema \(schema): measure again"
            )
        }
        let form: Form
        do { form = try JSONDecoder().decode(Form.self, from: data) } catch {
            throw .invalid("is damaged: \(place(of: error))")
        }
        return try results(in: form)
    }

    /// Writes the same with any encoder.
    static func encode(_ report: Report, to encoder: any Encoder) throws {
        try Form(report).encode(to: encoder)
    }

    /// Reads the results with any decoder.
    static func results(from decoder: any Decoder) throws -> Results {
        func damage(_ reason: String) -> DecodingError {
            .dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: reason))
        }
        let version = try Version(from: decoder)
        guard version.schema == schema else { throw damage("the schema is \(version.schema), and not \(schema)") }
        let form = try Form(from: decoder)
        do throws(Failure) { return try results(in: form) } catch { throw damage("the comparison \(error)") }
    }

    private static func results(in form: Form) throws(Failure) -> Results {
        let results = try form.results
        if let problem = results.problem { throw .invalid(problem) }
        return results
    }

    /// Where and why decoding failed, in one line.
    private static func place(of error: any Error) -> String {
        func path(_ context: DecodingError.Context) -> String {
            context.codingPath.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
        }
        return switch error {
        case DecodingError.keyNotFound(let key, let context): "\(key.stringValue) is missing in \(path(context))"
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
            DecodingError.dataCorrupted(let context):
            "\(path(context)): \(context.debugDescription)"
        default: "\(error)"
        }
    }

    private struct Version: Decodable { let schema: Int }
}

extension Report {
    /// Reads the results in a file, or in the standard input if its name is `-`. Throws `Failure` if it cannot be read.
    package init(file path: String) throws(Failure) {
        let content: [UInt8]
        let isInput = path == "-"
        do { content = try isInput ? InputFile.standardInput() : InputFile.read(path) } catch {
            throw .invalid("\(error)")
        }
        do { self.init(try JSONFile.decode(content)) } catch {
            throw .invalid("\(isInput ? "the standard input" : path) \(error)")
        }
    }
}

/// The form of the file. Turns are written in columns, one number for each lap: as objects they would take most of the
/// room.
private struct Form: Codable {
    let schema: Int
    let heading: String
    let state: String?
    let disturbance: String?
    let confidence: String?
    let missing: [String]
    let advice: [String]
    /// Absent in older files.
    let facts: [Fact]?
    let host: Host
    let origin: Origin
    let options: Options
    let machine: MachineState
    /// The columns `waiting_percent` and `stolen_percent`.
    let laps: [String: [Double?]]
    let remarks: [String]
    let stopped: Bool
    /// Absent without needs. They keep the outcomes of the measurement, although the figures are computed again: the
    /// earlier file that a need names may be another one now.
    let needs: [Judgement]?
    let rows: [RowForm]

    init(_ report: Report) {
        let (results, words) = (report.results, Words(report))
        schema = JSONFile.schema
        heading = words.heading()
        state = words.state
        disturbance = words.disturbance
        confidence = words.confidence
        missing = results.missing
        advice = words.sentences
        facts = Fact.all(of: results)
        host = results.host
        origin = results.origin
        options = results.options
        machine = results.machine
        laps = [
            "waiting_percent": results.laps.map { $0.waiting?.rounded(places: 1) },
            "stolen_percent": results.laps.map { $0.stolen?.rounded(places: 1) },
        ]
        remarks = results.remarks
        stopped = results.isStopped
        needs = results.judgements.isEmpty ? nil : results.judgements
        rows = results.rows.map { row in RowForm(row, report.rows.first { $0.key == row.key }) }
    }

    var results: Results {
        get throws(Failure) {
            let (waiting, stolen) = (laps["waiting_percent"] ?? [], laps["stolen_percent"] ?? [])
            guard waiting.count == stolen.count else { throw .invalid("is damaged: its laps do not fit together") }
            var measured: [MeasuredRow] = []
            for row in rows { measured.append(try row.measured) }
            // As they are written: a file of another hand may have more digits.
            let laps = zip(waiting, stolen).map { Lap(waiting: $0?.rounded(places: 1), stolen: $1?.rounded(places: 1)) }
            var results = Results(host: host, origin: origin, options: options, laps: laps, rows: measured)
            (results.machine, results.remarks, results.isStopped) = (machine, remarks, stopped)
            results.judgements = needs ?? []
            return results
        }
    }
}

/// One row in the file.
private struct RowForm: Codable {
    let row: String
    let kind: RowKey.Kind
    let load: String
    /// The row that it is compared with.
    let base: String?
    /// By their fields. A figure that the row does not have is absent.
    let figures: [String: [String: Double]]
    /// The comparison with the base, by p50 and p99.
    let verdicts: [String: Ratio.Verdict]
    /// The columns of the turns, one number for each lap.
    let turns: [String: [Int64?]]
    /// The lateness of all deadlines of each turn.
    let lateness: [String]
    let ticks: Ticks
    let drift: StretchDrift?
    let stretch: LatenessSeries?
    let problem: String?
    let failure: String?
    let late: LateTicks?
    let spin: SpinCuts?

    /// The ticks themselves, without the missed deadlines.
    struct Ticks: Codable {
        let early: UInt64
        let lateness: String
        let hop: String
    }

    init(_ row: MeasuredRow, _ report: RowReport?) {
        self.row = row.key.row
        kind = row.key.kind
        load = row.key.load
        base = report?.base?.row
        figures = report.map { Self.figures($0) } ?? [:]
        verdicts = ["p50": report?.p50Ratio?.verdict, "p99": report?.p99Ratio?.verdict].compactMapValues(\.self)
        turns = [
            "median_ns": row.turns.map { Int64($0.median) }, "missed": row.turns.map { Int64($0.missed) },
            "cpu_ns": row.turns.map(\.cpu), "elapsed_ns": row.turns.map { Int64($0.elapsed) },
            "wakeups": row.turns.map(\.wakeUps), "switches": row.turns.map(\.switches),
            "run_delay_ns": row.turns.map { $0.runDelay.map { Int64($0) } },
        ]
        lateness = row.turns.map(\.lateness.text)
        ticks = Ticks(early: row.early, lateness: row.ticks.text, hop: row.hop.text)
        drift = row.drift
        stretch = row.series
        problem = row.problem
        failure = row.failure
        late = row.late
        spin = row.spin
    }

    private static func figures(_ report: RowReport) -> [String: [String: Double]] {
        let ticks = report.row.ticks
        var figures: [String: Estimate?] = [
            "than_base_p50_ns": report.difference, "than_base_p99_ns": report.tailDifference,
            "max_ns": report.worst.map { Estimate($0) }, "run_delay_percent": report.runDelay.map { Estimate($0) },
            "deadlines": Estimate(Double(report.deadlines)), "ticks": Estimate(Double(ticks.count)),
        ]
        for percent in [50.0, 99, 100] where ticks.count > 0 {
            figures["ticks_p\(Int(percent))_ns"] = Estimate(ticks.percentile(percent))
        }
        for figure in Figure.allCases { figures[figure.field] = report.figures[figure] }
        return figures.compactMapValues { figure in
            // Far more digits than are shown: who rounds the figures once more must come to those of the screen.
            figure.map { ["estimate": $0.value, "low": $0.interval?.lowerBound, "high": $0.interval?.upperBound] }?
                .compactMapValues { $0?.rounded(places: 6) }
        }
    }

    var measured: MeasuredRow {
        get throws(Failure) {
            var measured = MeasuredRow(RowKey(row, kind, load: load))
            let names = ["median_ns", "missed", "cpu_ns", "elapsed_ns", "wakeups", "switches", "run_delay_ns"]
            let columns = names.map { turns[$0] ?? [] }
            let known = columns.map { $0.compactMap(\.self) }
            let histograms = lateness.compactMap { SparseHistogram($0) }
            // Only what the kernel may not show can be missing.
            guard columns.allSatisfy({ $0.count == lateness.count }), histograms.count == lateness.count,
                ![0, 1, 3, 6].contains(where: { known[$0].contains { $0 < 0 } }),
                [0, 1, 3].allSatisfy({ known[$0].count == lateness.count }),
                // A bill a little below zero counts as zero, but no measurement wrote a far lower one.
                ![2, 4, 5].contains(where: { known[$0].contains { $0 < -1_000_000_000 } }),
                let own = SparseHistogram(ticks.lateness), let hop = SparseHistogram(ticks.hop)
            else { throw .invalid("is damaged: the columns of \(measured.key) do not fit together") }
            measured.turns = histograms.enumerated()
                .map { lap, lateness in
                    Turn(
                        median: UInt64(known[0][lap]),
                        lateness: lateness,
                        missed: UInt64(known[1][lap]),
                        cpu: columns[2][lap],
                        wakeUps: columns[4][lap],
                        switches: columns[5][lap],
                        elapsed: UInt64(known[3][lap]),
                        runDelay: columns[6][lap].map { UInt64($0) }
                    )
                }
            (measured.ticks, measured.hop, measured.early) = (own, hop, ticks.early)
            (measured.drift, measured.problem, measured.failure) = (drift, problem, failure)
            (measured.series, measured.late, measured.spin) = (stretch, late, spin)
            return measured
        }
    }
}

extension Double {
    /// Rounded for people. JSON has no infinity.
    fileprivate func rounded(places: Int) -> Double {
        let scale = (0..<places).reduce(1.0) { scale, _ in scale * 10 }
        // Adding zero turns a negative zero into a plain zero.
        let rounded = (self * scale).rounded() / scale + 0
        return rounded.isFinite ? rounded : 0
    }
}
