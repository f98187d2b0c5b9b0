import Foundation
import TestSupport
import Testing

/// The files that the command writes, and its work with saved results.
@Suite(.works("the command measures this machine")) struct FileTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)

    /// Measures for a moment, with files in a folder that is removed afterwards.
    private func measured(_ rows: String, _ names: [String], _ body: () async throws -> Void) async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let outcome = try await Command.run(
            ["--period", "1ms", "--laps", "9", "--quiet", "--rows", rows] + names.flatMap { ["-o", path($0)] }
        )
        try #require(outcome.code == 0, "\(outcome)")
        #expect(outcome.complaint.isEmpty)
        try await body()
    }

    private func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    private func text(_ name: String) throws -> String { try String(contentsOfFile: path(name), encoding: .utf8) }

    @Test func theEndOfAFilesNameSaysWhatIsInIt() async throws {
        let beginnings = [
            ("out.json", "{\"advice\":"), ("out.CSV", "row,load,figure,value,low,high\n"), ("out.md", "1 ms timer"),
            ("page.html", "<!DOCTYPE html>"), ("rules.xml", "<?xml"), ("all.ticks.csv", "lap,row,load,timer,index,"),
        ]
        try await measured("timerfd,bare", beginnings.map(\.0)) {
            for (name, beginning) in beginnings {
                let text = try text(name)
                #expect(text.hasPrefix(beginning), "\(name)")
                #expect(text.hasSuffix("\n") && !text.hasSuffix("\n\n"), "\(name): each line has one end")
            }
            // A busy machine misses most deadlines, so the number of lines is not known. But all 20 of a lap are there.
            let lines = try text("all.ticks.csv").split(separator: "\n").dropFirst().map { $0.split(separator: ",") }
            let turns = Dictionary(grouping: lines) { "\($0[0]) \($0[1])" }
            #expect(turns.count == 18)
            for (turn, ticks) in turns {
                #expect(ticks.reduce(0) { $0 + 1 + (Int($1[8]) ?? 0) } >= 20, "\(turn)")
            }
            // Nothing is lost on the way through a file.
            #expect(try await Command.run(["show", path("out.json"), "-o", path("again.json")]).code == 0)
            #expect(try text("again.json") == text("out.json"))
        }
    }

    @Test func aSavedResultIsShownAndJudgedAgain() async throws {
        try await measured("timerfd,hybrid,bare", ["out.json"]) {
            let table = try await Command.run(["show", path("out.json")])
            #expect(table.code == 0 && table.output.contains("\ntimerfd "))
            #expect(table.output.split(separator: "\n").allSatisfy { $0.count <= 80 })
            let wide = try await Command.run(["show", path("out.json"), "--wide"])
            #expect(wide.output.contains("wakeups") && wide.output.contains("worst"))
            for (need, code) in [("timerfd.p50 < 1m", 0), ("timerfd.p50 < 1ns", 1), ("p99.9 < 1m", 4)]
                as [(String, Int32)]
            {
                let judged = try await Command.run(["show", path("out.json"), "--need", need, "-o", path("rules.xml")])
                #expect(judged.code == code, "\(need): \(judged)")
                #expect(judged.output.contains("\nneed \(need): "))
                #expect(try text("rules.xml").contains(["<system-out>", "<failure ", "", "", "<skipped "][Int(code)]))
            }
            // On a busy machine the laps of the hybrid differ so much that a million per cent is too close to tell.
            let earlier = "hybrid.p50 later 1000000000000000% than \(path("out.json"))"
            let judged = try await Command.run(["show", path("out.json"), "--need", earlier])
            #expect(judged.code == 0, "\(judged)")
        }
    }

    /// Fault 12: two files became one table.
    @Test func twoFilesStandSideBySideUnlessTheyAreToBePooled() async throws {
        try await measured("timerfd,bare", ["one.json"]) {
            let run = ["--period", "1ms", "--laps", "9", "--quiet", "--rows", "timerfd,bare", "-o", path("two.json")]
            #expect(try await Command.run(run).code == 0)
            let files = [path("one.json"), path("two.json")]
            let both = try await Command.run(["show"] + files)
            #expect(both.code == 0)
            #expect(both.output.contains("1  \(files[0]): 1 ms timer") && both.output.contains("p50 2"))
            let pooled = try await Command.run(["show", "--pool"] + files + ["-o", path("all.json")])
            #expect(pooled.code == 0, "\(pooled)")
            let all = try JSONDecoder().decode(DecodedResults.self, from: Data(try text("all.json").utf8))
            #expect(all.rows.allSatisfy { $0.lateness.count == 18 })
            let twice = try await Command.run(["show", "--pool", files[0], files[0]])
            #expect(twice.code == 2 && twice.complaint.contains("share a part"))
            for option in [["--need", "p50 < 1s"], ["-o", path("x.json")]] {
                #expect(try await Command.run(["show"] + files + option).code == 2)
            }
        }
    }

    /// Fault 14, and the issue's "every way out": a full disk.
    @Test func aFileThatCannotBeWrittenKeepsItsContentAndTheScreen() async throws {
        try await measured("timerfd", ["out.json"]) {
            let before = try text("out.json")
            let outcome = try await Command.run(
                CommandTests.shortRun + ["--rows", "timerfd", "-o", path("out.json"), "-o", path("b.md")],
                by: ["prlimit", "--fsize=1000"]
            )
            #expect(outcome.code == 1, "\(outcome)")
            #expect(outcome.output.contains("\ntimerfd "), "the results are on the screen")
            #expect(outcome.complaint.contains("error: writing to \(path("out.json"))"))
            #expect(try text("out.json") == before)
            #expect(try text("b.md").contains("| timerfd"), "a small file has room")
        }
    }

    @Test func aFileIsReplacedAndNotWrittenInto() async throws {
        try await measured("timerfd", ["out.md"]) {
            try String(repeating: "x", count: 1_000_000)
                .write(toFile: path("out.md"), atomically: true, encoding: .utf8)
            let outcome = try await Command.run(CommandTests.shortRun + ["--rows", "timerfd", "-o", path("out.md")])
            #expect(outcome.code == 0)
            #expect(try !text("out.md").contains("xxx"))
        }
    }

    @Test func theVersionIsSaved() async throws {
        let version = try await Command.run(["--version"])
        #expect(version.code == 0)
        #expect(version.output.contains(/^compare-backends [0-9]+\.[0-9]+\.[0-9]+/))
        try await measured("timerfd", ["out.json"]) {
            let number = try #require(version.output.split(whereSeparator: \.isWhitespace).dropFirst().first)
            #expect(try text("out.json").contains("\"version\":\"\(number)\""))
            #expect(try text("out.json").contains(/"date":"20[0-9-]+T[0-9:]+Z"/))
        }
    }
}
