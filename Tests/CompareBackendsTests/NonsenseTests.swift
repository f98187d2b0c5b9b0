import Foundation
import TestSupport
import Testing

/// Hostile arguments and files: each gives one clear line and the right exit code, before any measurement.
@Suite(.works("the command is a process of its own")) struct NonsenseTests {
    private static let senseless = [
        ["--period", "0ms"], ["--period", "0"], ["--period", "-1"], ["--period", "nan"], ["--period", "inf"],
        ["--period", "1e400"], ["--period", "10000000000000000000"], ["--period", "10000000000000000000s"],
        ["--period", ""], ["--period", "60 hz"], ["--period", "0hz"], ["--period", "nanhz"], ["--period", "hz"],
        ["--period", "1\n2\u{1B}[31m"], ["--period"], ["--period", "1ns", "--turn", "1s"],
        ["--period", "5000000000m"], ["--turn", "0s"], ["--turn", "9ms"], ["--turn", "2000m"],
        ["--turn", "-5s"], ["--warmup", "-1s"], ["--warmup", "2000m"], ["--laps", "0"], ["--laps", "-1"],
        ["--laps", "100001"], ["--laps", "99999999999999999999"], ["--laps", "three"], ["--timers", "0"],
        ["--timers", "-3"], ["--timers", "100000000"], ["--backends", "epoll"], ["--backends", ""],
        ["--backends", "timerfd,"], ["--backends", "floor-timerfd"], ["--references", "timerfd"],
        ["--references", ""], ["--deliver", "nowhere"], ["--clock", "cpu"], ["--load", "heavy"], ["--load", ""],
        ["--load", "cpu:0"], ["--load", "cpu:-1"], ["--load", "cpu:99999"], ["--load", "cpu:"],
        ["--load", "handler:0s"],
        ["--load", "handler:nan"], ["--load", "handler"], ["--load", "churn:1e9"],
        ["--load", "pending:10000000000000000000"],
        ["--load", "idle:1"], ["--seed", "-1"], ["--seed", "18446744073709551616"], ["--format", "xml"],
        ["--fail-if", "timerfd"], ["--fail-if", "timerfd.lateness.max > 1ms"],
        ["--fail-if", "nobody.lateness.p50 > 1ms"],
        ["--fail-if", "timerfd.lateness.p50 > 1.2x"], ["--fail-if", "timerfd.p50 later 5% than timerfd"],
        ["--period", "20000d"], ["--period", "2h"], ["--period", "1d", "--timers", "500000"],
        ["--until", "5%", "--laps", "20"], ["--limit", "5m"], ["--until", "0"], ["--until", "1e300"],
        ["--until", "5%", "--backends", "timerfd"], ["explain", "--later-than", "100d"],
        ["explain", "--junit", "rules.xml"], ["against", "/bin/true", "--allow", "-1"], ["show"], ["show", "/nowhere"],
        ["--realtime", "fifo"], ["--realtime", "fifo:0"], ["--realtime", "rr:100"], ["--realtime", "fifo:eighty"],
        ["--realtime", "deadline:1ms:500us:2ms"], ["--realtime", "normal"], ["--affinity", ""], ["--affinity", "1,"],
        ["--affinity", "3-1"], ["--affinity", "0-99999999999999999999"], ["--affinity", "65536"],
        ["--timer-slack", "0ns"], ["--slice", "99us"], ["--timer-slack", "1"], ["--idle-latency", "1"],
        ["--idle-latency", "1h"],
        ["--maximum-spin", "2s"], ["--maximum-spin", "20us", "--backends", "timerfd"], ["--cpu-budget", "0"],
        ["--cpu-budget", "95%"], ["--cpu-budget", "5%", "--backends", "timerfd,dispatch"],
        ["against", "/bin/true", "--realtime", "fifo:100"], ["against", "/bin/true", "--cpu-budget", "5%"],
        ["--nonsense"], ["extra"], ["recommend", "--cpu", "nan"],
        ["recommend", "--cpu", "-1"], ["recommend", "--lateness", "soon"], ["recommend", "--period", "0s"], ["diff"],
        ["merge"], ["report"], ["list", "extra"],
    ]

    @Test(arguments: Effort.some(senseless))
    func senselessArgumentsAreRefused(arguments: [String]) async throws {
        try await refused(arguments, code: 2)
    }

    @Test(arguments: ["--output", "--report", "--samples", "--histograms"])
    func anUnwritableFileIsReportedBeforeTheMeasurement(option: String) async throws {
        try await refused([option, "/proc/nothing/here"], code: 2)
        try await refused([option, ""], code: 2)
    }

    @Test(arguments: [
        ["--baseline", "FILE"], ["diff", "FILE", "FILE"], ["merge", "FILE"], ["report", "FILE"],
        ["recommend", "--from", "FILE"],
    ])
    func otherFilesAreRefused(arguments: [String]) async throws {
        let damaged = ["", "not JSON", "[]", "{}", "{\"schema\": 2}", "{\"schema\": 3}", "{\"schema\": 1e400}"]
        for content in Effort.some(damaged) {
            let file = try TemporaryFile(content)
            try await refused(arguments.map { $0 == "FILE" ? file.path : $0 }, code: 2)
        }
        try await refused(arguments.map { $0 == "FILE" ? "/nonexistent" : $0 }, code: 2)
        try await refused(arguments.map { $0 == "FILE" ? "/" : $0 }, code: 2)
    }

    @Test func aBaselineOfAnotherHostLeavesItsRulesUndecided() async throws {
        let run =
            CommandTests.shortRun + ["--backends", "timerfd", "--quiet", "--format", "json"]
        let here = try await Command.run(run)
        try #require(here.code == 0)
        let foreign = try #require(
            here.output.range(of: "\"machine\" : \"[^\"]*\"", options: .regularExpression)
        )
        let mine = try TemporaryFile(here.output)
        let other = try TemporaryFile(here.output.replacingCharacters(in: foreign, with: "\"machine\" : \"vax\""))
        let rule = ["--fail-if", "timerfd.p50 later 900% than baseline"]
        let undecided = try await Command.run(run + rule + ["--baseline", other.path])
        #expect(undecided.code == 4)
        #expect(undecided.complaint.hasPrefix("undecided: "))
        #expect(try await Command.run(run + ["--baseline", other.path]).code == 0, "there is nothing to decide")
        try await refused(run + ["--baseline", mine.path, "--period", "6ms"], code: 2)
        #expect(try await Command.run(run + ["--baseline", mine.path]).code == 0)
        let diff = try await Command.run(["diff", other.path, mine.path])
        #expect(diff.code == 0)
        #expect(diff.complaint.hasPrefix("note: they are not of the same machine"))
    }

    @Test func anUnavailableBackendHasExitCodeThree() async throws {
        try await refused(["--backends", "runloop", "--clock", "wall"], code: 3)
    }

    @Test func aBrokenRuleHasExitCodeOneAndOneLine() async throws {
        let run = CommandTests.shortRun + ["--backends", "timerfd", "--references", "none", "--quiet"]
        let broken = try await Command.run(
            run + ["--fail-if", "timerfd.lateness.p50 > 1ns", "--fail-if", "timerfd.lateness.p50 > 1m"]
        )
        #expect(broken.code == 1)
        #expect(broken.complaints.count == 1)
        #expect(broken.complaint.hasPrefix("failed: timerfd.lateness.p50 > 1ns: timerfd.lateness.p50 is "))
        #expect(!broken.output.isEmpty)
        let kept = try await Command.run(run + ["--fail-if", "timerfd.lateness.p50 > 1m"])
        #expect(kept.code == 0)
        #expect(kept.complaint.isEmpty)
    }

    @Test func resultsThatCannotBeWrittenAreAnError() async throws {
        let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        let outcome = try await Command.run(["list"], output: full)
        #expect(outcome.code == 1)
        #expect(outcome.complaints.count == 1)
        #expect(outcome.complaint.hasPrefix("error: writing the results"))
    }

    /// As in `compare-backends report … | head -1`.
    @Test func aReaderThatLeavesEndsTheCommandInSilence() async throws {
        let pipe = Pipe()
        try pipe.fileHandleForReading.close()
        let outcome = try await Command.run(["list"], output: pipe.fileHandleForWriting)
        #expect(outcome.code == 141)
        #expect(outcome.complaint.isEmpty)
    }

    @Test(arguments: Effort.some(["<&- >&- 2>&-", "<&-", ">&-", "2>&-"]))
    func noFileIsTakenForAStandardDescriptorThatIsClosed(redirection: String) async throws {
        let (results, page) = (try TemporaryFile(), try TemporaryFile())
        let outcome = try await Command.run(
            CommandTests.shortRun + [
                "--backends", "timerfd", "--format", "json", "--output", results.path, "--report", page.path,
            ],
            redirection: redirection
        )
        #expect(outcome.code == 0)
        #expect(try JSONDecoder().decode(DecodedReport.self, from: Data(results.text.utf8)).schema == 3)
        #expect(try page.text.hasSuffix("</html>\n") || page.text.hasSuffix("</html>"))
        // Results that cannot be written are an error, and no other file receives them.
        let lost = try await Command.run(
            CommandTests.shortRun + ["--backends", "timerfd", "--report", page.path],
            redirection: redirection
        )
        #expect(lost.code == (redirection.contains(" >&-") || redirection == ">&-" ? 1 : 0))
        #expect(try page.text.hasSuffix("</html>\n") || page.text.hasSuffix("</html>"))
    }

    @Test func aFileThatCannotBeOpenedLeavesNoOtherFile() async throws {
        let output = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try await refused(["--output", output, "--samples", "/nonexistent/samples"], code: 2)
        #expect(!FileManager.default.fileExists(atPath: output))
        try await refused(["--histograms", "/etc/passwd"], code: 2)
    }

    private func refused(_ arguments: [String], code: Int32) async throws {
        let outcome = try await Command.run(arguments)
        #expect(outcome.code == code, "\(arguments) \(outcome.complaint)")
        #expect(outcome.output.isEmpty)
        #expect(outcome.complaints.count == 1, "\(arguments) \(outcome.complaint)")
        #expect(outcome.complaints.first?.hasPrefix("error: ") == true)
    }
}
