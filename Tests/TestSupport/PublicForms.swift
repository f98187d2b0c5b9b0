internal import Foundation

/// A public function or initializer in which an argument may be left out, so that its body may forget the argument.
package struct PublicForm: Sendable {
    /// Its module, its path and its labels, without those for the place in the source.
    let name: String
    let declaration: String

    /// The labels of the arguments with a default.
    package var optional: Set<String> {
        guard let head = declaration.firstMatch(of: /(?:init|func \w+)[?]?(?:<[^(]*>)?\(/) else { return [] }
        var (depth, parts) = (0, [""])
        for character in declaration[head.range.upperBound...] {
            if "([".contains(character) { depth += 1 }
            if ")]".contains(character) { depth -= 1 }
            if depth < 0 { break }
            if depth == 0, character == "," { parts.append("") } else { parts[parts.count - 1].append(character) }
        }
        let labels = parts.filter { $0.contains(" = ") }
            .map { part in
                String(part.drop { $0 == " " }.prefix { !" :".contains($0) })
            }
        return Set(labels).subtracting(["file", "line"])
    }
}

/// A row of a table of forms: it gives each argument that may be left out a value that is not the default, and sees it.
package struct FormRow {
    /// The end of the form's name from a dot on, and parts of its declaration that no other form of that name has.
    let parts: [String]
    /// The labels of the arguments that it sees.
    let seen: Set<String>

    package init(_ name: String, _ parts: String..., sees seen: Set<String>) {
        self.parts = [name] + parts
        self.seen = seen
    }

    /// A row that sees some facts, each under the label of its argument, or under those of several.
    package init(_ name: String, _ part: String = "(", facts: [String: String]) {
        self.init(name, part, sees: Set(facts.keys.flatMap { $0.split(separator: " ").map(String.init) }))
    }

    fileprivate func isOf(_ form: PublicForm) -> Bool {
        form.name.hasSuffix("." + parts[0]) && parts.dropFirst().allSatisfy(form.declaration.contains)
    }
}

/// What is wrong with the tables of a module's forms: a form without a row, a row of no form or of several, and an
/// argument that no row sees.
///
/// - Parameters:
///   - rows: the rows of all tables of the module.
///   - module: the module's name.
///   - exceptions: rows of the forms that no table needs.
/// - Returns: a line for each; none if all is well.
/// - Throws: an error if the list of the public interface cannot be read.
package func flaws(of rows: [FormRow], in module: String, except exceptions: [FormRow] = []) throws -> [String] {
    let forms = try publicForms(of: module)
    let strays = (rows + exceptions).filter { row in forms.count(where: row.isOf) != 1 }
    let unseen = forms.compactMap { form -> String? in
        guard !exceptions.contains(where: { $0.isOf(form) }) else { return nil }
        let missing = rows.filter { $0.isOf(form) }.reduce(form.optional) { $0.subtracting($1.seen) }
        return missing.isEmpty ? nil : "no row sees \(missing.sorted()) of \(form.declaration)"
    }
    return strays.map { "a row is of no form, or of several: \($0.parts)" } + unseen
}

/// The forms of a module in the list with which the code is compared.
private func publicForms(of module: String) throws -> [PublicForm] {
    try publicSymbols()
        .compactMap { line in
            let parts = line.split(separator: " ", maxSplits: 1).map(String.init)
            guard parts.count == 2, parts[0].hasPrefix(module + "."), parts[0].contains("(") else { return nil }
            let form = PublicForm(name: parts[0].replacing("file:line:", with: ""), declaration: parts[1])
            return form.optional.isEmpty ? nil : form
        }
}
