import Foundation
import TestSupport
import Testing

/// The command's measurements and output, as a user sees them.
@Suite(.works("the command measures this machine")) struct CommandTests {
    @Test func theListNamesEveryRow() async throws {
        let outcome = try await Command.run(["list"])
        #expect(outcome.code == 0)
        #expect(outcome.complaint.isEmpty)
        for name in [
            "dispatch", "timerfd", "libevent", "runloop", "hybrid", "peer-dispatch-source", "peer-dispatch-after",
            "peer-foundation-timer", "peer-task-sleep", "peer-async-timer", "peer-libevent", "peer-libevent-precise",
            "floor-nanosleep", "floor-timerfd", "cyclictest",
        ] {
            let count = outcome.output.split(separator: "\n").filter { $0.hasPrefix("\(name) ") }.count
            #expect(count == 1, "\(name)")
        }
    }

    @Test func helpExplainsEveryCommandAndOption() async throws {
        let overview = try await Command.run(["--help"])
        #expect(overview.code == 0)
        #expect(overview.complaint.isEmpty)
        for word in [
            "run", "show", "diff", "against", "explain", "report", "merge", "recommend", "doctor", "list", "Examples",
            "Exit codes",
        ] {
            #expect(overview.output.contains(word))
        }
        let run = try await Command.run(["run", "--help"])
        #expect(run.code == 0)
        for option in [
            "--backends", "--peers", "--references", "--period", "--turn", "--laps", "--warmup", "--timers",
            "--deliver", "--clock", "--load", "--realtime", "--affinity", "--timer-slack", "--slice", "--lock-memory",
            "--idle-latency", "--maximum-spin", "--cpu-budget", "--seed", "--quiet", "--format", "--output", "--report",
            "--samples",
            "--histograms", "--baseline", "--fail-if", "--until", "--limit", "--drift", "--wide", "--explain",
            "--junit", "--version",
        ] {
            #expect(run.output.contains("  \(option) "), "\(option)")
        }
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
                "frequency governor", "idle states", "idle latency limit", "hyper-threading", "preemption",
                "timer slack", "slice", "real-time throttling", "isolated processors", "processors", "processor quota",
                "real-time priority", "memory locking",
            ] {
                let count = lines.count { $0.dropFirst(9).hasPrefix("\(name)  ") }
                #expect(count == 1, "\(name)")
            }
            #expect(lines.last?.contains(" of 18 limit") == true)
            #expect(!outcome.output.contains("\u{1B}"), "no colour where there is no terminal")
        }
    }

    @Test func aShortRunMeasuresEveryAvailableBackend() async throws {
        let outcome = try await Command.run(Self.shortRun + ["--format", "json"])
        #expect(outcome.code == 0)
        #expect(outcome.complaints.count == outcome.complaints.filter { $0.hasPrefix("note: ") }.count)
        // Fails to decode if there is anything but JSON on standard output.
        let report = try JSONDecoder().decode(DecodedReport.self, from: Data(outcome.output.utf8))
        #expect(report.schema == 3)
        #expect(!report.partial)
        #expect(report.options.laps == 1)
        #expect(report.rows.map(\.key.row) == report.options.rows)
        #expect(report.options.rows.contains("timerfd"))
        #expect(report.options.rows.contains("floor-timerfd"))
        for row in report.rows where row.key.row != "cyclictest" {
            #expect(row.period_ns == 5_000_000)
            #expect(row.ticks > 0)
            #expect(row.ticks + row.missed >= 20)
            #expect(row.early == 0)
            #expect(row.lateness_ns.min >= 0)
            #expect(row.lateness_ns.min <= row.lateness_ns.p50)
            #expect(row.lateness_ns.p50 <= row.lateness_ns.max)
            // 20 deadlines have no 999th of a thousand.
            #expect(row.lateness_ns.p999 == nil)
        }
    }

    private static let options = [
        ["--peers"], ["--timers", "3"], ["--deliver", "queue"], ["--deliver", "main"], ["--clock", "wall"],
        ["--load", "handler:6ms"], ["--load", "idle", "--load", "cpu:2"], ["--load", "churn:2000"],
        ["--load", "pending:1000"], ["--load", "memory"], ["--backends", "timerfd,timerfd"], ["--period", "250hz"],
    ]

    @Test func aBusyMachineIsMeasuredBesideAnIdleOne() async throws {
        let outcome = try await Command.run(Self.shortRun + ["--load", "busy"])
        #expect(outcome.code == 0, "\(outcome.complaint)")
        let titles = outcome.output.split(separator: "\n").filter { $0.hasPrefix("load ") }
        #expect(titles == ["load idle", "load busy"])
        let json = try await Command.run(Self.shortRun + ["--format", "json", "--load", "busy", "--load", "idle"])
        let report = try JSONDecoder().decode(DecodedReport.self, from: Data(json.output.utf8))
        #expect(report.options.loads == ["idle", "busy"])
    }

    @Test(arguments: Effort.some(options))
    func everyOptionMeasures(options: [String]) async throws {
        let outcome = try await Command.run(Self.shortRun + ["--format", "json"] + options)
        #expect(outcome.code == 0, "\(outcome.complaint)")
        let report = try JSONDecoder().decode(DecodedReport.self, from: Data(outcome.output.utf8))
        let loads = options.indices.filter { options[$0] == "--load" }.map { options[$0 + 1] }
        #expect(report.options.loads == (loads.isEmpty ? ["idle"] : loads))
        #expect(report.rows.count == report.options.rows.count * report.options.loads.count)
        // A busy machine may keep another program from starting at all.
        let silent = report.rows.filter { $0.ticks == 0 && $0.key.row != "cyclictest" }.map(\.key.row)
        #expect(silent.isEmpty)
        if options == ["--peers"] {
            #expect(report.options.rows.filter { $0.hasPrefix("peer-") }.count >= 5)
        }
        if options == ["--backends", "timerfd,timerfd"] {
            #expect(report.options.rows.prefix(2) == ["timerfd", "timerfd#2"])
        }
        if options == ["--load", "handler:6ms"] {
            // Handlers that work for longer than the period miss deadlines.
            let missed = report.rows.first { $0.key.row == "timerfd" }?.missed ?? 0
            #expect(missed > 0)
        }
    }

    @Test func theTableHasALineForEveryRow() async throws {
        let outcome = try await Command.run(Self.shortRun + ["--backends", "timerfd,dispatch"])
        #expect(outcome.code == 0)
        let lines = outcome.output.split(separator: "\n")
        for name in ["timerfd ", "dispatch ", "· floor-nanosleep ", "· floor-timerfd "] {
            #expect(lines.count { $0.hasPrefix(name) } == 1, "\(name)")
        }
        #expect(!outcome.output.contains("\u{1B}"), "no colour where there is no terminal")
    }

    @Test func theTableSaysWhatWasObtainedOfTheSystem() async throws {
        let wishes = ["--realtime", "fifo:10", "--affinity", "0", "--idle-latency", "0"]
        let outcome = try await Command.run(Self.shortRun + ["--backends", "timerfd,dispatch"] + wishes)
        #expect(outcome.code == 0, "\(outcome)")
        // A terminal's lines break anywhere between words.
        let text = outcome.output.split { $0.isWhitespace }.joined(separator: " ")
        // An ordinary user obtains less.
        for option in ["--realtime fifo:10", "--affinity 0", "--idle-latency 0"] { #expect(text.contains(option)) }
        #expect(text.contains("nothing for dispatch, since the ticking thread is not the service's own."))
    }

    @Test func resultsOfOtherSystemOptionsAnswerAnotherQuestion() async throws {
        let run = Self.shortRun + ["--backends", "timerfd", "--references", "none", "--quiet", "--format", "json"]
        let (plain, slack) = (try await Command.run(run), try await Command.run(run + ["--timer-slack", "5us"]))
        #expect(plain.code == 0 && slack.code == 0)
        #expect(!plain.output.contains("system_options") && !plain.output.contains("grants"))
        let files = [try TemporaryFile(plain.output), try TemporaryFile(slack.output)]
        for refused in [["merge", files[0].path, files[1].path], run + ["--baseline", files[1].path]] {
            let outcome = try await Command.run(refused)
            #expect(outcome.code == 2)
            #expect(outcome.complaint.contains("--timer-slack 5us"))
        }
        let diff = try await Command.run(["diff", files[0].path, files[1].path])
        #expect(diff.code == 0)
        #expect(diff.complaint.contains("no system options and --timer-slack 5us"))
    }

    /// An ordinary user may not use real-time policies, and cyclictest demands the right even if it does not use it.
    @Test(
        .enabled("needs cyclictest, setpriv and the right to a real-time priority") {
            try await Command.canLoseRights()
        }
    )
    func withoutTheRightsThatCyclictestDemandsItIsLeftOut() async throws {
        let tool = ["setpriv", "--bounding-set=-sys_nice"]
        let outcome = try await Command.run(Self.shortRun + ["--backends", "timerfd"], by: tool)
        #expect(outcome.code == 0, "\(outcome)")
        #expect(outcome.output.contains("floor-timerfd") && !outcome.output.contains("cyclictest"))
        let list = try await Command.run(["list"], by: tool).output.split(separator: "\n")
        #expect(list.last?.contains("demands the right to a real-time priority") == true)
        let asked = try await Command.run(["--references", "cyclictest"], by: tool)
        #expect(asked.code == 2)
        #expect(asked.complaint.contains("cyclictest is installed, but it demands the right"))
    }

    @Test func controlCBeforeTheFirstTickLeavesNoResults() async throws {
        let (samples, folder) = (try TemporaryFile().path, try TemporaryFile().path)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let outcome = try await Command.run(["--warmup", "60s", "--samples", samples, "--histograms", folder]) {
            // The command creates the folder after it has begun to listen for Ctrl-C.
            FileManager.default.fileExists(atPath: folder)
        }
        #expect(outcome.code == 130)
        #expect(outcome.output.isEmpty)
        #expect(outcome.complaints.last == "stopped by Ctrl-C: no results")
        #expect(!FileManager.default.fileExists(atPath: samples), "no file without results")
    }

    @Test func controlCLeavesPartialResults() async throws {
        let samples = try TemporaryFile()
        let path = samples.path
        let outcome = try await Command.run(
            [
                "--backends", "timerfd", "--references", "none", "--warmup", "10ms", "--turn", "1s", "--laps",
                "100",
                "--format", "json", "--samples", path,
            ]
        ) { Self.lines(of: path) > 1 }
        #expect(outcome.code == 130)
        let report = try JSONDecoder().decode(DecodedReport.self, from: Data(outcome.output.utf8))
        #expect(report.partial)
        #expect(report.rows.map(\.key.row) == ["timerfd"])
        #expect(outcome.complaints.last == "stopped by Ctrl-C: partial results")
        let ticks = report.rows.first?.ticks ?? 0
        #expect(Self.lines(of: path) == ticks + 1, "every tick that counts is in the samples")
    }

    private static func lines(of path: String) -> Int {
        let text = try? String(contentsOfFile: path, encoding: .utf8)
        return text?.split(separator: "\n").count ?? 0
    }

    static let shortRun = ["--period", "5ms", "--turn", "100ms", "--laps", "1", "--warmup", "10ms"]
}

/// The JSON, as a user's program would declare it.
struct DecodedReport: Decodable {
    struct Options: Decodable {
        let rows: [String]
        let loads: [String]
        let laps: Int
    }

    struct Lateness: Decodable {
        let min: Int
        let p50: Int
        let p999: Int?
        let max: Int
    }

    struct Key: Decodable {
        let row: String
        let load: String
    }

    // swift-format-ignore: AlwaysUseLowerCamelCase
    struct Row: Decodable {
        let key: Key
        let period_ns: Int
        let ticks: Int
        let missed: Int
        let early: Int
        let lateness_ns: Lateness
    }

    let schema: Int
    let partial: Bool
    let options: Options
    let rows: [Row]
}
