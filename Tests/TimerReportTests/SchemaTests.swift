import Foundation
import ResultsSupport
import Testing
import TimerProbe
import TimerReport
import TimerResults

/// The JSON has the form of `Documentation/results.schema.json`.
@Suite struct SchemaTests {
    private let schema: JSONSchema
    private let text: String

    init() throws {
        let file = URL(filePath: #filePath).appending(path: "../../../Documentation/results.schema.json").standardized
        schema = JSONSchema(root: try JSONValue.parse(String(decoding: Data(contentsOf: file), as: UTF8.self)))
        text = try JSONFile.encode(Synthetic.report)
    }

    private func problems(_ text: String) throws -> [String] { schema.problems(of: try JSONValue.parse(text)) }

    @Test func aDefaultRunFitsTheSchema() throws {
        let problems = try problems(text)
        #expect(problems == [], "\(problems)")
    }

    @Test func everyPartThatMayBeAbsentFitsTheSchema() throws {
        var rows = Synthetic.rows
        rows[0].problem = "early"
        rows[1].failure = "no tick"
        rows[1].turns = []
        rows[2].late = LateTicks.Cause.allCases.reduce(into: LateTicks(threshold: 500_000)) { $0.add($1) }
        rows[2].spin = SpinCuts(cuts: 3, obstacle: "one processor")
        rows[3].drift = nil
        var results = Synthetic.results(rows, machine: MachineState(others: 99), laps: [Lap()], isStopped: true)
        (results.options.why, results.options.thread) = (500_000, "fifo:80")
        let problems = try problems(try JSONFile.encode(Report(results)))
        #expect(problems == [], "\(problems)")
    }

    @Test func thisMachineFitsTheSchema() throws {
        var results = Synthetic.results([Synthetic.rows[0]])
        results.host = .current
        let json = try JSONFile.encode(Report(results))
        #expect(json.contains("clock_read_ns"))
        let problems = try problems(json)
        #expect(problems == [], "\(problems)")
    }

    @Test(arguments: [
        ("\"schema\":4", "\"schema\":3"), ("\"stopped\":false", "\"stopped\":0"),
        ("\"kind\":\"peer\"", "\"kind\":\"friend\""), ("\"early\":0", "\"early\":0.5"), ("\"early\":0", "\"early\":-1"),
        ("\"early\":0", "\"early\":\"0\""), ("\"early\":0", "\"tocks\":0"), ("\"lateness\":[\"", "\"lateness\":[\"x"),
        ("\"remarks\":[", "\"remarks\":[{}"), ("\"p50\":\"later\"", "\"p50\":null"), ("\"timers\":1", "\"timers\":0"),
        ("\"period_ns\"", "\"period_us\""), ("\"estimate\"", "\"value\""), ("\"median_ns\":[", "\"median_ns\":[-1,"),
    ])
    func damagedJSONDoesNotFitTheSchema(original: String, replacement: String) throws {
        try #require(text.contains(original), "\(original)")
        #expect(try !problems(text.replacing(original, with: replacement)).isEmpty)
    }

    @Test func everyPropertyIsDescribedAndUnknownPropertiesAreRefused() {
        var objects = 0
        check(schema.root, at: "", &objects)
        #expect(objects > 8)
    }

    /// Checks all objects that a schema describes.
    private func check(_ schema: JSONValue, at path: String, _ objects: inout Int) {
        guard case .object(let words) = schema else { return }
        if case .object(let properties)? = words["properties"] {
            objects += 1
            #expect(words["additionalProperties"] == .boolean(false), "\(path)")
            let required = words["required"].map(\.strings) ?? []
            let patterns = words["patternProperties"] != nil
            let areKnown = required.allSatisfy { properties[$0] != nil || patterns && $0.hasPrefix("p") }
            #expect(areKnown, "\(path)")
            for (name, property) in properties {
                let isDescribed = property["description"] != nil || property["$ref"] != nil
                #expect(isDescribed, "\(path)/\(name)")
            }
        }
        for case (let name, .object(let inner)) in words {
            check(.object(inner), at: "\(path)/\(name)", &objects)
        }
    }
}
