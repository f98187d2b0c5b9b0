#if Instrument && DEBUG
import Foundation
import TestSupport
import Testing

/// The command on terminals of each width and kind, in pipes, and with options that stand twice.
@Suite(.works("the command is a process of its own")) struct TerminalTests {
    private static let samples = URL(filePath: #filePath).appending(path: "../../Samples").standardized
    static let idle = samples.appending(path: "idle.json").path

    /// Runs the command on a terminal with so many columns.
    ///
    /// - Parameters:
    ///   - arguments: the arguments of the command.
    ///   - columns: the width that the terminal reports.
    ///   - environment: more variables; an empty text removes one.
    /// - Returns: all that the terminal received.
    /// - Throws: an error if the command cannot be started.
    private func onTerminal(
        _ arguments: [String],
        columns: Int = 80,
        environment: [String: String] = [:]
    ) async throws -> String {
        let words = ([Command.path] + arguments).map { "'\($0.replacing("'", with: "'\\''"))'" }.joined(separator: " ")
        let variables = ["TERM": "xterm", "COLUMNS": "", "NO_COLOR": ""].merging(environment) { _, given in given }
        let script = ["script", "-qec", "cd '\(Self.samples.path)'; stty cols \(columns); exec \(words)", "/dev/null"]
        return try await Child.run(script, environment: Command.locale.merging(variables) { _, given in given }).output
    }

    /// The progress of two seconds, on a terminal that takes a line back, and on others.
    @Test func onlyATerminalThatTakesALineBackGetsEscapeCodesAndReturns() async throws {
        let run = ["--rows", "timerfd", "--laps", "30"]
        let plain: [[String: String]] = [["TERM": "dumb"], ["TERM": ""], ["NO_COLOR": "1"]]
        for (environment, isPlain) in [([:], false)] + plain.map({ ($0, true) }) {
            let text = try await onTerminal(run, environment: environment).replacing("\r\n", with: "\n")
            #expect(text.contains("\u{1B}") != isPlain && text.contains("\r") != isPlain, "\(environment)")
            #expect(text.hasPrefix("measuring timerfd under idle for ") == isPlain, "\(environment)")
            #expect(text.contains("\ntimerfd "), "\(environment): \(text)")
        }
    }

    private static let screens = [
        ["show", "idle.json"], ["show", "idle.json", "--wide"], ["show", "idle.json", "busy.json", "idle.json"],
        ["doctor"],
        [
            "show", "idle.json", "--need", "timerfd.p99 < 464us", "--need",
            "p99 < 464us, cpu < 2%, missed < 1%, drift < 3ppm",
        ],
    ]

    @Test(arguments: screens) func noLineIsWiderThanTheTerminal(arguments: [String]) async throws {
        let text = try await onTerminal(arguments, columns: 30)
        let lines = text.replacing(/\e\[[0-9;]*m/, with: "").split(separator: "\r\n")
        #expect(lines.count > 4 && lines.allSatisfy { $0.count <= 30 }, "\(text)")
    }

    @Test func columnsIsTheUsersOwnWord() async throws {
        let text = try await onTerminal(Self.screens[0], columns: 40)
        #expect(try await onTerminal(Self.screens[0], columns: 200, environment: ["COLUMNS": "40"]) == text)
    }

    @Test func whatIsNoTerminalGetsWholeLines() async throws {
        for (more, title) in [([Self.idle, Self.idle], "missed 3"), (["--wide"], "wakeups")] {
            let lines = try await Command.run(["show", Self.idle] + more).output.split(separator: "\n")
            #expect(lines.contains { $0.count > 100 && $0.contains(title) })
        }
    }

    /// Values of the options that take one.
    private static let values = [
        "rows": "timerfd", "period": "1ms", "time": "1s", "timers": "1", "load": "idle", "deliver": "inline",
        "clock": "suspending", "thread": "cpu:0", "why": "1ms", "seed": "1", "need": "timerfd.p50 < 1s",
        "output": "/nonexistent/out.json", "laps": "1", "deadlines": "1", "plant": "timerfd=2",
    ]
    private static let lists: Set<String> = ["rows", "load", "thread", "need", "output", "plant"]

    /// An option of the command's own list of them, for programs.
    private struct Option: Decodable {
        struct Name: Decodable { let name: String }
        let kind: String
        let preferredName: Name?
    }

    private struct Tool: Decodable {
        let commandName: String
        let arguments: [Option]?
        let subcommands: [Tool]?
    }

    private struct Help: Decodable { let command: Tool }

    /// `--rows timerfd --rows hybrid` measured hybrid only.
    @Test func anOptionThatStandsTwiceAddsUpOrIsRefused() async throws {
        let dump = try await Command.run(["--experimental-dump-help"]).output
        let tools = try JSONDecoder().decode(Help.self, from: Data(dump.utf8)).command.subcommands ?? []
        #expect(tools.map(\.commandName) == ["run", "show", "doctor", "help"])
        for tool in tools where tool.commandName != "help" {
            for option in tool.arguments ?? [] {
                guard let name = option.preferredName?.name, option.kind != "positional" else { continue }
                // The last one ends the command before it does anything.
                let last = ["run": [], "show": [Self.idle]][tool.commandName] ?? []
                if option.kind == "flag" {
                    let outcome = try await Command.run([tool.commandName, "--\(name)", "--\(name)", "--help"] + last)
                    #expect(!outcome.complaint.contains("twice"), "a flag says the same again: \(name) \(outcome)")
                    continue
                }
                let value = try #require(Self.values[name], "a new option needs a value here, and an answer: \(name)")
                for twice in [["--\(name)", value, "--\(name)", value], ["--\(name)=\(value)", "--\(name)", value]] {
                    let outcome = try await Command.run(
                        [tool.commandName] + last + twice + ["-o", "/nonexistent/a.md"]
                    )
                    #expect(outcome.code == 2 && outcome.complaints.count == 1, "\(twice) \(outcome)")
                    let isRefused = outcome.complaint.contains("--\(name) is given twice")
                    #expect(isRefused != Self.lists.contains(name), "\(twice) \(outcome)")
                }
            }
        }
    }

    @Test func theListsOfAnOptionThatStandsTwiceAddUp() async throws {
        let ticks = try [TemporaryFile(suffix: ".ticks.csv"), TemporaryFile(suffix: ".ticks.csv")]
        let lists = ["--rows", "timerfd", "--rows", "hybrid,timerfd", "--load", "cpu:1", "--load", "idle"]
        let wishes = ["--thread", "slack:1us", "--thread", "spin:50us"]
        let files = ticks.flatMap { ["-o", $0.path] }
        let results = try await CommandTests.results(CommandTests.shortRun + lists + wishes + files)
        let names = ["timerfd", "hybrid", "timerfd#2"]
        #expect(results.rows.map(\.row) == names + names)
        #expect(results.rows.map(\.load) == names.map { _ in "cpu:1" } + names.map { _ in "idle" })
        #expect(results.options.thread == "slack:1us spin:50us")
        let texts = try ticks.map { try $0.text }
        // A busy machine misses most deadlines, but each of the six turns has a tick.
        #expect(texts[0] == texts[1] && texts[0].split(separator: "\n").count > 6)
        for thread in [["cpu:0 cpu:1"], ["fifo:80 fifo:70"], ["cpu:0", "cpu:0"]] {
            let outcome = try await Command.run(CommandTests.shortRun + thread.flatMap { ["--thread", $0] })
            #expect(outcome.code == 2 && outcome.complaint.contains("twice"), "\(outcome)")
        }
    }

    @Test func aDashIsTheStandardOutputAndTheStandardInput() async throws {
        let saved = try String(contentsOfFile: Self.idle, encoding: .utf8)
        let shown = try await Command.run(["show", Self.idle])
        let written = try await Command.run(["show", Self.idle, "-o", "-"])
        #expect(written.output == saved && written.code == 0 && written.complaint.isEmpty)
        let read = try await Command.run(["show", "-"], redirection: "< '\(Self.idle)'")
        #expect(read.output == shown.output && read.code == 0)
        let none = try await Command.run(["show", "-"])
        #expect(none.code == 2 && none.complaint.contains("the standard input is not JSON"), "\(none)")
        let both = try await Command.run(["show", Self.idle, "-o", "-", "-o", "/dev/stdout"])
        #expect(both.code == 2 && both.complaint.contains("twice"))
        let need = ["--need", "timerfd.p50 later 30% than -"]
        let judged = try await Command.run(["show", Self.idle] + need, redirection: "< '\(Self.idle)'")
        #expect(judged.code == 0 && judged.output.contains("later than - ("), "\(judged)")
    }

    /// `/dev/stdout` was opened anew, and cut to nothing.
    @Test func whatTheStandardOutputHadBeforeStays() async throws {
        let file = try TemporaryFile("before\n", suffix: ".txt")
        for name in ["-", "/dev/stdout"] {
            let outcome = try await Command.run(["show", Self.idle, "-o", name], redirection: ">> \(file.path)")
            #expect(outcome.code == 0)
        }
        let saved = try String(contentsOfFile: Self.idle, encoding: .utf8)
        #expect(try file.text == "before\n" + saved + saved)
    }

    @Test func aFileMayHaveAnyName() async throws {
        let folder = try TemporaryFolder()
        let (file, page) = ("\(folder.path)/a run, of 5 % load.JSON", "\(folder.path)/a page.HTML")
        #expect(try await Command.run(["show", Self.idle, "-o", file, "-o", page]).code == 0)
        #expect(try await Command.run(["show", file]).code == 0)
        #expect(try String(contentsOfFile: page, encoding: .utf8).hasPrefix("<!DOCTYPE html>"))
        let judged = try await Command.run(["show", file, "--need", "timerfd.p50 later 30% than \"\(file)\""])
        #expect(judged.code == 0 && judged.output.contains("\nneed timerfd.p50 later 30% than \"\(file)\": met\n"))
        let hostile = "\(folder.path)/\u{1B}[31m.json"
        try FileManager.default.copyItem(atPath: Self.idle, toPath: hostile)
        #expect(try await !Command.run(["show", hostile, file]).output.contains("\u{1B}"))
    }

    @Test func aLocaleWithoutUnicodeGetsASCII() async throws {
        let shown = try await Command.run(["show", Self.idle]).output
        #expect(!shown.utf8.allSatisfy { $0 < 128 })
        let widths = shown.split(separator: "\n").map(\.count)
        for locale in [["LC_ALL=C"], ["LC_ALL=", "LANG=POSIX"], ["LC_ALL=", "LC_CTYPE=de_DE.ISO-8859-1"]] {
            let text = try await Command.run(["show", Self.idle], by: locale).output
            #expect(text.utf8.allSatisfy { $0 < 128 } && text.contains("32 us     75 us (69-89)"), "\(text)")
            #expect(text.split(separator: "\n").map(\.count) == widths, "the columns stay")
        }
        let file = try await Command.run(["show", Self.idle, "-o", "-"], by: ["LC_ALL=C"]).output
        #expect(try file == String(contentsOfFile: Self.idle, encoding: .utf8), "a file is the same for all")
    }
}
#endif
