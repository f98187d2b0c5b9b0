#if Instrument && DEBUG
import Foundation
import TestSupport
import Testing

@testable import BackendComparison

/// Hostile arguments and files: each gives one clear line and the right exit code, before any measurement.
@Suite(.works("the command is a process of its own")) struct NonsenseTests {
    private let sample: TemporaryFile

    init() throws { sample = try Sample.file() }

    /// The tests of the parsers have many more.
    @Test func senselessArgumentsAreRefused() async throws {
        let (old, file) = (try TemporaryFile("{\"schema\": 3}", suffix: ".json").path, sample.path)
        let senseless = [
            ["--period", "1\n2\u{1B}[31m"], ["--period"], ["--period", "1h", "--time", "1s"], ["--laps", "three"],
            ["--timers", "-3"], ["--deliver", "nowhere"], ["--clock", "cpu"], ["--load", "idle,"],
            ["--seed", "18446744073709551616"], ["--need", "timerfd"], ["--need", "nobody.p50 < 1ms"],
            ["--need", "timerfd.p50 later 5% than /nowhere.json"], ["--thread", "budget:5%", "--rows", "timerfd"],
            ["-o", ""], ["-o", "results.txt"], ["-o", "a.json", "-o", "a.json"], ["--nonsense"], ["extra"],
            ["show"], ["show", "/nowhere"], ["show", "/"], ["show", "-"], ["show", old], ["show", file, old],
            ["--need", "timerfd.p50 later 5% than \(old)"], ["show", file, "-o", "all.ticks.csv"],
            ["show", file, file, "--need", "p50 < 1s"], ["show", file, file, "-o", "x.json"],
        ]
        for arguments in senseless { try await refused(arguments, code: 2) }
        try await refused(["--rows", "runloop", "--clock", "wall"], code: 3)
    }

    /// A file that cannot be opened leaves no other file.
    @Test func anUnwritableFileIsReportedBeforeTheMeasurement() async throws {
        let folder = try TemporaryFolder()
        for file in ["/proc/nothing.html", "/nonexistent/all.ticks.csv"] {
            try await refused(["-o", "\(folder.path)/a.json", "-o", file], code: 2)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }

    @Test func resultsThatCannotBeWrittenAreAnError() async throws {
        let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        let outcome = try await Command.run(["show", sample.path], output: full)
        #expect(outcome.code == 1 && outcome.complaints.count == 1)
        #expect(outcome.complaint.hasPrefix("error: writing the results"))
    }

    /// As in `compare-backends doctor | head -1`.
    @Test func aReaderThatLeavesEndsTheCommandInSilence() async throws {
        for arguments in [["doctor"], ["show", sample.path, "-o", "-"]] {
            let pipe = Pipe()
            try pipe.fileHandleForReading.close()
            let outcome = try await Command.run(arguments, output: pipe.fileHandleForWriting)
            #expect(outcome.code == 141 && outcome.complaint.isEmpty)
        }
    }

    @Test(arguments: ["<&- >&- 2>&-", ">&-"])
    func noFileIsTakenForAStandardDescriptorThatIsClosed(redirection: String) async throws {
        let (results, page) = (try TemporaryFile(suffix: ".json"), try TemporaryFile(suffix: ".html"))
        let outcome = try await Command.run(
            CommandTests.shortRun + ["--rows", "timerfd", "-o", results.path, "-o", page.path],
            redirection: redirection
        )
        // Results that cannot be shown are an error, and no file receives them.
        #expect(outcome.code == 1)
        #expect(try JSONFile.decode(results.text.utf8).rows.count == 1)
        #expect(try page.text.hasSuffix("</html>\n"))
    }

    private func refused(_ arguments: [String], code: Int32) async throws {
        let outcome = try await Command.run(arguments)
        #expect(outcome.code == code && outcome.output.isEmpty, "\(arguments) \(outcome)")
        #expect(outcome.complaints.count == 1 && outcome.complaint.hasPrefix("error: "), "\(arguments) \(outcome)")
    }
}
#endif
