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
        ["-o", "a.json", "-o", "a.json"], ["against"], ["against", "/bin/true", "--rows", "bare"], ["--nonsense"],
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
        #expect(try JSONDecoder().decode(DecodedResults.self, from: Data(results.text.utf8)).schema == 4)
        #expect(try page.text.hasSuffix("</html>\n"))
    }

    private func refused(_ arguments: [String], code: Int32) async throws {
        let outcome = try await Command.run(arguments)
        #expect(outcome.code == code && outcome.output.isEmpty, "\(arguments) \(outcome)")
        #expect(outcome.complaints.count == 1 && outcome.complaint.hasPrefix("error: "), "\(arguments) \(outcome)")
    }
}
