#if Instrument && DEBUG
import Foundation
import TestSupport
import Testing

/// Hostile arguments and files: each gives one clear line and the right exit code, before any measurement.
@Suite(.works("the command is a process of its own")) struct NonsenseTests {
    /// One or two for each option: the tests of the parsers have many more.
    private static let senseless = [
        ["--period", "0ms"], ["--period", "nan"], ["--period", "1\n2\u{1B}[31m"], ["--period"], ["--period", "0hz"],
        ["--period", "20000d"], ["--time", "0s"], ["--time", "soon"], ["--laps", "0"], ["--laps", "three"],
        ["--period", "1h", "--time", "1s"],
        ["--timers", "-3"], ["--timers", "100000000"], ["--rows", "epoll"], ["--rows", ""], ["--deliver", "nowhere"],
        ["--clock", "cpu"], ["--load", "heavy"], ["--load", "idle,"], ["--seed", "18446744073709551616"],
        ["--need", "timerfd"], ["--need", "nobody.p50 < 1ms"], ["--need", "timerfd.p50 later 5% than /nowhere.json"],
        ["--why", "100d"], ["--why", "500us", "--deliver", "queue"], ["show"], ["show", "/nowhere"],
        ["--thread", "fifo"], ["--thread", "budget:5%", "--rows", "timerfd"], ["-o", ""], ["-o", "results.txt"],
        ["-o", "a.json", "-o", "a.json"], ["-o", "junit.xml"], ["show", "--pool"], ["against"], ["--nonsense"],
        ["extra"], ["--backends", "timerfd"], ["recommend"], ["diff"],
    ]

    @Test(arguments: Effort.some(senseless))
    func senselessArgumentsAreRefused(arguments: [String]) async throws {
        try await refused(arguments, code: 2)
    }

    /// A file that cannot be opened leaves no other file.
    @Test func anUnwritableFileIsReportedBeforeTheMeasurement() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).json").path
        for file in ["/proc/nothing.html", "/nonexistent/all.ticks.csv"] {
            try await refused(["-o", path, "-o", file], code: 2)
        }
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func otherFilesAreRefused() async throws {
        let file = try TemporaryFile("{\"schema\": 3}", suffix: ".json")
        for path in [file.path, "/nonexistent.json", "/", "-"] {
            for arguments in [["show", path], ["show", path, path], ["--need", "timerfd.p50 later 5% than \(path)"]] {
                try await refused(arguments, code: 2)
            }
        }
    }

    @Test func anUnavailableRowHasExitCodeThree() async throws {
        try await refused(["--rows", "runloop", "--clock", "wall"], code: 3)
    }

    @Test func resultsThatCannotBeWrittenAreAnError() async throws {
        let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        let outcome = try await Command.run(["doctor"], output: full)
        #expect(outcome.code == 1 && outcome.complaints.count == 1)
        #expect(outcome.complaint.hasPrefix("error: writing the results"))
    }

    /// As in `compare-backends doctor | head -1`.
    @Test func aReaderThatLeavesEndsTheCommandInSilence() async throws {
        for arguments in [["doctor"], ["show", TerminalTests.idle, "-o", "-"]] {
            let pipe = Pipe()
            try pipe.fileHandleForReading.close()
            let outcome = try await Command.run(arguments, output: pipe.fileHandleForWriting)
            #expect(outcome.code == 141 && outcome.complaint.isEmpty)
        }
    }

    @Test(arguments: Effort.some(["<&- >&- 2>&-", "<&-", ">&-", "2>&-"]))
    func noFileIsTakenForAStandardDescriptorThatIsClosed(redirection: String) async throws {
        let (results, page) = (try TemporaryFile(suffix: ".json"), try TemporaryFile(suffix: ".html"))
        let outcome = try await Command.run(
            CommandTests.shortRun + ["--rows", "timerfd", "-o", results.path, "-o", page.path],
            redirection: redirection
        )
        // Results that cannot be shown are an error, and no file receives them.
        #expect(outcome.code == (redirection.contains(" >&-") || redirection == ">&-" ? 1 : 0))
        #expect(try JSONDecoder().decode(DecodedResults.self, from: Data(results.text.utf8)).schema == 5)
        #expect(try page.text.hasSuffix("</html>\n"))
    }

    private func refused(_ arguments: [String], code: Int32) async throws {
        let outcome = try await Command.run(arguments)
        #expect(outcome.code == code && outcome.output.isEmpty, "\(arguments) \(outcome)")
        #expect(outcome.complaints.count == 1 && outcome.complaint.hasPrefix("error: "), "\(arguments) \(outcome)")
    }
}

