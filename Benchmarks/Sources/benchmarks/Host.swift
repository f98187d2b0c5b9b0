import Foundation

/// The machine that figures belong to.
enum Host {
    /// Its facts, as a list in Markdown.
    static func description() throws -> String {
        let processors = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
        let model = processors.split(separator: "\n").first { $0.hasPrefix("model name") }?.split(separator: ":").last
        let kernel = try Program.run("/usr/bin/env", ["uname", "-srm"]).trimmingCharacters(in: .newlines)
        let swift = try Program.run("/usr/bin/env", ["swift", "--version"]).split(separator: "\n").first ?? "unknown"
        let facts = [
            "processor: \(model.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown")",
            "cores: \(ProcessInfo.processInfo.activeProcessorCount)",
            "kernel: \(kernel)",
            "compiler: \(swift)",
            "date: \(Date().formatted(.iso8601.year().month().day()))",
        ]
        return facts.map { "- \($0)" }.joined(separator: "\n")
    }
}
