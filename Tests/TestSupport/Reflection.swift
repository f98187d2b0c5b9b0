internal import Foundation

/// Reads all of a value through its mirror, as a debugger and a failed expectation do, and dumps it.
///
/// - Returns: the text of the dump.
@discardableResult
package func reflect(_ value: Any) -> String {
    readParts(of: value, depth: 0)
    var text = ""
    dump(value, to: &text)
    return text
}

/// Reflects values, each after its name was written on standard output, and then writes "done". A value that cannot be
/// reflected ends the process like a success, so that the last line names it.
package func reflectAll(_ values: [Any]) {
    for fault in [SIGILL, SIGSEGV, SIGTRAP] { signal(fault) { _ in _exit(0) } }
    for value in values {
        say(typeName(of: value))
        reflect(value)
    }
    say("done")
}

/// The lines of such an output.
package func lines(_ output: [UInt8]) -> [String] {
    String(decoding: output, as: UTF8.self).split(separator: "\n").map(String.init)
}

private func say(_ text: String) { FileHandle.standardOutput.write(Data("\(text)\n".utf8)) }

/// Objects may refer to each other, so this ends at a depth.
private func readParts(of value: Any, depth: Int) {
    guard depth < 8 else { return }
    for mirror in sequence(first: Mirror(reflecting: value), next: \.superclassMirror) {
        for child in mirror.children { readParts(of: child.value, depth: depth + 1) }
    }
}

/// The names of a module's public types. Protocols are left out.
package func publicTypes(of module: String) throws -> Set<String> {
    let type = try Regex("\(module)\\.(\\S+) {4}(?:\\S+ )*(?:class|enum|struct) \\w+", as: (Substring, Substring).self)
    return Set(try publicSymbols().compactMap { line in line.prefixMatch(of: type).map { String($0.output.1) } })
}

/// The lines of the list with which the public interface is compared.
package func publicSymbols() throws -> [Substring] {
    let path = "../../../Documentation/maintainers/public-symbols.txt"
    let list = URL(filePath: #filePath).appending(path: path).standardized
    return try String(contentsOf: list, encoding: .utf8).split(separator: "\n")
}

/// The name of a value's type, without its module and its parameters.
package func typeName(of value: Any) -> String {
    String(reflecting: type(of: value)).prefix { $0 != "<" }.split(separator: ".").dropFirst().joined(separator: ".")
}
