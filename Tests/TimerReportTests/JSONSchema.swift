import Foundation

/// The part of JSON Schema (2020-12) that `Documentation/results.schema.json` needs. An unknown word in a schema is a
/// problem, too.
struct JSONSchema {
    let root: JSONValue

    private static let annotations: Set = ["$schema", "$defs", "title", "description"]

    /// The problems of a value, with their places.
    func problems(of value: JSONValue) -> [String] { problems(of: value, by: root, at: "") }

    private func problems(of value: JSONValue, by schema: JSONValue, at path: String) -> [String] {
        guard case .object(let words) = schema else { return ["\(path): the schema is not an object"] }
        return words.filter { !Self.annotations.contains($0.key) }
            .flatMap { word, rule in problems(of: value, word, rule, in: schema, at: path) }
    }

    private func problems(
        of value: JSONValue,
        _ word: String,
        _ rule: JSONValue,
        in schema: JSONValue,
        at path: String
    ) -> [String] {
        switch (word, value) {
        case ("$ref", _):
            guard case .string(let name) = rule, let target = root["$defs"]?[String(name.dropFirst("#/$defs/".count))]
            else { return ["\(path): the schema refers to nothing"] }
            return problems(of: value, by: target, at: path)
        case ("type", _): return Self.isOf(rule, value) ? [] : ["\(path): is not of type \(rule)"]
        case ("const", _): return value == rule ? [] : ["\(path): is not \(rule)"]
        case ("enum", .string(let text)):
            return rule.strings.contains(text) ? [] : ["\(path): is not one of \(rule.strings)"]
        case ("pattern", .string(let text)):
            guard case .string(let pattern) = rule else { return ["\(path): the pattern is not text"] }
            return text.range(of: pattern, options: .regularExpression) != nil ? [] : ["\(path): does not match"]
        case ("minimum", .number(let number)):
            guard case .number(let minimum) = rule else { return ["\(path): the minimum is not a number"] }
            return number >= minimum ? [] : ["\(path): is below \(minimum)"]
        case ("required", .object(let members)):
            return rule.strings.filter { members[$0] == nil }.map { "\(path): \($0) is missing" }
        case ("properties", .object(let members)):
            return members.flatMap { name, member in
                rule[name].map { problems(of: member, by: $0, at: "\(path)/\(name)") } ?? []
            }
        case ("patternProperties", .object(let members)):
            return members.flatMap { name, member in
                Self.pattern(of: name, in: rule).map { problems(of: member, by: $0, at: "\(path)/\(name)") } ?? []
            }
        case ("additionalProperties", .object(let members)):
            return members.keys
                .filter { name in
                    schema["properties"]?[name] == nil && Self.pattern(of: name, in: schema["patternProperties"]) == nil
                }
                .map { "\(path): \($0) is unknown" }
        case ("items", .array(let items)):
            return items.enumerated().flatMap { problems(of: $1, by: rule, at: "\(path)/\($0)") }
        case ("enum", _), ("pattern", _), ("minimum", _), ("required", _), ("properties", _),
            ("patternProperties", _), ("additionalProperties", _),
            ("items", _):
            // These words do not restrict values of other types; `type` does.
            return []
        default: return ["\(path): the schema says \(word), which is not known here"]
        }
    }

    /// The schema of the first pattern that a name matches.
    private static func pattern(of name: String, in patterns: JSONValue?) -> JSONValue? {
        guard case .object(let members)? = patterns else { return nil }
        return members.first { name.range(of: $0.key, options: .regularExpression) != nil }?.value
    }

    private static func isOf(_ type: JSONValue, _ value: JSONValue) -> Bool {
        if case .array(let types) = type { return types.contains { isOf($0, value) } }
        guard case .string(let name) = type else { return false }
        return switch (name, value) {
        case ("null", .null), ("object", .object), ("array", .array), ("string", .string), ("boolean", .boolean),
            ("number", .number):
            true
        case ("integer", .number(let number)): number.rounded() == number
        default: false
        }
    }
}

/// Any JSON.
enum JSONValue: Decodable, Hashable {
    case null
    case boolean(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    static func parse(_ text: String) throws -> JSONValue {
        try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
    }

    /// The member of an object with that name.
    subscript(name: String) -> JSONValue? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    /// Strings of an array.
    var strings: [String] {
        guard case .array(let items) = self else { return [] }
        return items.compactMap { if case .string(let text) = $0 { text } else { nil } }
    }
}
