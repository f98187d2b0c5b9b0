#if Instrument && DEBUG
import Foundation
import Glibc
import PreciseTimer
import TestSupport
import Testing

@testable import BackendComparison
@testable import compare_backends

/// The files that the command writes, its work with saved results, and its verdicts.
@Suite(.works("the command measures this machine")) struct FileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func path(_ name: String) -> String { "\(folder.path)/\(name)" }

    private func text(_ name: String) throws -> String { try String(contentsOfFile: path(name), encoding: .utf8) }

    @Test func theEndOfAFilesNameSaysWhatIsInIt() async throws {
        let beginnings = [
            ("out.json", "{\"advice\":"), ("out.CSV", "row,load,figure,value,low,high\n"), ("out.md", "1 ms timer"),
            ("page.html", "<!DOCTYPE html>"), ("all.ticks.csv", "lap,row,load,timer,index,"),
        ]
        let outcome = try await Command.run(
            ["--laps", "9", "--quiet", "--rows", "timerfd,bare"] + beginnings.flatMap { ["-o", path($0.0)] }
        )
        #expect(outcome.code == 0 && outcome.complaint.isEmpty, "\(outcome)")
        for (name, beginning) in beginnings {
            let text = try text(name)
            #expect(text.hasPrefix(beginning), "\(name)")
            #expect(text.hasSuffix("\n") && !text.hasSuffix("\n\n"), "\(name): each line has one end")
        }
        // A busy machine misses most deadlines, so the number of lines is not known. But all 20 of a lap are there.
        let lines = try text("all.ticks.csv").split(separator: "\n").dropFirst().map { $0.split(separator: ",") }
        let turns = Dictionary(grouping: lines) { "\($0[0]) \($0[1])" }
        #expect(turns.count == 18)
        #expect(turns.values.allSatisfy { ticks in ticks.reduce(0) { $0 + 1 + (Int($1[8]) ?? 0) } >= 20 })
        // Nothing is lost on the way through a file.
        #expect(try await Command.run(["show", path("out.json"), "-o", path("again.json")]).code == 0)
        #expect(try text("again.json") == text("out.json"))
        let version = try await Command.run(["--version"]).output
        let number = try #require(version.wholeMatch(of: /compare-backends (\d+\.\d+\.\d+)\s*/)?.1)
        #expect(try text("out.json").contains("\"version\":\"\(number)\""))
        let changelog = Sample.folder.appending(path: "../../CHANGELOG.md").standardized
        let newest = try String(contentsOf: changelog, encoding: .utf8).firstMatch(of: /\n## (\S+)\n/)?.1
        #expect(newest == number, "the newest section of CHANGELOG.md")
        #expect(try text("out.json").contains(/"date":"20[0-9-]+T[0-9:]+Z"/))
    }

    /// On a full disk.
    @Test func aFileThatCannotBeWrittenIsSaidAndTheScreenHasTheResults() async throws {
        let outcome = try await Command.run(
            CommandTests.shortRun + ["--rows", "timerfd", "-o", path("out.json"), "-o", path("b.md")],
            by: ["prlimit", "--fsize=1000"]
        )
        #expect(outcome.code == 1 && outcome.output.contains("\ntimerfd "), "the results are on the screen")
        #expect(outcome.complaint.contains("error: writing to \(path("out.json"))"))
        #expect(try text("b.md").contains("| timerfd"), "a small file has room")
    }

    /// The text and the file of a program's comparison are those of the command.
    @Test func aFileOfTheCommandIsAComparison() async throws {
        let rows = ["--rows", "bare,timerfd,timerfd,hybrid", "--load", "idle,cpu:1"]
        let text = try await Command.run(["--laps", "9", "--quiet"] + rows + Command.json).output
        let comparison = try JSONDecoder().decode(BackendComparison.self, from: Data(text.utf8))
        #expect(comparison.rows.map(\.backend) == [.timerFD, .hybrid], "of the first load, and without bare")
        #expect(comparison.isComplete && comparison.rows.allSatisfy { $0.failure == nil && $0.deadlines >= 180 })
        for (part, other) in [("\"schema\":5", "\"schema\":3"), ("\"median_ns\"", "\"a\"")] {
            let wrong = Data(text.replacing(part, with: other).utf8)
            #expect(throws: DecodingError.self) { try JSONDecoder().decode(BackendComparison.self, from: wrong) }
        }
        let stopped = Data(text.replacing("\"stopped\":false", with: "\"stopped\":true").utf8)
        #expect(try JSONDecoder().decode(BackendComparison.self, from: stopped) != comparison)
        let data = try JSONEncoder().encode(comparison)
        #expect(try JSONDecoder().decode(BackendComparison.self, from: data) == comparison)
        let file = try TemporaryFile(String(decoding: data, as: UTF8.self), suffix: ".json")
        let shown = try await Command.run(["show", file.path])
        #expect(shown.output == "\(comparison)\n" && shown.complaint.isEmpty)
        let flowing = shown.output.split(separator: "\n").joined(separator: " ")
        #expect(comparison.sentences.allSatisfy { flowing.contains($0) } && !comparison.sentences.isEmpty)
    }

    /// Otherwise run the command on this file again, and paste what it prints.
    @Test func theSampleOfTheReadmeIsOfThisVersion() async throws {
        let shown = try await Command.run(["show", Sample.whole])
        let page = Sample.folder.appending(path: "../../README.md").standardized
        let readme = try String(contentsOf: page, encoding: .utf8)
        #expect(
            shown.code == 0 && readme.contains("\n\(shown.output)```\n"),
            "README shows another screen of idle.json"
        )
    }
}

