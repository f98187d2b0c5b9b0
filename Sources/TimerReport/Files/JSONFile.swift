internal import FoundationEssentials
package import TimerResults

/// Results as a JSON file. `Documentation/results.schema.json` describes its form.
package enum JSONFile {
    /// The version of the form. It grows if a part of the form changes its meaning or goes.
    package static let schema = 3

    /// The results and the report made from them, with keys in alphabetical order.
    package static func encode(_ report: Report) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(Written(report: report)), as: UTF8.self)
    }

    /// Reads the results in a file's text. The report in it is not read but made anew.
    ///
    /// - Throws: `Problem`, to be printed behind the file's name.
    package static func decode(_ text: some Sequence<UInt8>) throws(Problem) -> Results {
        let data = Data(text)
        guard let version = try? JSONDecoder().decode(Version.self, from: data) else {
            throw Problem(damage(of: data) ?? "is not JSON of compare-backends")
        }
        guard version.schema == schema else {
            throw Problem(
                "has schema \(version.schema), and this compare-backends reads schema \(schema): measure again"
            )
        }
        let results: Results
        do { results = try JSONDecoder().decode(Read.self, from: data).results } catch {
            throw Problem("is damaged: \(place(of: error))")
        }
        if let problem = results.problem { throw Problem(problem) }
        return results
    }

    /// Where and why decoding failed, in one line.
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

    private struct Written: Encodable {
        let report: Report

        func encode(to encoder: any Encoder) throws {
            let results = report.results
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(JSONFile.schema, forKey: "schema")
            try container.encode(results.hosts, forKey: "hosts")
            try container.encode(results.origins, forKey: "origins")
            try container.encode(results.options, forKey: "options")
            try container.encode(results.remarks, forKey: "remarks")
            if !results.grants.isEmpty { try container.encode(results.grants, forKey: "grants") }
            try container.encode(results.isPartial, forKey: "partial")
            try container.encode(report.rows.map { WrittenRow(row: $0) }, forKey: "rows")
            try container.encode(report.pairs, forKey: "pairs")
            try container.encode(results.rounds, forKey: "rounds")
        }
    }

    /// The figures of a row. A figure that the row does not have is absent.
    private struct WrittenRow: Encodable {
        let row: RowReport

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(row.key, forKey: "key")
            try container.encode(row.period, forKey: "period_ns")
            for figure in Figure.all {
                guard let first = figure.path.first, let value = figure.rounded(row) else { continue }
                if figure.path.count == 1 {
                    try container.encode(value, forKey: Key(stringValue: first))
                } else {
                    var nested = container.nestedContainer(keyedBy: Key.self, forKey: Key(stringValue: first))
                    try nested.encode(value, forKey: Key(stringValue: figure.path[1]))
                }
            }
        }
    }

    private struct Read: Decodable {
        let results: Results

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            results = Results(
                hosts: try container.decode([Host].self, forKey: "hosts"),
                origins: try container.decode([Origin].self, forKey: "origins"),
                options: try container.decode(Options.self, forKey: "options"),
                remarks: try container.decode([Remark].self, forKey: "remarks"),
                grants: try container.decodeIfPresent([Grant].self, forKey: "grants") ?? [],
                rounds: try container.decode([Round].self, forKey: "rounds")
            )
        }
    }

    private struct Key: CodingKey, ExpressibleByStringLiteral {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }

        init?(intValue: Int) { nil }

        init(stringLiteral value: String) { self.init(stringValue: value) }
    }
}
