import Foundation
import TestSupport
import Testing

/// Verdicts: needs with three outcomes, planted changes, and another build.
@Suite(.works("the command measures this machine")) struct VerdictTests {
    /// Of 8 laps, the fewest, one that was disturbed would leave the verdict open.
    private static let twoEqualRows = ["--rows", "timerfd,timerfd", "--laps", "14", "--quiet"]
    /// A difference of a million, which no disturbance of a row reaches.
    private static let planted = ["--plant", "timerfd=1000", "--plant", "timerfd#2=0.001"]

    @Test func aPlantedChangeIsFound() async throws {
        let rows = try await CommandTests.results(Self.twoEqualRows + Self.planted).rows
        #expect(rows[1].verdicts == ["p50": "earlier", "p99": "earlier"])
    }

    @Test func aPlantedTailIsFoundByP99AndNotByP50() async throws {
        let tail = ["--plant", "timerfd#2=+900s/30%"]
        let rows = try await CommandTests.results(Self.twoEqualRows + tail).rows
        #expect(rows[1].verdicts["p99"] == "later")
        #expect(rows[1].verdicts["p50"] != "earlier")
    }

    @Test func aNeedFailsOnAPlantedChangeAndIsUndecidedWithFewLaps() async throws {
        let need = ["--need", "timerfd.p50 later 5% than timerfd#2"]
        let failed = try await Command.run(Self.twoEqualRows + need + Self.planted)
        #expect(failed.code == 1)
        #expect(
            failed.output.contains(
                "\nneed timerfd.p50 later 5% than timerfd#2: does not meet\n  does not meet  timerfd  p50 "
            )
        )
        let undecided = try await Command.run(Self.twoEqualRows + need + ["--laps", "7"])
        #expect(undecided.code == 4)
        #expect(undecided.output.contains("too few laps to compare p50 with timerfd#2: measure longer (--time)"))
        let met = try await Command.run(Self.twoEqualRows + ["--need", "timerfd.p50 later 1000000% than timerfd#2"])
        #expect(met.code == 0)
    }

    @Test func aRunIsComparedWithAnEarlierFile() async throws {
        let run = ["--rows", "timerfd,bare", "--laps", "14", "--quiet"]
        let file = try TemporaryFile(suffix: ".json")
        #expect(try await Command.run(run + ["-o", file.path]).code == 0)
        let need = ["--need", "timerfd.p50 later 100000% than \(file.path)"]
        #expect(try await Command.run(run + need).code == 0)
        let later = try await Command.run(run + need + ["--plant", "timerfd=1000", "--plant", "bare=0.001"])
        #expect(later.code == 1, "\(later)")
        // The same file, as if of another machine.
        let other = try TemporaryFile(
            try file.text.replacing(/"machine":"[^"]*"/, with: "\"machine\":\"vax\""),
            suffix: ".json"
        )
        let foreign = try await Command.run(run + ["--need", "timerfd.p50 later 5% than \(other.path)"])
        #expect(foreign.code == 4 && foreign.output.contains("of another machine"))
    }

    @Test func twoBuildsAreComparedInOneRun() async throws {
        let against = ["against", Command.path, "--quiet", "--laps", "14"]
        let later = try await Command.run(against + ["--plant", "timerfd=1000"])
        #expect(later.code == 1, "\(later)")
        #expect(later.output.contains("\nneed timerfd.p50 later 10% than other:timerfd: does not meet"))
        #expect(later.output.contains("\nother:timerfd ") && later.output.contains("than the other"))
        let allowed = try await Command.run(against + ["--need", "timerfd.p50 later 1000000% than other:timerfd"])
        #expect(allowed.code == 0, "\(allowed)")
    }

    @Test func anotherBuildThatFailsIsAnError() async throws {
        let programs = [
            ("/bin/false", "it gave no reason"), ("/nonexistent", "No such file"), ("/bin/true", "is not JSON"),
            ("/bin/echo", "is not JSON"),
        ]
        for (program, reason) in programs {
            let outcome = try await Command.run(["against", program, "--quiet", "--laps", "8"])
            #expect(outcome.code == 1)
            #expect(outcome.complaints.count == 1 && outcome.complaint.contains(reason), "\(outcome)")
        }
        for option in [["--rows", "timerfd,bare"], ["-o", "/nonexistent/file.json"]] {
            let refused = try await Command.run(["against", "/bin/true"] + option)
            #expect(refused.code == 2, "\(option)")
        }
    }

    @Test func lateTicksAreExplained() async throws {
        let outcome = try await Command.run(
            ["--why", "500us", "--load", "handler:3ms", "--rows", "timerfd", "--quiet", "--laps", "2"]
        )
        #expect(outcome.code == 0)
        #expect(outcome.output.contains("timerfd@handler:3ms: ") && outcome.output.contains(" later than 500 µs: "))
    }
}
