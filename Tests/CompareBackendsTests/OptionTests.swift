#if Instrument && DEBUG
import Foundation
import TestSupport
import Testing

/// Each option of the command, with values that are not the default and that are seen in what the command does.
@Suite(.works("the command measures this machine")) struct OptionTests {
    /// The values of an option, two for a list, and what shows them: in the files, on the screen or among the messages.
    private typealias Row = (option: String, values: [String], signs: [String])

    /// The options of a run, all of them given at once.
    private static let runs: [(tool: String, rows: [Row])] = [
        (
            "run",
            [
                ("rows", ["timerfd", "hybrid,timerfd"], [#""row":"hybrid""#, #""row":"timerfd#2""#]),
                ("period", ["2ms"], [#""period_ns":2000000"#]), ("laps", ["9"], [#""median_ns":\[(\d+,){8}\d+\]"#]),
                ("deadlines", ["5"], [#""turn_ns":10000000"#]), ("timers", ["3"], [#""timers":3"#]),
                ("load", ["cpu:1", "idle"], [#""load":"cpu:1""#, #""load":"idle""#]),
                ("clock", ["continuous"], [#""clock":"continuous""#]), ("seed", ["7"], [#""seed":7"#]),
                ("thread", ["slack:1us", "spin:50us"], [#""thread":"slack:1us spin:50us""#]),
                ("why", ["1us"], [#""why_ns":1000[,}]"#, "later than 1 µs"]), ("quiet", [], ["said: ;"]),
                (
                    "plant", ["timerfd#2=+900s/100%", "hybrid=+900s/100%"],
                    ["#2.p50 > 800s: met", "hybrid.p50 > 800s: met"]
                ),
                (
                    "need", ["timerfd.p50 < 1ns", "timerfd#2.p50 > 800s", "hybrid.p50 > 800s"],
                    ["need timerfd.p50 < 1ns: not met"]
                ),
                ("output", ["FOLDER/a.json", "FOLDER/a.ticks.csv"], [#""schema":5"#, "lap,row,load"]),
                ("wide", [], [" wakeups"]),
            ]
        ),
        (
            "run",
            [
                ("rows", ["bare", "timerfd"], ["measuring bare, timerfd under idle"]),
                ("time", ["1s"], [#""stretch_ns":333000000"#, "under idle for 1 s"]),
                ("deliver", ["queue"], [#""deliver":"queue""#, "--deliver queue: inline for bare"]),
                ("output", ["FOLDER/a.json", "FOLDER/a.csv"], [#""schema":5"#, "row,load,figure"]),
            ]
        ),
        (
            "show",
            [
                ("need", ["timerfd.p50 < 1ns", "p50 < 1s"], ["p50 < 1ns: not met", "need p50 < 1s: met"]),
                ("output", ["FOLDER/a.json", "FOLDER/a.md"], [#""schema":5"#, "\\| timerfd"]),
                ("wide", [], [" wakeups"]),
            ]
        ),
    ]

    private let (folder, sample): (TemporaryFolder, TemporaryFile)

    init() throws { (folder, sample) = (try TemporaryFolder(), try Sample.file()) }

    /// The subcommand with the file that it takes.
    private func tool(_ name: String) -> [String] { [name] + (name == "show" ? [sample.path] : []) }

    @Test(arguments: runs.indices) func eachOptionIsSeen(_ run: Int) async throws {
        let (name, rows) = Self.runs[run]
        let options = rows.flatMap { row in
            let values = row.values.map { $0.replacing("FOLDER", with: folder.path) }
            return values.isEmpty ? ["--\(row.option)"] : values.flatMap { ["--\(row.option)", $0] }
        }
        let outcome = try await Command.run(tool(name) + options)
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        let texts = try files.map { try String(contentsOfFile: "\(folder.path)/\($0)", encoding: .utf8) }
        let all = (texts + [outcome.output, "said: \(outcome.complaint);"]).joined(separator: "\n")
        let unseen = try rows.flatMap(\.signs).filter { try all.firstMatch(of: Regex($0)) == nil }
        #expect(unseen == [], "\(outcome)")
    }

    /// An option of the command's own list of them, for programs.
    private struct Option: Decodable {
        struct Name: Decodable { let name: String }
        let preferredName: Name?
    }

    private struct Tool: Decodable {
        let commandName: String
        let arguments: [Option]?
        let subcommands: [Tool]?
    }

    private struct Help: Decodable { let command: Tool }

    @Test func noOptionIsWithoutARow() async throws {
        let dump = try await Command.run(["--experimental-dump-help"]).output
        let tools = try JSONDecoder().decode(Help.self, from: Data(dump.utf8)).command.subcommands ?? []
        #expect(tools.map(\.commandName) == ["run", "show", "doctor", "help"])
        for tool in tools {
            let names = Set((tool.arguments ?? []).compactMap(\.preferredName?.name))
            let known = Self.runs.filter { $0.tool == tool.commandName }.flatMap(\.rows).map(\.option)
            #expect(names == Set(known + ["version", "help"]))
        }
    }

    /// `--rows timerfd --rows hybrid` measured hybrid only.
    @Test func anOptionThatStandsTwiceIsAListOrAFlagOrIsRefused() async throws {
        for (name, rows) in Self.runs {
            for row in rows {
                let value = row.values.first.map { $0.replacing("FOLDER", with: folder.path) }
                let twice =
                    value.map { ["--\(row.option)=\($0)", "--\(row.option)", $0] } ?? [
                        "--\(row.option)", "--\(row.option)",
                    ]
                // Nothing is measured: no such file can be.
                let outcome = try await Command.run(tool(name) + twice + ["-o", "/nonexistent/a.md"])
                #expect(outcome.code == 2 && outcome.complaints.count == 1, "\(twice) \(outcome)")
                let isRefused = outcome.complaint.contains("--\(row.option) is given twice")
                #expect(isRefused == (row.values.count == 1), "\(twice) \(outcome)")
            }
        }
    }
}
#endif