/// A need that compares a measurement with an earlier one.
@Suite(.works("the command measures this machine")) struct VerdictTests {
    /// The limit is wider than any uncertainty.
    @Test func aRunIsComparedWithAnEarlierFile() async throws {
        let run = ["--rows", "timerfd,bare", "--laps", "14", "--quiet"]
        let file = try TemporaryFile(suffix: ".json")
        #expect(try await Command.run(run + ["-o", file.path]).code == 0)
        let need = ["--need", "timerfd.p50 later 100000000000% than \(file.path)"]
        #expect(try await Command.run(run + need).code == 0)
    }
}

/// Needs in the files that the command writes, and in the job that the documentation proposes.
@Suite(.works("the command is a process of its own")) struct NeedFilesTests {
    private let (folder, sample): (TemporaryFolder, TemporaryFile)
    private static let undecided = "timerfd.p99 < 76us"
    private static let met = "timerfd.p50 < 1s"
    private static let failed = "timerfd.p50 < 1ns"
    private static let share = "dispatch.p50 later 19% than timerfd"

    init() throws { (folder, sample) = (try TemporaryFolder(), try Sample.file()) }

    private func text(_ name: String) throws -> String {
        try String(contentsOfFile: "\(folder.path)/\(name)", encoding: .utf8)
    }

    /// Shows a file, with options, and writes a file of each kind.
    private func show(_ file: String, _ options: [String], into name: String) async throws -> Child.Outcome {
        try await Command.run(
            ["show", file] + options + Self.words.flatMap { ["-o", "\(folder.path)/\(name).\($0.0)"] }
        )
    }

    /// What a file of each kind says of an undecided need.
    private static let words = [
        ("json", "\"needs\":[{\"need\":\"\(undecided)\",\"outcome\":\"undecided\",\"rows\":[{\"load\":\"idle\","),
        ("csv", "\n,,need \(undecided),4,,\ntimerfd,idle,need \(undecided),4,,\n"),
        ("md", "\n\n**need timerfd.p99 \\< 76us: undecided**\n\n- undecided: timerfd, p99 67 µs (60–81); a decision"),
        ("html", ">need timerfd.p99 &lt; 76us: undecided</p>"),
    ]

    @Test func needsAreInEveryFileAndAreShownAgain() async throws {
        let judged = try await show(sample.path, ["--need", Self.undecided], into: "n")
        #expect(judged.code == 4)
        for (end, words) in Self.words { #expect(try text("n.\(end)").contains(words), "\(end)") }
        // The file says what was said of the needs then. They decide no exit code of today.
        let saved = "\(folder.path)/n.json"
        let shown = try await show(saved, [], into: "again")
        #expect(shown.code == 0 && shown.output == judged.output)
        for (end, _) in Self.words { #expect(try text("again.\(end)") == text("n.\(end)"), "\(end)") }
        let both = try await Command.run(["show", saved, sample.path])
        #expect(both.output.contains("\n   need \(Self.undecided): undecided\n"))
        // Other needs take their place.
        let other = try await show(saved, ["--need", Self.met], into: "n")
        #expect(other.code == 0 && !other.output.contains("undecided"))
        #expect(try text("n.md").contains("**need timerfd.p50 \\< 1s: met**") && !text("n.md").contains("undecided"))
    }

    /// The shell of the step `compare`, as a runner runs it: with -e.
    private func job() throws -> String {
        let page = URL(filePath: #filePath).appending(path: "../../../Documentation/results.md")
        let text = try String(contentsOf: page.standardized, encoding: .utf8)
        let step = try #require(text.firstMatch(of: /- name: compare\n +run: \|\n((?: {10}.*\n)+)/))
        return step.1.split(separator: "\n").map { $0.dropFirst(10) }.joined(separator: "\n")
    }

    /// Runs the job with a measurement that was made before.
    private func runJob(needs: [String]) async throws -> Child.Outcome {
        let arguments = ["show", sample.path, "-o", "lateness.json", "-o", "lateness.md"]
        let command = ([Command.path] + arguments + needs.flatMap { ["--need", $0] }).map { "'\($0)'" }
        // The shell writes the program: a child that another test starts could inherit a descriptor of this process.
        let start =
            "mkdir -p work; for folder in before work; do mkdir -p $folder/.build/release; "
            + "echo \"$1\" > $folder/.build/release/compare-backends; "
            + "chmod +x $folder/.build/release/compare-backends; "
            + "set -- \"$2\"; done; cd work; export GITHUB_STEP_SUMMARY=../summary.md; "
        let shell =
            ["env", "-C", folder.path, "sh", "-c", start + "exec sh -e -c \"$0\"", try job()]
            + ["#!/bin/sh\n:", "#!/bin/sh\nexec \(command.joined(separator: " "))"]
        return try await Child.run(shell)
    }

    /// A need that makes no sense must not pass because there is no result.
    @Test(
        arguments: [
            ([met], 0, []),
            ([undecided, met, share], 0, ["\(undecided): undecided", "dispatch.p50 later 19%25 than"]),
            ([failed, undecided], 1, ["\(undecided): undecided"]), (["timerfd"], 2, []),
        ] as [([String], Int32, [String])]
    )
    func theProposedJobWarnsOfAnUndecidedNeed(needs: [String], code: Int32, warnings: [String]) async throws {
        let outcome = try await runJob(needs: needs)
        let lines = outcome.output.split(separator: "\n").filter { $0.hasPrefix("::") }
        #expect(outcome.code == code && lines.count == warnings.count, "\(outcome) \(lines)")
        for (line, words) in zip(lines, warnings) {
            #expect(line.hasPrefix("::warning title=lateness::need \(words)"), "\(line)")
        }
        guard code < 2 else { return }
        #expect(outcome.output.contains("\ntimerfd "), "the log has the table")
        #expect(try text("summary.md").contains("**need "))
    }
}

/// Files for results.
struct OutputFileTests {
    private let place: TemporaryFolder
    private var folder: String { place.path }
    private var path: String { "\(folder)/file" }
    private var text: String { get throws { try String(contentsOfFile: path, encoding: .utf8) } }
    private var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] }

    init() throws { place = try TemporaryFolder() }

    @Test func textReplacesTheContentAndFollowsTheTextBefore() throws {
        let file = try OutputFile(path)
        try file.replace(with: String(repeating: "long ", count: 100_000))
        #expect(try text.utf8.count == 500_000)
        try file.replace(with: "short")
        try file.append(" text")
        try file.append(".")
        #expect(try text == "short text.")
        #expect(names == ["file"])
    }

    @Test func aFileComesIntoBeingWithItsFirstText() throws {
        let file = try OutputFile(path)
        #expect(names.isEmpty)
        try file.append("text")
        // A file that exists keeps its content until there is another.
        _ = try OutputFile(path)
        #expect(try text == "text")
    }

    @Test func aLinkAndTheModeOfItsGoalAreKept() throws {
        let link = "\(folder)/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "file")
        // The goal does not exist yet.
        try OutputFile(link).replace(with: "first")
        #expect(unsafe chmod(path, 0o640) == 0)
        try OutputFile(link).replace(with: "second")
        #expect(try text == "second")
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "file")
        var status = stat()
        #expect(unsafe stat(path, &status) == 0 && status.st_mode & 0o7777 == 0o640)
    }

    @Test func aPipeIsWrittenDirectly() throws {
        let pipe = Pipe()
        let file = try OutputFile("/dev/fd/\(pipe.fileHandleForWriting.fileDescriptor)")
        try file.replace(with: "text")
        try file.append(" and more")
        #expect(pipe.fileHandleForReading.availableData == Data("text and more".utf8))
    }
}

/// Signals that ask a command to end. Each test has its own process.
struct InterruptTests {
    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func theFirstSignalIsARequestAndTheSecondEndsTheProcess(_ number: Int32) async {
        await #expect(processExitsWith: .signal(number)) { [number] in
            Interrupt.watch()
            #expect(Interrupt.signal == nil)
            raise(number)
            #expect(Interrupt.signal == number)
            raise(number)
        }
    }

    /// Signals are unblocked, an ignored one stays ignored, and the first of the others is kept.
    @Test func theFirstOfSeveralSignalsIsKept() async {
        await #expect(processExitsWith: .success) {
            signal(SIGHUP, SIG_IGN)
            var all = sigset_t()
            unsafe sigfillset(&all)
            unsafe pthread_sigmask(SIG_SETMASK, &all, nil)
            Interrupt.watch()
            for number in [SIGHUP, SIGHUP, SIGTERM, SIGINT] { raise(number) }
            #expect(Interrupt.signal == SIGTERM)
        }
    }
}
#endif
