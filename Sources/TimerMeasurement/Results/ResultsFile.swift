internal import FoundationEssentials

/// Results as a file: JSON, whose form is `Documentation/results.schema.json`.
package enum ResultsFile {
    /// The version of the form; grows when something in it changes its meaning or goes.
    package static let schema = 2

    /// Why a file gives no results.
    package struct Problem: Error, Hashable, CustomStringConvertible {
        /// What is wrong with it, to be put behind the file's name.
        package let description: String
    }

    /// The results, with the rows and pairs that they come down to, its keys in alphabetical order.
    package static func encode(_ report: Report) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(Written(report)), as: UTF8.self)
    }

    /// The results in a file's text. The rows and pairs in it are not read but made anew.
    package static func decode(_ text: some Sequence<UInt8>) throws(Problem) -> Results {
        let data = Data(text)
        guard let version = try? JSONDecoder().decode(Version.self, from: data) else {
            throw Problem(description: "is not JSON of compare-backends")
        }
        guard version.schema == schema else {
            throw Problem(
                description: "has schema \(version.schema), and this compare-backends reads schema \(schema): "
                    + "measure anew"
            )
        }
        do {
            let results = try JSONDecoder().decode(Read.self, from: data).results
            if let flaw = results.flaw { throw Problem(description: flaw) }
            return results
        } catch let problem as Problem {
            throw problem
        } catch {
            throw Problem(description: "is damaged: \(Self.place(of: error))")
        }
    }

    /// Where and why decoding failed, in a line.
    private static func place(of error: any Error) -> String {
        let (context, missing): (DecodingError.Context, String?) =
            switch error {
            case DecodingError.keyNotFound(let key, let context): (context, key.stringValue)
            case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
                DecodingError.dataCorrupted(let context):
                (context, nil)
            default: (DecodingError.Context(codingPath: [], debugDescription: "\(error)"), nil)
            }
        let path = context.codingPath.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
        if let missing { return "\(missing) is missing\(path.isEmpty ? "" : " in \(path)")" }
        return "\(path.isEmpty ? "" : path + ": ")\(context.debugDescription)"
    }

    private struct Version: Decodable {
        let schema: Int
    }

    /// What is written.
    private struct Written: Encodable {
        let report: Report

        init(_ report: Report) { self.report = report }

        func encode(to encoder: any Encoder) throws {
            let results = report.results
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode(ResultsFile.schema, forKey: .schema)
            try container.encode(results.hosts, forKey: .hosts)
            try container.encode(results.options, forKey: .options)
            try container.encode(results.remarks, forKey: .remarks)
            try container.encode(results.isPartial, forKey: .partial)
            try container.encode(report.rows, forKey: .rows)
            try container.encode(report.pairs, forKey: .pairs)
            try container.encode(results.rounds, forKey: .rounds)
        }
    }

    /// What is read.
    private struct Read: Decodable {
        let results: Results

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Keys.self)
            results = Results(
                hosts: try container.decode([Host].self, forKey: .hosts),
                options: try container.decode(Options.self, forKey: .options),
                remarks: try container.decode([Remark].self, forKey: .remarks),
                rounds: try container.decode([Round].self, forKey: .rounds)
            )
        }
    }

    private enum Keys: String, CodingKey {
        case schema
        case hosts
        case options
        case remarks
        case partial
        case rows
        case pairs
        case rounds
    }
}

extension Results {
    /// More rounds than any merged results have; the sums of so many fit a number.
    private static let mostRounds = 1000

    /// What decoding alone does not find; nil where all is well.
    var flaw: String? {
        if rounds.isEmpty { return "has no rounds" }
        let count = max(rounds.count, options.rounds)
        if count > Self.mostRounds { return "has \(count) rounds, and \(Self.mostRounds) are the most" }
        if hosts.count > rounds.count { return "has more hosts than rounds" }
        if let most = rounds.map(\.cells.count).max(), most > MeasurementPlan.mostCases {
            return "has a round of \(most) cases, and \(MeasurementPlan.mostCases) are the most"
        }
        if !rounds.allSatisfy({ hosts.indices.contains($0.host) }) {
            return "has rounds on a host that it does not name"
        }
        if rounds.contains(where: { Set($0.cells.map(\.case)).count < $0.cells.count }) {
            return "has a round that measured one case twice"
        }
        if options.period == 0 || options.timers < 1 || options.rounds < 1 { return "has options that make no sense" }
        return texts.allSatisfy(\.isOneLine) ? nil : "has a name or remark that is no plain line of text"
    }

    /// What is shown as it is.
    private var texts: [String] {
        hosts.flatMap {
            [$0.system, $0.kernel, $0.machine, $0.cpu, $0.clockSource, $0.governor].compactMap(\.self)
        }
            + remarks.flatMap { [$0.asked, $0.obtained, $0.reason] }
            + [options.delivery, options.clock] + options.rows + options.loads
            + rounds.flatMap { round in
                round.disturbances + round.cells.flatMap { [$0.case.row, $0.case.load, $0.fault ?? ""] }
            }
    }
}

extension String {
    /// Whether it can be shown in a line: no line ends, and nothing that a terminal would obey.
    fileprivate var isOneLine: Bool {
        unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: false
            default: true
            }
        }
    }
}
