import Foundation
import TestSupport
import Testing

/// Verdicts: rules with three outcomes, planted changes, another build, and what a CI system reads.
@Suite(.works("the command measures this machine")) struct VerdictTests {
    private static let twoRows = [
        "--warmup", "10ms", "--references", "none", "--quiet", "--backends", "timerfd,timerfd",
    ]
    /// Of 8 laps, the fewest, one that was disturbed would leave the verdict open.
    private static let twoEqualRows = twoRows + ["--laps", "14"]
    /// A difference of a million, which no disturbance of a row reaches.
    private static let planted = ["--plant", "timerfd=1000", "--plant", "timerfd#2=0.001"]

    /// The pairs, as a user's program would declare them.
    private struct Pairs: Decodable {
        struct Pair: Decodable {
            let figure: String
            let verdict: String
            let ratio: Double
            let low: Double?
        }
        let pairs: [Pair]
    }

    @Test func aPlantedChangeIsFound() async throws {
        let outcome = try await Command.run(Self.twoEqualRows + Self.planted + ["--format", "json"])
        #expect(outcome.code == 0)
        let pairs = try JSONDecoder().decode(Pairs.self, from: Data(outcome.output.utf8)).pairs
        let middle = try #require(pairs.first { $0.figure == "p50" })
        #expect(middle.verdict == "later")
        #expect(middle.ratio > 2)
    }

    @Test func aRuleFailsOnAPlantedChangeAndIsUndecidedWithFewLaps() async throws {
        let rule = ["--fail-if", "timerfd.p50 later 5% than timerfd#2"] + Self.planted
        let failed = try await Command.run(Self.twoEqualRows + rule)
        #expect(failed.code == 1)
        #expect(failed.complaint.hasPrefix("failed: timerfd.p50 later 5% than timerfd#2: timerfd against timerfd#2: "))
        let undecided = try await Command.run(Self.twoEqualRows + rule + ["--laps", "7"])
        #expect(undecided.code == 4)
        #expect(undecided.complaint.hasSuffix("too few laps; 8 laps are the fewest\n"))
        let passed = try await Command.run(
            Self.twoEqualRows + ["--fail-if", "timerfd.p50 later 1000000% than timerfd#2"]
        )
        #expect(passed.code == 0)
    }

    @Test func aMeasurementEndsWhenThePairsAreKnownWellEnough() async throws {
        let wide = try await Command.run(Self.twoRows + ["--until", "10000%", "--format", "json"])
        #expect(wide.code == 0)
        let report = try JSONDecoder().decode(DecodedReport.self, from: Data(wide.output.utf8))
        #expect(report.options.laps < 100)
        #expect(!report.partial, "it has as many laps as were wanted")
        let start = ContinuousClock.now
        let narrow = try await Command.run(
            ["--period", "1ms", "--warmup", "10ms", "--references", "none", "--backends", "timerfd,timerfd"]
                + ["--until", "0.01%", "--limit", "1s", "--format", "json"]
        )
        // Without a limit it would take ten minutes.
        #expect(ContinuousClock.now - start < .seconds(300))
        #expect(narrow.complaint.contains("note: the time was over at "))
        let limited = try JSONDecoder().decode(DecodedReport.self, from: Data(narrow.output.utf8))
        #expect(limited.options.laps > 0 && !limited.partial)
    }

    @Test func twoBuildsAreComparedInOneRun() async throws {
        let against = ["against", Command.path, "--quiet", "--laps", "14", "--backends", "timerfd"]
        let later = try await Command.run(against + ["--plant", "timerfd=1000"])
        #expect(later.code == 1, "\(later)")
        #expect(later.complaint.contains("failed: timerfd.p50 later 10% than other:timerfd: "))
        #expect(later.output.contains("\nother:timerfd "))
        let allowed = try await Command.run(against + ["--allow", "1000000%"])
        #expect(allowed.code == 0, "\(allowed)")
        #expect(allowed.complaints.count == 1 && allowed.complaint.hasPrefix("passed: "))
    }

    @Test func anotherBuildThatFailsIsAnError() async throws {
        let programs = [
            ("/bin/false", "it gave no reason"), ("/nonexistent", "No such file"), ("/bin/true", "ends too early"),
            ("/bin/echo", "is damaged: line 1, column 1"),
        ]
        for (program, reason) in programs {
            let outcome = try await Command.run(["against", program, "--quiet", "--laps", "8"])
            #expect(outcome.code == 1)
            #expect(outcome.complaints.count == 1 && outcome.complaint.contains(reason), "\(outcome)")
        }
        for option in [["--peers"], ["--references", "none"], ["--output", "/nonexistent/file"]] {
            let refused = try await Command.run(["against", "/bin/true"] + option)
            #expect(refused.code == 2, "\(option)")
        }
    }

    @Test func rulesAreWrittenForCISystems() async throws {
        let (summary, junit) = (try TemporaryFile("# Job\n"), try TemporaryFile())
        let judged = try await Command.run(
            Self.twoEqualRows + Self.planted + ["--junit", junit.path]
                + ["--fail-if", "timerfd.p50 later 5% than timerfd#2"],
            by: ["GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY=\(summary.path)"]
        )
        #expect(judged.code == 1)
        #expect(judged.complaint.hasPrefix("::error title=compare-backends::failed: timerfd.p50 later 5%25 than"))
        #expect(try summary.text.hasPrefix("# Job\n"), "what other steps wrote stays")
        #expect(try summary.text.contains("| timerfd"))
        #expect(try junit.text.contains("<failure message="))
    }

    @Test func theBuildsOfAComparisonLeaveTheJobsSummaryAlone() async throws {
        let summary = try TemporaryFile()
        let outcome = try await Command.run(
            ["against", Command.path, "--quiet", "--laps", "2", "--allow", "1000000%"],
            by: ["GITHUB_STEP_SUMMARY=\(summary.path)"]
        )
        #expect(outcome.code == 4)
        let headings = try summary.text.split(separator: "\n").filter { $0.hasPrefix("A timer every ") }
        #expect(headings.count == 1)
    }

    @Test func lateTicksAreExplained() async throws {
        let outcome = try await Command.run(
            ["explain", "--later-than", "500us", "--load", "handler:3ms", "--backends", "timerfd", "--quiet"]
                + ["--laps", "2"]
        )
        #expect(outcome.code == 0)
        #expect(outcome.output.contains("timerfd@handler:3ms: "))
        #expect(outcome.output.contains(" later than 500 µs: "))
        let queue = try await Command.run(["explain", "--deliver", "queue"])
        #expect(queue.code == 2)
        #expect(queue.complaint.contains("deliver inline"))
    }
}
