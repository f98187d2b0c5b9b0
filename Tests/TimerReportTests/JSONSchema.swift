import Foundation

/// The part of JSON Schema (2020-12) that `Documentation/results.schema.json` needs.
struct JSONSchema {
    let root: JSONValue

    /// The places of a value that do not fit, each with the word of the schema that they break.
    func faults(in value: JSONValue, by schema: JSONValue? = nil, at path: String = "") -> [String] {
        let schema = schema ?? root
        if case .string(let name) = schema["$ref"] {
            let target = root["$defs"]?[String(name.dropFirst("#/$defs/".count))]
            return target.map { faults(in: value, by: $0, at: path) } ?? ["\(path): $ref"]
        }
        var found: [String] = []
        func expect(_ holds: Bool, _ word: String) { if !holds { found.append("\(path): \(word)") } }
        if let type = schema["type"] { expect(Self.isOf(type, value), "type") }
        if let const = schema["const"] { expect(value == const, "const") }
        switch value {
        case .string(let text):
            if let texts = schema["enum"] { expect(texts.items.contains(value), "enum") }
            if case .string(let pattern) = schema["pattern"] { expect(Self.matches(text, pattern), "pattern") }
        case .number(let number):
            if case .number(let least) = schema["minimum"] { expect(number >= least, "minimum") }
        case .array(let items):
            guard let rule = schema["items"] else { break }
            for (place, item) in items.enumerated() { found += faults(in: item, by: rule, at: "\(path)/\(place)") }
        case .object(let members):
            let names = members.keys.map(JSONValue.string)
            expect(schema["required"]?.items.allSatisfy(names.contains) ?? true, "required")
            for (name, member) in members {
                let pattern = schema["patternProperties"]?.members.first { Self.matches(name, $0.key) }?.value
                if let rule = schema["properties"]?[name] ?? pattern {
                    found += faults(in: member, by: rule, at: "\(path)/\(name)")
                } else {
                    expect(schema["additionalProperties"] != .boolean(false), "additionalProperties")
                }
            }
        case .null, .boolean: break
        }
        return found
    }

    private static func matches(_ text: String, _ pattern: String) -> Bool {
        text.range(of: pattern, options: .regularExpression) != nil
    }

    private static func isOf(_ type: JSONValue, _ value: JSONValue) -> Bool {
        switch (type, value) {
        case (.array(let types), _): types.contains { isOf($0, value) }
        case ("integer", .number(let number)): number.rounded() == number
        case ("null", .null), ("object", .object), ("array", .array), ("string", .string), ("boolean", .boolean),
            ("number", .number):
            true
        default: false
        }
    }
}

/// Any JSON.
enum JSONValue: Decodable, Hashable, ExpressibleByStringLiteral {
    case null
    case boolean(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    init(stringLiteral text: String) { self = .string(text) }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let readers: [() throws -> JSONValue] = [
            { .boolean(try container.decode(Bool.self)) }, { .number(try container.decode(Double.self)) },
            { .string(try container.decode(String.self)) }, { .array(try container.decode([JSONValue].self)) },
        ]
        if container.decodeNil() {
            self = .null
        } else {
            self =
                try readers.lazy.compactMap { try? $0() }.first ?? .object(container.decode([String: JSONValue].self))
        }
    }

    static func parse(_ text: String) throws -> JSONValue {
        try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
    }

    /// The member of an object with that name.
    subscript(name: String) -> JSONValue? { members[name] }

    var members: [String: JSONValue] { if case .object(let members) = self { members } else { [:] } }
    var items: [JSONValue] { if case .array(let items) = self { items } else { [] } }
}
