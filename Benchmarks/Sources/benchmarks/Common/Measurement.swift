import ArgumentParser

/// How thoroughly to measure.
struct Options: ParsableArguments {
    @Option(help: "Rounds of each comparison. Default: 5, or 3 if a million timers take part.")
    var rounds: Int?

    @Flag(help: "One round, with 100,000 timers instead of a million.")
    var quick = false

    @Option(
        help: ArgumentHelp(
            "For scale: a package whose programs `one-object` and `packed-slots` print their own figures.",
            discussion: "They run beside, once in each round; their output is quoted below the tables.",
            valueName: "path"
        )
    )
    var beside: String?

    /// The compared numbers of timers.
    var counts: [Int] { quick ? [1_000, 100_000] : [1_000, 100_000, 1_000_000] }

    /// The number of timers of measurements with one number only.
    var many: Int { quick ? 100_000 : 1_000_000 }

    func rounds(with count: Int) -> Range<Int> { 0..<(quick ? 1 : rounds ?? (count < 1_000_000 ? 5 : 3)) }

    func validate() throws {
        if let rounds, rounds < 1 { throw ValidationError("There must be at least one round.") }
    }
}

/// A subcommand that prints tables; the report includes them.
protocol Measurement: ParsableCommand {
    static var heading: String { get }
    static func tables(_ options: Options) throws -> [Table]
    var options: Options { get }
}

extension Measurement {
    func run() throws {
        for table in try Self.tables(options) { print(table.terminal) }
    }
}

/// 1000000 as 1,000,000.
func grouped(_ number: Int) -> String {
    let digits = String(number)
    return digits.enumerated()
        .map { $0 > 0 && (digits.count - $0).isMultiple(of: 3) ? ",\($1)" : "\($1)" }
        .joined()
}

/// A table with a heading and remarks; for terminals in aligned columns, or in Markdown.
struct Table {
    let title: String
    let columns: [String]
    var rows: [[String]] = []
    var remarks: [String] = []
    /// The output of other programs.
    var quotes: [(title: String, text: String)] = []

    /// Columns as wide as their widest cell, the first flush left.
    var terminal: String {
        let lines = [columns] + rows
        let widths = columns.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        let body = lines.map { line in
            line.indices.map { line[$0].padded(to: widths[$0], onTheLeft: $0 > 0) }.joined(separator: "   ")
        }
        let quoted = quotes.flatMap { ["", $0.title + ":", $0.text] }
        return ([title] + (body + remarks).map { "  " + $0 } + quoted).joined(separator: "\n") + "\n"
    }

    var markdown: String {
        let rule = columns.indices.map { $0 == 0 ? "---" : "---:" }
        let lines = ([columns, rule] + rows).map { "| \($0.joined(separator: " | ")) |" }
        let notes = remarks.isEmpty ? [] : [""] + remarks.map { "- \($0)" }
        let quoted = quotes.flatMap { ["", "\($0.title):", "", "```", $0.text, "```"] }
        return (["### \(title)", ""] + lines + notes + quoted).joined(separator: "\n") + "\n"
    }
}

extension String {
    func padded(to width: Int, onTheLeft: Bool = false) -> String {
        let padding = String(repeating: " ", count: max(0, width - count))
        return onTheLeft ? padding + self : self + padding
    }
}
