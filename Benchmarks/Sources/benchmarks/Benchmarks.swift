import ArgumentParser
import Foundation

/// The command.
@main
struct Benchmarks: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "benchmarks",
        abstract: "Measures PreciseTimer beside Dispatch, SwiftNIO, Task.sleep, libevent, and bare loops in C.",
        discussion: """
            Sides take turns within each round; the printed figures are medians. Ratios stand first, and absolute \
            figures in brackets. A sentence below a table names the rows that are behind, and says why.
            """,
        subcommands: [
            Scale.self, Contention.self, Stall.self, Memory.self, StatisticsPrice.self, TimeOuts.self,
            IdleRefresh.self, ExecutorTasks.self, Scenes.self, Footprint.self, Instructions.self, Report.self,
            ScaleCase.self, MemoryCase.self, SceneCase.self,
        ]
    )
}

/// All measurements, in one report.
struct Report: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs the measurements and writes their main tables in Markdown. Takes ten minutes.",
        aliases: ["all"]
    )
    private static let measurements: [any Measurement.Type] = [
        Scale.self, Contention.self, Stall.self, Memory.self, TimeOuts.self, IdleRefresh.self, ExecutorTasks.self,
        Scenes.self, Footprint.self,
    ]

    @OptionGroup var options: Options

    @Option(help: ArgumentHelp("The file to write. Default: standard output.", valueName: "file"))
    var output: String?

    func run() throws {
        let start = Clock.now()
        var tables: [String] = []
        for measurement in Self.measurements {
            tables += try measurement.tables(options).filter { !$0.isDetail }.map(\.markdown)
        }
        let kind = options.quick ? "a quick run: one round, and 100,000 timers instead of a million" : "a full run"
        let facts = try Host.facts() + ["\(kind), \(Unit.time.text(Double(Clock.now() - start)))"]
        let parts = ["# Benchmarks\n", Self.reading, facts.joined(separator: "; ") + ".\n"] + tables
        let text = parts.joined(separator: "\n")
        guard let output else { return print(text, terminator: "") }
        try text.write(toFile: output, atomically: true, encoding: .utf8)
    }

    private static let reading = """
        The cost of PreciseTimer's calls, beside other timers and beside floors in C.

        A cell has the ratio to the side that the heading names, and the figure in brackets; a column "÷" has a ratio
        alone. Figures are medians over rounds in which the sides take turns. Below a table, a sentence names the rows
        in which PreciseTimer takes longer than another side, or more than twice a floor, and says why. [How it is
        measured, and further tables](../Benchmarks/README.md).
        A **pair** is one schedule and its cancel: the cost of a time-out that does not pass. The **C heap** is the
        floor: it has no lock, handle, target, thread or order of equal deadlines, and counts no missed ones.

        """
}

/// Instructions per operation, which do not depend on the machine's load.
struct Instructions: Measurement {
    static let configuration = CommandConfiguration(
        abstract: "Instructions per operation, counted by valgrind's callgrind.",
        discussion: "`.ci/instructions` compares them with the limits in Benchmarks/instructions.txt."
    )
    @OptionGroup var options: Options

    static func tables(_ options: Options) throws -> [Table] {
        var table = Table(title: "Instructions per operation, PreciseTimer", columns: ["", "instructions"])
        let counted = URL(fileURLWithPath: Program.own).deletingLastPathComponent().path + "/counted"
        if Program.find("valgrind") == nil {
            table.remarks = ["valgrind is not installed: nothing was counted."]
        } else if !FileManager.default.isExecutableFile(atPath: counted) {
            table.remarks = ["`counted` is not built: run `swift build -c release --package-path Benchmarks` first."]
        } else {
            progress("instructions: under callgrind")
            let lines = try Program.run(counted, []).split(separator: "\n")
            table.rows = lines.map { $0.split(separator: " ").map(String.init) }
        }
        return [table]
    }
}

/// The machine that figures belong to.
enum Host {
    static func facts() throws -> [String] {
        let processors = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
        let model = processors.split(separator: "\n").first { $0.hasPrefix("model name") }?.split(separator: ":").last
        let kernel = try Program.run("/usr/bin/env", ["uname", "-srm"]).trimmingCharacters(in: .newlines)
        let swift = try Program.run("/usr/bin/env", ["swift", "--version"]).split(separator: "\n").first ?? "unknown"
        return [
            model.map { $0.trimmingCharacters(in: .whitespaces) } ?? "an unknown processor",
            "\(ProcessInfo.processInfo.activeProcessorCount) cores",
            kernel,
            String(swift),
            Date().formatted(.iso8601.year().month().day()),
        ]
    }
}

/// How thoroughly to measure.
struct Options: ParsableArguments {
    @Option(help: "Rounds of each comparison. Default: 5, or 3 if a million timers take part.")
    var rounds: Int?

    @Flag(help: "One round, with 100,000 timers instead of a million.")
    var quick = false

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
    /// Whether the report leaves it out.
    var isDetail = false

    /// Columns as wide as their widest cell, the first flush left.
    var terminal: String {
        let lines = [columns] + rows
        let widths = columns.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        let body = lines.map { line in
            line.indices.map { line[$0].padded(to: widths[$0], onTheLeft: $0 > 0) }.joined(separator: "   ")
        }
        return ([title] + (body + remarks).map { "  " + $0 }).joined(separator: "\n") + "\n"
    }

    var markdown: String {
        let rule = columns.indices.map { $0 == 0 ? "---" : "---:" }
        let lines = ([columns, rule] + rows).map { "| \($0.joined(separator: " | ")) |" }
        let notes = remarks.isEmpty ? [] : [""] + remarks.map { "- \($0)" }
        return (["## \(title)"] + lines + notes).joined(separator: "\n") + "\n"
    }
}

extension String {
    func padded(to width: Int, onTheLeft: Bool = false) -> String {
        let padding = String(repeating: " ", count: max(0, width - count))
        return onTheLeft ? padding + self : self + padding
    }
}
