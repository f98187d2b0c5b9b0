#if Instrument && DEBUG
import Foundation
import TestSupport
import Testing

/// The command on terminals of each width and kind, and in pipes.
@Suite(.works("the command is a process of its own")) struct TerminalTests {
    private let file: TemporaryFile

    init() throws { file = try Sample.file() }

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
        let folder = URL(filePath: file.path).deletingLastPathComponent().path
        let script = ["script", "-qec", "cd '\(folder)'; stty cols \(columns); exec \(words)", "/dev/null"]
        return try await Child.run(script, environment: Command.locale.merging(variables) { _, given in given }).output
    }

    /// The progress of a moment, on a terminal that takes a line back, and on others.
    @Test func onlyATerminalThatTakesALineBackGetsEscapeCodesAndReturns() async throws {
        let run = ["--rows", "timerfd", "--laps", "5"]
        let plain: [[String: String]] = [["TERM": "dumb"], ["TERM": ""], ["NO_COLOR": "1"]]
        for (environment, isPlain) in [([:], false)] + plain.map({ ($0, true) }) {
            let text = try await onTerminal(run, environment: environment).replacing("\r\n", with: "\n")
            #expect(text.contains("\u{1B}") != isPlain && text.contains("\r") != isPlain, "\(environment)")
            #expect(text.hasPrefix("measuring timerfd under idle for ") == isPlain, "\(environment)")
            #expect(text.contains("\ntimerfd "), "\(environment): \(text)")
        }
    }

    /// The user's own word, COLUMNS, comes before the terminal's.
    @Test func noLineIsWiderThanTheTerminal() async throws {
        let name = URL(filePath: file.path).lastPathComponent
        let narrow: [([String], Int, String)] = [
            (["show", name], 50, ""), (["show", name, name, name], 200, "50"), (["doctor"], 50, ""),
        ]
        for (arguments, columns, asked) in narrow {
            let text = try await onTerminal(arguments, columns: columns, environment: ["COLUMNS": asked])
            let lines = text.replacing(/\e\[[0-9;]*m/, with: "").split(separator: "\r\n")
            #expect(lines.count > 4 && lines.allSatisfy { $0.count <= 50 }, "\(text)")
        }
    }

    @Test func whatIsNoTerminalGetsWholeLines() async throws {
        for (more, title) in [([file.path, file.path], "missed 3"), (["--wide"], "wakeups")] {
            let lines = try await Command.run(["show", file.path] + more).output.split(separator: "\n")
            #expect(lines.contains { $0.count > 100 && $0.contains(title) })
        }
    }

    @Test func aDashIsTheStandardOutputAndTheStandardInput() async throws {
        let saved = try String(contentsOfFile: Sample.whole, encoding: .utf8)
        let written = try await Command.run(["show", Sample.whole, "-o", "-"])
        #expect(written.output == saved && written.code == 0 && written.complaint.isEmpty)
        let shown = try await Command.run(["show", file.path])
        let read = try await Command.run(["show", "-"], redirection: "< '\(file.path)'")
        #expect(read.output == shown.output && read.code == 0)
        let none = try await Command.run(["show", "-"])
        #expect(none.code == 2 && none.complaint.contains("the standard input is not JSON"), "\(none)")
        let both = try await Command.run(["show", file.path, "-o", "-", "-o", "/dev/stdout"])
        #expect(both.code == 2 && both.complaint.contains("twice"))
        let need = ["--need", "timerfd.p50 later 30% than -"]
        let judged = try await Command.run(["show", file.path] + need, redirection: "< '\(file.path)'")
        #expect(judged.code == 0 && judged.output.contains("later than - ("), "\(judged)")
    }

    /// `/dev/stdout` was opened anew, and cut to nothing.
    @Test func whatTheStandardOutputHadBeforeStays() async throws {
        let before = try TemporaryFile("before\n", suffix: ".txt")
        for name in ["-", "/dev/stdout"] {
            let outcome = try await Command.run(["show", file.path, "-o", name], redirection: ">> \(before.path)")
            #expect(outcome.code == 0)
        }
        let lines = try before.text.split(separator: "\n")
        #expect(lines.count == 3 && lines[0] == "before" && lines[1] == lines[2])
    }

    @Test func aFileMayHaveAnyName() async throws {
        let folder = try TemporaryFolder()
        let (saved, page) = ("\(folder.path)/a run, of 5 % load.JSON", "\(folder.path)/a page.HTML")
        #expect(try await Command.run(["show", file.path, "-o", saved, "-o", page]).code == 0)
        #expect(try String(contentsOfFile: page, encoding: .utf8).hasPrefix("<!DOCTYPE html>"))
        let judged = try await Command.run(["show", saved, "--need", "timerfd.p50 later 30% than \"\(saved)\""])
        #expect(judged.code == 0 && judged.output.contains("\nneed timerfd.p50 later 30% than \"\(saved)\": met\n"))
        let hostile = "\(folder.path)/\u{1B}[31m.json"
        try FileManager.default.copyItem(atPath: saved, toPath: hostile)
        #expect(try await !Command.run(["show", hostile, saved]).output.contains("\u{1B}"))
    }

    @Test func aLocaleWithoutUnicodeGetsASCII() async throws {
        let shown = try await Command.run(["show", file.path]).output
        #expect(!shown.utf8.allSatisfy { $0 < 128 })
        let text = try await Command.run(["show", file.path], by: ["LC_ALL=C"]).output
        #expect(text.utf8.allSatisfy { $0 < 128 } && text.contains(" 67 us (60-81) "), "\(text)")
        #expect(text.split(separator: "\n").map(\.count) == shown.split(separator: "\n").map(\.count))
        let written = try await Command.run(["show", file.path, "-o", "-"], by: ["LC_ALL=C"]).output
        #expect(written.contains("µ"), "a file is the same for all")
    }
}
#endif
