#if Instrument && DEBUG
import BackendComparison
import Foundation
import PreciseTimer
import TestSupport
import Testing

/// The files that the command writes, its work with saved results, and its verdicts.
@Suite(.works("the command measures this machine")) struct FileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Measures for a moment, with files in the folder.
    private func measure(_ rows: String, _ names: [String]) async throws {
        let outcome = try await Command.run(
            ["--period", "1ms", "--laps", "9", "--quiet", "--rows", rows] + names.flatMap { ["-o", path($0)] }
        )
        try #require(outcome.code == 0, "\(outcome)")
        #expect(outcome.complaint.isEmpty)
    }

    private func path(_ name: String) -> String { "\(folder.path)/\(name)" }

    private func text(_ name: String) throws -> String { try String(contentsOfFile: path(name), encoding: .utf8) }

    @Test func theEndOfAFilesNameSaysWhatIsInIt() async throws {
        let beginnings = [
            ("out.json", "{\"advice\":"), ("out.CSV", "row,load,figure,value,low,high\n"), ("out.md", "1 ms timer"),
            ("page.html", "<!DOCTYPE html>"), ("all.ticks.csv", "lap,row,load,timer,index,"),
        ]
        try await measure("timerfd,bare", beginnings.map(\.0))
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
        #expect(try text("out.json").contains(/"date":"20[0-9-]+T[0-9:]+Z"/))
    }

    /// Fault 12: two files became one table.
    @Test func twoFilesStandSideBySide() async throws {
        try await measure("timerfd,bare", ["one.json"])
        try await measure("timerfd,bare", ["two.json"])
        let files = [path("one.json"), path("two.json")]
        let both = try await Command.run(["show"] + files)
        #expect(both.code == 0)
        #expect(both.output.contains("1  \(files[0]): 1 ms timer") && both.output.contains("p50 2"))
        for option in [["--need", "p50 < 1s"], ["-o", path("x.json")]] {
            #expect(try await Command.run(["show"] + files + option).code == 2, "\(option)")
        }
    }

    /// Fault 14, and the issue's "every way out": a full disk.
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
        for (part, other) in [("\"schema\":5", "\"schema\":3"), ("\"median_ns\"", "\"a\"")] {
            let wrong = Data(text.replacing(part, with: other).utf8)
            #expect(throws: DecodingError.self) { try JSONDecoder().decode(BackendComparison.self, from: wrong) }
        }
        let file = try TemporaryFile(
            String(decoding: try JSONEncoder().encode(comparison), as: UTF8.self),
            suffix: ".json"
        )
        let shown = try await Command.run(["show", file.path])
        #expect(shown.output == "\(comparison)\n" && shown.complaint.isEmpty)
    }

    /// Otherwise run the command on this file again, and paste what it prints.
    @Test func theSampleOfTheReadmeIsOfThisVersion() async throws {
        let root = URL(filePath: #filePath).appending(path: "../../..").standardized
        let shown = try await Command.run(["show", root.appending(path: "Tests/Samples/idle.json").path])
        let readme = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
        #expect(
            shown.code == 0 && readme.contains("\n\(shown.output)```\n"),
            "README shows another screen of idle.json"
        )
    }
}

/// Verdicts: needs with three outcomes, and planted changes.
@Suite(.works("the command measures this machine")) struct VerdictTests {
    /// Of 8 laps, the fewest, one that was disturbed would leave the verdict open.
    private static let laps = ["--laps", "14", "--quiet"]
    private static let twoEqualRows = ["--rows", "timerfd,timerfd"] + laps

    /// A difference of a million, which no disturbance of a row reaches.
    @Test func aNeedFailsOnAPlantedChange() async throws {
        let file = try TemporaryFile(suffix: ".json")
        let need = "timerfd.p50 later 5% than timerfd#2"
        let planted = ["--plant", "timerfd=1000", "--plant", "timerfd#2=0.001", "--need", need, "-o", file.path]
        let outcome = try await Command.run(Self.twoEqualRows + planted)
        #expect(outcome.code == 1)
        #expect(outcome.output.contains("\nneed \(need): not met\n  not met    timerfd  p50 "))
        let rows = try JSONDecoder().decode(DecodedResults.self, from: Data(file.text.utf8)).rows
        #expect(rows[1].verdicts == ["p50": "earlier", "p99": "earlier"])
    }

    @Test func aPlantedTailIsFoundByP99AndNotByP50() async throws {
        let rows = try await CommandTests.results(Self.twoEqualRows + ["--plant", "timerfd#2=+900s/30%"]).rows
        #expect(rows[1].verdicts["p99"] == "later" && rows[1].verdicts["p50"] != "earlier")
    }

    @Test func aRunIsComparedWithAnEarlierFile() async throws {
        let run = ["--rows", "timerfd,bare"] + Self.laps
        let file = try TemporaryFile(suffix: ".json")
        #expect(try await Command.run(run + ["-o", file.path]).code == 0)
        let need = ["--need", "timerfd.p50 later 100000% than \(file.path)"]
        #expect(try await Command.run(run + need).code == 0)
    }
}
#endif