/// Needs in the files that the command writes, and in the job that the documentation proposes.
@Suite(.works("the command is a process of its own")) struct NeedFilesTests {
    private static let root = URL(filePath: #filePath).appending(path: "../../..").standardized
    /// A measurement whose p99 of timerfd is 75 µs, with a range.
    private static let saved = root.appending(path: "Tests/Samples/idle.json").path
    private static let undecided = "timerfd.p99 < 76us"
    private static let met = "timerfd.p50 < 1s"
    private static let failed = "timerfd.p50 < 1ns"

    private func inFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        try await body(URL(filePath: folder.path))
        withExtendedLifetime(folder) {}
    }

    private func text(_ file: URL) throws -> String { try String(contentsOf: file, encoding: .utf8) }

    /// What a file of each kind says of an undecided need.
    private static let words = [
        ("json", "\"needs\":[{\"need\":\"\(undecided)\",\"outcome\":\"undecided\",\"rows\":[{\"load\":\"idle\","),
        ("csv", "\n,,need \(undecided),4,,\ntimerfd,idle,need \(undecided),4,,\n"),
        ("md", "\n\n**need timerfd.p99 \\< 76us: undecided**\n\n- undecided: timerfd, p99 75 µs (69–89); to"),
        ("html", ">need timerfd.p99 &lt; 76us: undecided</p>"),
    ]

    @Test func needsAreInEveryFileAndAreShownAgain() async throws {
        try await inFolder { folder in
            let files = Self.words.map { folder.appending(path: "n.\($0.0)") }
            let judged = try await Command.run(
                ["show", Self.saved, "--need", Self.undecided] + files.flatMap { ["-o", $0.path] }
            )
            #expect(judged.code == 4)
            for (file, (end, words)) in zip(files, Self.words) { #expect(try text(file).contains(words), "\(end)") }
            // The file says what was said of the needs then. They decide no exit code of today.
            let again = folder.appending(path: "again")
            let shown = try await Command.run(
                ["show", files[0].path] + Self.words.flatMap { ["-o", "\(again.path).\($0.0)"] }
            )
            #expect(shown.code == 0 && shown.output == judged.output)
            for (file, (end, _)) in zip(files, Self.words) {
                #expect(try text(again.appendingPathExtension(end)) == text(file), "\(end)")
            }
            // Other needs take their place.
            let other = try await Command.run(["show", files[0].path, "--need", Self.met, "-o", files[2].path])
            #expect(other.code == 0 && !other.output.contains("undecided"))
            #expect(try text(files[2]).contains("**need timerfd.p50 \\< 1s: met**"))
            #expect(try !text(files[2]).contains("undecided"))
            let both = try await Command.run(["show", files[0].path, Self.saved])
            #expect(both.output.contains("\n   need \(Self.undecided): undecided\n"))
        }
    }

    /// The shell of the step `compare`, as a runner runs it: with -e.
    private func job() throws -> String {
        let page = try text(Self.root.appending(path: "Documentation/continuous-integration.md"))
        let step = try #require(page.firstMatch(of: /- name: compare\n +run: \|\n((?: {10}.*\n)+)/))
        return step.1.split(separator: "\n").map { $0.dropFirst(10) }.joined(separator: "\n")
    }

    /// Runs the job with a measurement that was made before.
    private func run(_ script: String, in folder: URL, needs: [String]) async throws -> Child.Outcome {
        let arguments = ["show", Self.saved, "-o", "lateness.json", "-o", "lateness.md"]
        let command = ([Command.path] + arguments + needs.flatMap { ["--need", $0] }).map { "'\($0)'" }
        // The shell writes the program: a child that another test starts could inherit a descriptor of this process.
        let start =
            "mkdir work; for folder in before work; do mkdir -p $folder/.build/release; "
            + "echo \"$1\" > $folder/.build/release/compare-backends; "
            + "chmod +x $folder/.build/release/compare-backends; "
            + "set -- \"$2\"; done; cd work; export GITHUB_STEP_SUMMARY=../summary.md; "
        let shell =
            ["env", "-C", folder.path, "sh", "-c", start + "exec sh -e -c \"$0\"", script]
            + ["#!/bin/sh\n:", "#!/bin/sh\nexec \(command.joined(separator: " "))"]
        return try await Child.run(shell)
    }

    @Test func theProposedJobWarnsOfAnUndecidedNeed() async throws {
        let script = try job()
        let share = "dispatch.p50 later 19% than timerfd"
        let warning = "::warning title=lateness::need "
        let cases: [([String], Int32, [String])] = [
            ([Self.undecided], 4, ["\(Self.undecided): undecided"]), ([Self.met], 0, []), ([Self.failed], 1, []),
            ([Self.undecided, Self.met, share], 4, ["\(Self.undecided): undecided", "dispatch.p50 later 19%25 than"]),
            ([Self.failed, Self.undecided], 1, ["\(Self.undecided): undecided"]),
        ]
        for (needs, code, warnings) in cases {
            try await inFolder { folder in
                let outcome = try await run(script, in: folder, needs: needs)
                let lines = outcome.output.split(separator: "\n").filter { $0.hasPrefix("::") }
                #expect(outcome.code == (code == 4 ? 0 : code), "\(outcome)")
                #expect(lines.count == warnings.count, "\(lines)")
                for (line, words) in zip(lines, warnings) { #expect(line.hasPrefix(warning + words), "\(line)") }
                #expect(outcome.output.contains("\ntimerfd "), "the log has the table")
                #expect(try text(folder.appending(path: "summary.md")).contains("**need "))
            }
        }
    }

    /// An option that makes no sense: the job must not pass because there is no result.
    @Test func theProposedJobFailsWithoutAResult() async throws {
        try await inFolder { folder in
            let outcome = try await run(try job(), in: folder, needs: ["timerfd"])
            #expect(outcome.code == 2 && !outcome.output.contains("::"), "\(outcome)")
        }
    }
}
#endif
