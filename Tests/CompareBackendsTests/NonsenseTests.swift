import Foundation
import TestSupport
import Testing

/// Hostile arguments and files: each gives one clear line and the right exit code, before any measurement.
@Suite(.works("the command is a process of its own")) struct NonsenseTests {
    private static let senseless = [
        ["--period", "0ms"], ["--period", "0"], ["--period", "-1"], ["--period", "nan"], ["--period", "inf"],
        ["--period", "1e400"], ["--period", "10000000000000000000"], ["--period", "10000000000000000000s"],
        ["--period", ""], ["--period", "60 hz"], ["--period", "0hz"], ["--period", "nanhz"], ["--period", "hz"],
        ["--period", "1\n2\u{1B}[31m"], ["--period"], ["--period", "1ns"], ["--period", "5000000000m"],
        ["--period", "20000d"], ["--time", "0s"], ["--time", "-5s"], ["--time", "20000d"], ["--time", "soon"],
        ["--laps", "0"], ["--laps", "-1"], ["--laps", "100001"], ["--laps", "99999999999999999999"],
        ["--laps", "three"], ["--timers", "0"], ["--timers", "-3"], ["--timers", "100000000"], ["--rows", "epoll"],
        ["--rows", ""], ["--rows", "timerfd,"], ["--rows", "timerfd#2"], ["--deliver", "nowhere"], ["--clock", "cpu"],
        ["--load", "heavy"], ["--load", ""], ["--load", "idle,"], ["--load", "cpu:0"], ["--load", "cpu:-1"],
        ["--load", "cpu:99999"], ["--load", "cpu:"], ["--load", "handler:0s"], ["--load", "handler:nan"],
        ["--load", "handler"], ["--load", "churn:1e9"], ["--load", "pending:10000000000000000000"],
        ["--load", "idle:1"], ["--seed", "-1"], ["--seed", "18446744073709551616"], ["--need", "timerfd"],
        ["--need", "timerfd.max < 1ms"], ["--need", "nobody.p50 < 1ms"], ["--need", "timerfd.p50 < 1.2x"],
        ["--need", "timerfd.p50 later 5% than timerfd"], ["--need", "timerfd.p50 later 5% than /nowhere.json"],
        ["--why", "100d"], ["--why", "500us", "--deliver", "queue"], ["show"], ["show", "/nowhere"],
        ["--thread", "fifo"], ["--thread", "fifo:eighty"], ["--thread", "normal"], ["--thread", "cpu:"],
        ["--thread", "cpu:3-1"], ["--thread", "cpu:65536"], ["--thread", "idle:1"], ["--thread", "budget:95%"],
        ["--thread", "budget:5%", "--rows", "timerfd"], ["-o", "results"], ["-o", "results.txt"],
        ["-o", "a.json", "-o", "a.json"], ["against"], ["against", "/bin/true", "--rows", "bare"], ["--nonsense"],
        ["extra"], ["--backends", "timerfd"], ["recommend"], ["explain"], ["diff"], ["merge"], ["list"],
    ]

    @Test(arguments: Effort.some(senseless))
    func senselessArgumentsAreRefused(arguments: [String]) async throws {
        try await refused(arguments, code: 2)
    }

    @Test func anUnwritableFileIsReportedBeforeTheMeasurement() async throws {
        for path in ["/proc/nothing/here.json", "/proc/nothing.html", "/nonexistent/all.ticks.csv"] {
            try await refused(["-o", path], code: 2)
        }
        try await refused(["-o", ""], code: 2)
    }

    @Test(arguments: [["show", "FILE"], ["show", "FILE", "FILE"], ["--need", "timerfd.p50 later 5% than FILE"]])
    func otherFilesAreRefused(arguments: [String]) async throws {
        let damaged = ["", "not JSON", "[]", "{}", "{\"schema\": 3}", "{\"schema\": 4}", "{\"schema\": 1e400}"]
        for content in Effort.some(damaged) {
            let file = try TemporaryFile(content, suffix: ".json")
            try await refused(arguments.map { $0.replacing("FILE", with: file.path) }, code: 2)
        }
        try await refused(arguments.map { $0.replacing("FILE", with: "/nonexistent.json") }, code: 2)
        try await refused(["show", "/"], code: 2)
    }

    @Test func anUnavailableRowHasExitCodeThree() async throws {
        try await refused(["--rows", "runloop", "--clock", "wall"], code: 3)
    }

    @Test func resultsThatCannotBeWrittenAreAnError() async throws {
        let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        let outcome = try await Command.run(["doctor"], output: full)
        #expect(outcome.code == 1)
        #expect(outcome.complaints.count == 1)
        #expect(outcome.complaint.hasPrefix("error: writing the results"))
    }

    /// As in `compare-backends doctor | head -1`.
    @Test func aReaderThatLeavesEndsTheCommandInSilence() async throws {
        let pipe = Pipe()
        try pipe.fileHandleForReading.close()
        let outcome = try await Command.run(["doctor"], output: pipe.fileHandleForWriting)
        #expect(outcome.code == 141)
        #expect(outcome.complaint.isEmpty)
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

    @Test func aFileThatCannotBeOpenedLeavesNoOtherFile() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).json").path
        try await refused(["-o", path, "-o", "/nonexistent/page.html"], code: 2)
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    private func refused(_ arguments: [String], code: Int32) async throws {
        let outcome = try await Command.run(arguments)
        #expect(outcome.code == code, "\(arguments) \(outcome.complaint)")
        #expect(outcome.output.isEmpty)
        #expect(outcome.complaints.count == 1, "\(arguments) \(outcome.complaint)")
        #expect(outcome.complaints.first?.hasPrefix("error: ") == true)
    }
}
