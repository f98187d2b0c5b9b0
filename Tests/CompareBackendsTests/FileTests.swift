import Foundation
import TestSupport
import Testing

/// The files that the command writes, and its work with saved results.
@Suite(.works("the command measures this machine")) struct FileTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)

    /// Measures for a moment, with files in a folder that is removed afterwards.
    private func measured(_ body: (URL) async throws -> Void) async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    private func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    private func text(_ name: String) throws -> String { try String(contentsOfFile: path(name), encoding: .utf8) }

    @Test func everyFileThatWasAskedForIsWritten() async throws {
        try await measured { _ in
            let outcome = try await Command.run(
                CommandTests.shortRun + [
                    "--backends", "timerfd", "--quiet", "--format", "csv", "--output", path("out.csv"),
                    "--report", path("page.html"), "--samples", path("samples.csv"), "--histograms", path("histograms"),
                ]
            )
            #expect(outcome.code == 0)
            #expect(outcome.output.isEmpty)
            #expect(outcome.complaint.isEmpty)
            let lines = try text("out.csv").split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.count >= 5)
            // Each line has one end, the last line, too.
            #expect(lines.firstIndex(of: "") == lines.count - 1)
            #expect(try text("page.html").hasPrefix("<!"))
            // A header, and for each row at least half of its 20 ticks: some may have been missed.
            #expect(try text("samples.csv").split(separator: "\n").count > 10)
            let histograms = try FileManager.default.contentsOfDirectory(atPath: path("histograms"))
            #expect(histograms.contains("timerfd.hgrm"))
            #expect(histograms.contains("floor-timerfd.hgrm"))
        }
    }

    @Test func aFileIsReplacedAndNotWrittenInto() async throws {
        try await measured { _ in
            try String(repeating: "x", count: 1_000_000)
                .write(toFile: path("out.md"), atomically: true, encoding: .utf8)
            let outcome = try await Command.run(
                CommandTests.shortRun + [
                    "--backends", "timerfd", "--quiet", "--format", "markdown", "--output", path("out.md"),
                ]
            )
            #expect(outcome.code == 0)
            let hasLeftovers = try text("out.md").contains("xxx")
            #expect(!hasLeftovers)
        }
    }

    @Test func theNameOfTheOutputSaysItsFormat() async throws {
        try await measured { _ in
            let beginnings = [
                ("out.json", "{"), ("out.CSV", "row,"), ("out.md", "A timer every 5ms"),
                ("out.txt", "a timer every 5 ms"),
            ]
            for (name, beginning) in beginnings {
                let run =
                    CommandTests.shortRun + ["--backends", "timerfd", "--quiet", "--output", path(name)]
                #expect(try await Command.run(run).code == 0)
                #expect(try text(name).hasPrefix(beginning), "\(name)")
            }
            let run = CommandTests.shortRun + ["--backends", "timerfd", "--quiet"]
            let asked = try await Command.run(run + ["--format", "csv", "--output", path("out.json")])
            #expect(asked.code == 0)
            #expect(try text("out.json").hasPrefix("row,"), "an option counts more than a name")
        }
    }

    @Test func savedResultsAreShownInEveryFormat() async throws {
        try await measured { _ in
            let run = CommandTests.shortRun + ["--backends", "timerfd,dispatch", "--quiet", "--output"]
            #expect(try await Command.run(run + [path("out.json")]).code == 0)
            let table = try await Command.run(["show", path("out.json")])
            #expect(table.output.contains("\ntimerfd "))
            #expect(table.output.split(separator: "\n").allSatisfy { $0.count <= 80 })
            let wide = try await Command.run(["show", path("out.json"), "--wide", "--explain"])
            #expect(wide.output.contains("Pairs: ") && wide.output.contains("processor time per elapsed time"))
            let markdown = try await Command.run(["show", path("out.json"), "--format", "markdown"])
            #expect(markdown.output.contains("| timerfd"))
            // Nothing is lost on the way through a file.
            let again = try await Command.run(["show", path("out.json"), "--format", "json"])
            let saved = try text("out.json")
            #expect(again.output == saved)
        }
    }

    @Test func oneRunCannotBeMergedWithItself() async throws {
        try await measured { _ in
            let run = CommandTests.shortRun + ["--backends", "timerfd", "--quiet", "--output", path("out.json")]
            #expect(try await Command.run(run).code == 0)
            let merge = try await Command.run(["merge", path("out.json"), path("out.json")])
            #expect(merge.code == 2)
            #expect(merge.complaints.count == 1)
            #expect(merge.complaint.contains("the same measurement"), "\(merge.complaint)")
        }
    }

    @Test func oneFileIsNotWrittenTwice() async throws {
        let outcome = try await Command.run(["--output", "/tmp/nothing.html", "--report", "/tmp/../tmp/nothing.html"])
        #expect(outcome.code == 2)
        #expect(outcome.complaint.contains("--output and --report name the same file"))
        #expect(!FileManager.default.fileExists(atPath: "/tmp/nothing.html"))
    }

    @Test func theVersionIsSaved() async throws {
        let version = try await Command.run(["--version"])
        #expect(version.code == 0)
        #expect(version.output.contains(/^compare-backends [0-9]+\.[0-9]+\.[0-9]+/))
        try await measured { _ in
            let run = CommandTests.shortRun + ["--backends", "timerfd", "--quiet", "--output", path("out.json")]
            #expect(try await Command.run(run).code == 0)
            let number = try #require(version.output.split(whereSeparator: \.isWhitespace).dropFirst().first)
            #expect(try text("out.json").contains("\"version\" : \"\(number)\""))
            #expect(try text("out.json").contains(/"date" : "20[0-9-]+T[0-9:]+Z"/))
        }
    }

    @Test func savedResultsAreMergedShownAndJudged() async throws {
        try await measured { _ in
            for name in ["one.json", "two.json"] {
                let outcome = try await Command.run(
                    CommandTests.shortRun + ["--quiet", "--format", "json", "--output", path(name)]
                )
                #expect(outcome.code == 0)
            }
            let merge = try await Command.run([
                "merge", path("one.json"), path("two.json"), "--output", path("all.json"),
            ])
            #expect(merge.code == 0)
            let merged = try JSONDecoder().decode(DecodedReport.self, from: Data(try text("all.json").utf8))
            let one = try JSONDecoder().decode(DecodedReport.self, from: Data(try text("one.json").utf8))
            let two = try JSONDecoder().decode(DecodedReport.self, from: Data(try text("two.json").utf8))
            #expect(merged.options.laps == 2)
            for (row, (first, second)) in zip(merged.rows, zip(one.rows, two.rows)) {
                #expect(row.ticks == first.ticks + second.ticks)
                #expect(row.missed == first.missed + second.missed)
            }
            let diff = try await Command.run(["diff", path("one.json"), path("two.json")])
            #expect(diff.code == 0)
            #expect(diff.output.contains("timerfd"))
            #expect(try await Command.run(["report", path("all.json"), "--output", path("page.html")]).code == 0)
            #expect(try text("page.html").contains("timerfd"))
            let recommend = try await Command.run(["recommend", "--from", path("all.json")])
            #expect(recommend.code == 0)
            #expect(recommend.output.hasPrefix("Take "))
            let impossible = try await Command.run(["recommend", "--from", path("all.json"), "--lateness", "1ns"])
            #expect(impossible.code == 1)
            #expect(impossible.output.hasPrefix("No backend"))
        }
    }
}
