import Foundation
import TestSupport
import Testing

/// The command's measurements and output, as a user sees them.
@Suite(.works("the command measures this machine")) struct CommandTests {
    /// A lap of twenty deadlines for each row.
    static let shortRun = ["--period", "5ms", "--laps", "1", "--quiet"]
    static let json = ["-o", "/dev/stdout"]

    /// The results of a run that writes them as JSON.
    static func results(_ arguments: [String]) async throws -> DecodedResults {
        let outcome = try await Command.run(arguments + json)
        try #require(outcome.code == 0, "\(outcome)")
        // Fails to decode if there is anything but JSON on standard output.
        return try JSONDecoder().decode(DecodedResults.self, from: Data(outcome.output.utf8))
    }

    /// Fault 14: words that clashed, and 38 options.
    @Test func helpExplainsEveryCommandAndOption() async throws {
        let overview = try await Command.run(["--help"])
        #expect(overview.code == 0 && overview.complaint.isEmpty)
        for word in ["run (default)", "show", "against", "doctor", "Examples", "Exit codes"] {
            #expect(overview.output.contains(word), "\(word)")
        }
        for gone in ["diff", "merge", "recommend", "explain", "report ", "list"] {
            #expect(!overview.output.contains("\n  \(gone)"), "\(gone)")
        }
        let run = try await Command.run(["run", "--help"]).output
        let options = [
            "--rows", "--period", "--time", "--timers", "--load", "--deliver", "--clock", "--thread", "--why", "--seed",
            "--quiet", "--need", "-o, --output", "--wide",
        ]
        for option in options { #expect(run.contains("\n  \(option) "), "\(option)") }
        let listed = run.split(separator: "\n").filter { $0.hasPrefix("  -") }
        #expect(listed.count == options.count + 2, "and --version and --help")
        #expect(run.split(separator: "\n").allSatisfy { $0.count <= 80 })
    }

    @Test func theDoctorNamesEveryPropertyWhateverItsRights() async throws {
        let tools = [[], try await Command.canLoseRights() ? ["setpriv", "--bounding-set=-all"] : []]
        for tool in tools {
            let outcome = try await Command.run(["doctor"], by: tool)
            #expect(outcome.code == 0)
            #expect(outcome.complaint.isEmpty)
            let lines = outcome.output.split(separator: "\n")
            for name in [
                "clock source", "clock reading", "timer resolution", "virtual machine", "stolen time",
                "other programs", "frequency governor", "idle states", "idle latency limit", "hyper-threading",
                "preemption", "timer slack", "slice", "real-time throttling", "isolated processors", "processors",
                "processor quota", "real-time priority", "memory locking",
            ] {
                let count = lines.count { $0.dropFirst(9).hasPrefix("\(name)  ") }
                #expect(count == 1, "\(name)")
            }
            #expect(lines.last?.contains(" of 19 limit") == true)
            #expect(!outcome.output.contains("\u{1B}"), "no colour where there is no terminal")
        }
    }

    @Test func aShortRunMeasuresEveryUsualRow() async throws {
        let results = try await Self.results(Self.shortRun)
        #expect(results.schema == 4 && !results.stopped && results.missing.isEmpty)
        let names = results.rows.map(\.row)
        #expect(names.first == "timerfd" && names.suffix(2) == ["task-sleep", "bare"])
        for row in results.rows {
            #expect(row.lateness.count == 1 && row.turns["median_ns"]?.count == 1, "\(row.row)")
            #expect(row.deadlines >= 20, "\(row.row)")
            #expect(row.ticks.early == 0, "\(row.row)")
            // A stall adds missed deadlines, and a hundred deadlines have a p99.
            #expect(row.figures["p50_ns"] != nil, "\(row.row)")
            #expect((row.figures["p99_ns"] != nil) == (row.deadlines >= 100), "\(row.row)")
        }
        #expect(results.rows[0].base == nil && results.rows.dropFirst().allSatisfy { $0.base == "timerfd" })
    }

    /// Fault 8 and fault 10: a run as long as was asked for, with its drift on the screen.
    @Test func aRunTakesTheTimeThatWasAskedFor() async throws {
        let start = ContinuousClock.now
        let outcome = try await Command.run(["--rows", "timerfd,hybrid,bare", "--time", "3s"])
        #expect(outcome.code == 0, "\(outcome)")
        #expect(ContinuousClock.now - start > .seconds(2))
        #expect(
            outcome.complaints == ["measuring timerfd, hybrid, bare under idle for 3 s"],
            "a reader without a terminal"
        )
        let lines = outcome.output.split(separator: "\n")
        #expect(lines[0].hasPrefix("1 ms timer · "))
        #expect(
            lines.contains { $0.contains("p99 (range)") && $0.contains("drift ppm") && $0.hasSuffix("than timerfd") }
        )
        #expect(lines.contains { $0.contains(/^timerfd  .* -?\d+(\.\d)? ± \d+/) })
        #expect(lines.allSatisfy { $0.count <= 80 })
        #expect(!outcome.output.contains("\u{1B}"), "no colour where there is no terminal")
    }

    @Test func aRunOfLongPeriodsEndsInTimeToo() async throws {
        let results = try await Self.results(["--rows", "timerfd,bare", "--period", "300ms", "--time", "4s", "--quiet"])
        #expect(results.origin.seconds < 60)
        #expect(results.rows.allSatisfy { !$0.lateness.isEmpty })
    }

    private static let options = [
        ["--rows", "task-sleep,bare-nanosleep"], ["--timers", "3"], ["--deliver", "queue"],
        ["--deliver", "main"], ["--clock", "wall"], ["--load", "handler:6ms"], ["--load", "idle,busy"],
        ["--load", "cpu:2"], ["--load", "churn:2000"], ["--load", "pending:1000"], ["--load", "memory"],
        ["--rows", "timerfd,timerfd"], ["--period", "250hz"], ["--thread", "slack:1us"], ["--why", "1us"], ["--wide"],
    ]

    @Test(arguments: Effort.some(options))
    func everyOptionMeasures(options: [String]) async throws {
        let results = try await Self.results(Self.shortRun + options)
        let loads = options[0] == "--load" ? options[1].split(separator: ",").map(String.init) : ["idle"]
        #expect(results.rows.map(\.load).reduce(into: []) { if !$0.contains($1) { $0.append($1) } } == loads)
        #expect(results.rows.allSatisfy { $0.deadlines >= 20 })
        switch options {
        case ["--rows", "timerfd,timerfd"]: #expect(results.rows.map(\.row) == ["timerfd", "timerfd#2"])
        case ["--load", "handler:6ms"]:
            #expect((results.rows[0].turns["missed"]?.first ?? 0) > 0, "handlers that work for longer than the period")
        case ["--thread", "slack:1us"]: #expect(results.remarks.contains { $0.contains("not for dispatch") })
        case ["--why", "1us"]: #expect(results.rows.allSatisfy { $0.late != nil })
        default: break
        }
    }

    /// Fault 11: refused wishes were measured anyway, with exit code 0.
    @Test func whatTheSystemRefusesEndsTheCommandBeforeTheMeasurement() async throws {
        for command in [[], ["against", "/bin/false"]] {
            let refused = try await Command.run(command + ["--thread", "cpu:4095"])
            #expect(refused.code == 3 && refused.output.isEmpty)
            #expect(refused.complaints.count == 1 && refused.complaint.hasPrefix("error: the system refuses affinity"))
        }
        let rights = try await Command.canLoseRights() ? ["setpriv", "--bounding-set=-sys_nice"] : nil
        guard let rights else { return }
        let priority = try await Command.run(["--thread", "fifo:80"], by: rights + ["prlimit", "--rtprio=0"])
        #expect(priority.code == 3, "\(priority)")
        #expect(priority.complaint.contains("fifo:80") && priority.complaint.contains("errno 1"))
    }

    /// Fault 14: SIGTERM and SIGHUP lost the results.
    @Test(arguments: [(SIGINT, "Ctrl-C"), (SIGTERM, "SIGTERM"), (SIGHUP, "SIGHUP")])
    func aSignalLeavesWhatWasMeasured(signal: Int32, name: String) async throws {
        let (file, ticks) = (try TemporaryFile(suffix: ".json"), try TemporaryFile(suffix: ".ticks.csv"))
        let path = ticks.path
        let outcome = try await Command.run(
            ["--rows", "timerfd,bare", "--time", "10m", "-o", file.path, "-o", path],
            signal: signal
        ) { Self.lines(of: path) > 100 }
        #expect(outcome.code == 128 + signal)
        #expect(outcome.complaints.last == "stopped by \(name): partial results")
        #expect(outcome.output.contains("\nPARTIAL: stopped after "))
        #expect(outcome.output.contains("no drift of any row"))
        let results = try JSONDecoder().decode(DecodedResults.self, from: Data(file.text.utf8))
        #expect(results.stopped && results.rows.map(\.row) == ["timerfd", "bare"])
        #expect(results.missing.first?.hasPrefix("stopped after ") == true)
        let ticked = results.rows.reduce(0) { $0 + Int($1.figures["ticks"]?.estimate ?? 0) }
        #expect(Self.lines(of: path) == ticked + 1, "every tick that counts is in the file")
    }

    /// Fault 10: interrupted after 8 s it said "no results". A turn that has not ended has none.
    @Test func aSignalBeforeTheFirstTurnSaysSo() async throws {
        let ticks = try TemporaryFile(suffix: ".ticks.csv")
        let path = ticks.path
        let outcome = try await Command.run(["--period", "1m", "--time", "1h", "-o", path], signal: SIGINT) {
            Self.lines(of: path) > 0
        }
        #expect(outcome.code == 130 && outcome.output.isEmpty)
        #expect(outcome.complaints.last == "stopped by Ctrl-C: no lap")
    }

    private static func lines(of path: String) -> Int {
        let text = try? String(contentsOfFile: path, encoding: .utf8)
        return text?.split(separator: "\n").count ?? 0
    }
}

/// The JSON, as a user's program would declare it.
struct DecodedResults: Decodable {
    struct Figure: Decodable {
        let estimate: Double
        let low: Double?
    }

    struct Ticks: Decodable { let early: Int }
    struct Origin: Decodable { let seconds: Double }
    struct Late: Decodable {}

    struct Row: Decodable {
        let row: String
        let load: String
        let base: String?
        let figures: [String: Figure]
        let verdicts: [String: String]
        let turns: [String: [Int]]
        let lateness: [String]
        let ticks: Ticks
        let late: Late?

        var deadlines: Double { figures["deadlines"]?.estimate ?? 0 }
    }

    let schema: Int
    let stopped: Bool
    let missing: [String]
    let remarks: [String]
    let origin: Origin
    let rows: [Row]
}
