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
        text = try Golden.read("results.json")
    }

    private func problems(_ text: String) throws -> [String] { schema.problems(of: try JSONValue.parse(text)) }

    @Test func goldenJSONFitsTheSchema() throws {
        #expect(try problems(text).isEmpty)
    }

    @Test func resultsWithAProblemAndWithoutDriftFitTheSchema() throws {
        let report = Report(Synthetic.results([[Synthetic.cell(Synthetic.key("timerfd"), [5, -5])], []], asked: 3))
        let json = try JSONFile.encode(report)
        #expect(json.contains("\"problem\""))
        let problems = try problems(json)
        #expect(problems == [], "\(problems)")
    }

    @Test func explainedTicksFitTheSchema() throws {
        let late = LateTicks.Cause.allCases.reduce(into: LateTicks(threshold: 500_000)) { $0.add($1) }
        let report = Report(Synthetic.results([[Synthetic.cell(Synthetic.key("timerfd"), [5, 5], late: late)]]))
        let json = try JSONFile.encode(report)
        let problems = try problems(json)
        #expect(problems == [], "\(problems)")
        #expect(try JSONFile.decode(json.utf8).rounds == report.results.rounds)
    }

    @Test func thisMachineFitsTheSchema() throws {
        let rounds = Synthetic.results([[Synthetic.cell(Synthetic.key("timerfd"), [5, 5])]])
        let here = Results(hosts: [.current], options: rounds.options, rounds: rounds.rounds)
        let json = try JSONFile.encode(Report(here))
        #expect(json.contains("clock_read_ns"))
        let problems = try problems(json)
        #expect(problems == [], "\(problems)")
    }

    @Test(arguments: [
        ("\"schema\" : 3", "\"schema\" : 4"), ("\"partial\" : false", "\"partial\" : 0"),
        ("\"kind\" : \"peer\"", "\"kind\" : \"friend\""), ("\"ticks\" : 80", "\"ticks\" : 80.5"),
        ("\"ticks\" : 80", "\"ticks\" : -1"), ("\"ticks\" : 80", "\"ticks\" : \"80\""),
        ("\"ticks\" : 80", "\"tocks\" : 80"), ("\"ticks\" : 80", "\"ticks\" : 80, \"tocks\" : 80"),
        ("\"buckets\" : \"", "\"buckets\" : \"x"), ("\"disturbances\" : [", "\"disturbances\" : [1, "),
        ("\"remarks\" : [", "\"remarks\" : [{}, "), ("\"verdict\" : \"unknown\"", "\"verdict\" : null"),
        ("\"timers\" : 1", "\"timers\" : 0"), ("\"p50\" : ", "\"p50\" : \"\", \"p51\" : "),
        ("\"period_ns\"", "\"period_us\""), ("\"drifts\" : [", "\"drifts\" : [3, "),
    ])
    func damagedJSONDoesNotFitTheSchema(original: String, replacement: String) throws {
        try #require(text.contains(original))
        #expect(try !problems(text.replacing(original, with: replacement)).isEmpty)
    }

    @Test func everyPropertyIsDescribedAndUnknownPropertiesAreRefused() {
        var objects = 0
        check(schema.root, at: "", &objects)
        #expect(objects > 12)
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
