#if Instrument && DEBUG
import Foundation
import Glibc
import PreciseTimer
import TestSupport
import Testing

@testable import BackendComparison

/// The command's measurements and output, as a user sees them.
@Suite(.works("the command measures this machine")) struct CommandTests {
    /// A lap of twenty deadlines for each row.
    static let shortRun = ["--period", "5ms", "--laps", "1", "--quiet"]

    /// There were 38 options.
    @Test func helpExplainsEveryCommandAndTheFewOptions() async throws {
        let overview = try await Command.run(["--help"])
        #expect(overview.code == 0 && overview.complaint.isEmpty)
        let words = ["run (default)", "show", "doctor", "Examples", "Exit codes"]
        #expect(words.filter { !overview.output.contains($0) } == [])
        let lines = try await Command.run(["run", "--help"]).output.split(separator: "\n")
        #expect(lines.count { $0.hasPrefix("  -") } == 16)
        #expect(NamedRow.all.filter { row in !lines.contains { $0.contains(row.name) } } == [])
        #expect(lines.allSatisfy { $0.count <= 80 })
    }

    /// Whatever its rights, and also in a zone that Foundation does not know: here, a rule of an offset that none has.
    @Test func theDoctorNamesEveryProperty() async throws {
        let rights = try await Command.canLoseRights() ? ["setpriv", "--bounding-set=-all"] : []
        let zones: [([String], String)] = [
            (["TZ=Etc/UTC"], "\ngood     time zone             UTC+00:00, as in Foundation"),
            (["TZ=ABC-3:17"] + rights, "\ndiffers  time zone             UTC+03:17, in Foundation"),
        ]
        for (tool, zone) in zones {
            let outcome = try await Command.run(["doctor"], by: tool)
            #expect(outcome.code == 0 && outcome.complaint.isEmpty, "\(outcome)")
            let lines = outcome.output.split(separator: "\n")
            #expect(lines.count { $0.contains(/^(good|usual|limits|differs|unknown) +[a-z]/) } == 20, "\(outcome)")
            #expect(lines.last?.contains(" of 20 limit") == true)
            #expect(outcome.output.contains(zone), "\(outcome.output)")
            #expect(!outcome.output.contains("\u{1B}"), "no colour where there is no terminal")
        }
    }

    /// Swift has no arguments then, and a command without arguments measures for half a minute.
    @Test func withoutProcItRefusesToGuessItsArguments() async throws {
        let hiding = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /proc && exec \"$@\"", "sh"]
        guard try await Command.run(["--version"], by: ["unshare", "--mount"]).code == 0 else { return }
        let outcome = try await Command.run(["--version"], by: hiding)
        #expect(outcome.code == 1 && outcome.output.isEmpty && outcome.complaint.contains("/proc"), "\(outcome)")
    }

    /// Fault 8 and fault 10: a run of the usual rows, as long as was asked for, with its drift on the screen.
    @Test func aRunTakesTheTimeThatWasAskedFor() async throws {
        let start = ContinuousClock.now
        let outcome = try await Command.run(["--time", "2s"])
        #expect(outcome.code == 0 && ContinuousClock.now - start > .seconds(1), "\(outcome)")
        // A reader without a terminal.
        let names = NamedRow.usual(on: .suspending).map(\.name)
        #expect(outcome.complaints.last == "measuring \(names.joined(separator: ", ")) under idle for 2 s")
        let lines = outcome.output.split(separator: "\n")
        #expect(lines[0].hasPrefix("1 ms timer · ") && lines.allSatisfy { $0.count <= 80 })
        #expect(lines.contains { $0.contains(/^timerfd  .* -?\d+(\.\d)? ± \d+/) })
        #expect(names.filter { name in !lines.contains { $0.hasPrefix("\(name) ") } } == [])
        #expect(!outcome.output.contains("\u{1B}"), "no colour where there is no terminal")
    }

    /// Fault 11: refused wishes were measured anyway, with exit code 0.
    @Test func whatTheSystemRefusesEndsTheCommandBeforeTheMeasurement() async throws {
        let refused = try await Command.run(["--thread", "cpu:4095"])
        #expect(refused.code == 3 && refused.output.isEmpty)
        #expect(refused.complaints.count == 1 && refused.complaint.hasPrefix("error: the system refuses affinity"))
        guard try await Command.canLoseRights() else { return }
        let tools = ["setpriv", "--bounding-set=-sys_nice", "prlimit", "--rtprio=0"]
        let priority = try await Command.run(["--thread", "fifo:80"], by: tools)
        #expect(priority.code == 3 && priority.complaint.contains(/fifo:80.*errno 1/), "\(priority)")
    }

    /// SIGTERM and SIGHUP lost the results.
    @Test(arguments: [(SIGINT, "Ctrl-C"), (SIGTERM, "SIGTERM"), (SIGHUP, "SIGHUP")])
    func aSignalLeavesWhatWasMeasured(signal: Int32, name: String) async throws {
        let (file, ticks) = (try TemporaryFile(suffix: ".json"), try TemporaryFile(suffix: ".ticks.csv"))
        let path = ticks.path
        let outcome = try await Command.run(
            ["--rows", "timerfd,bare", "--time", "10m", "-o", file.path, "-o", path],
            by: Self.undisturbed,
            signal: signal
        ) { Self.lines(of: path) > 100 }
        #expect(outcome.code == 128 + signal)
        #expect(outcome.complaints.last == "stopped by \(name): partial results")
        #expect(outcome.output.contains(/\nPARTIAL: stopped after .*no drift for any row/))
        let results = try JSONFile.decode(file.text.utf8)
        #expect(results.isStopped && results.rows.map(\.key.row) == ["timerfd", "bare"])
        let ticked = results.rows.reduce(0) { $0 + $1.ticks.count }
        #expect(Self.lines(of: path) == Int(ticked) + 1, "every tick that counts is in the file")
    }

    /// Fault 10: interrupted after 8 s it said "no results". A turn that has not ended has none.
    @Test func aSignalBeforeTheFirstTurnSaysSo() async throws {
        let ticks = try TemporaryFile(suffix: ".ticks.csv")
        let path = ticks.path
        let run = ["--period", "1m", "--time", "1h", "-o", path]
        let outcome = try await Command.run(run, by: Self.undisturbed, signal: SIGINT) { Self.lines(of: path) > 0 }
        #expect(outcome.code == 130 && outcome.output.isEmpty)
        #expect(outcome.complaints.last == "stopped by Ctrl-C: no lap")
    }

    /// A run under nohup hands down signals that are ignored, and the command rightly goes on then. And no command
    /// outlives a test that was killed.
    private static let undisturbed = ["setpriv", "--pdeathsig=KILL", "env", "--default-signal"]

    private static func lines(of path: String) -> Int {
        let text = try? String(contentsOfFile: path, encoding: .utf8)
        return text?.split(separator: "\n").count ?? 0
    }
}

/// The built command, run as a child.
enum Command {
    static let path = Child.path(of: "compare-backends")
    /// Results on standard output, as JSON.
    static let json = ["-o", "/dev/stdout"]
    /// The locale of the tests, whatever the one of the shell is.
    static let locale = ["LC_ALL": "C.UTF-8"]

    /// Runs the command to its end.
    ///
    /// - Parameters:
    ///   - arguments: the arguments of the command.
    ///   - output: the file of the results; nil for a file that the outcome shows.
    ///   - tool: a program with its arguments, or variables, that runs the command, as `setpriv`.
    ///   - redirection: a shell's redirection of descriptors, as `>&-`.
    ///   - signal: the signal that ends the run.
    ///   - isTime: whether it is time for the signal; nil for a run without one.
    /// - Returns: the outcome of the run.
    /// - Throws: an error if the command cannot be started.
    static func run(
        _ arguments: [String],
        output: FileHandle? = nil,
        by tool: [String] = [],
        redirection: String = "",
        signal: Int32 = SIGINT,
        once isTime: (@Sendable () -> Bool)? = nil
    ) async throws -> Child.Outcome {
        let shell = redirection.isEmpty ? [] : ["sh", "-c", "exec \"$0\" \"$@\" \(redirection)"]
        let program = (tool.isEmpty ? [] : ["env"] + tool) + shell + [path]
        return try await Child.run(program + arguments, environment: locale, output: output) { id in
            guard let isTime else { return }
            while !ProcFS.mainThreadHasEnded(id), !isTime() { pause(.milliseconds(20)) }
            kill(id, signal)
        }
    }

    /// Whether this process has the right to a real-time priority, and a program can be run without it.
    static func canLoseRights() async throws -> Bool {
        let tools = "command -v prlimit && chrt -f 1 true && setpriv --bounding-set=-sys_nice true"
        return try await Child.run(["sh", "-c", tools]).code == 0
    }
}

/// A saved measurement, in which the p99 of timerfd is 67 µs, with a range.
enum Sample {
    static let folder = URL(filePath: #filePath).appending(path: "../../Samples").standardized
    static let whole = folder.appending(path: "idle.json").path

    /// Three of its rows: the command takes long to show all.
    static func file() throws -> TemporaryFile { try TemporaryFile(try text.get(), suffix: ".json") }

    private static let text = Result {
        let data = try Data(contentsOf: URL(filePath: whole))
        var object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let rows = try #require(object["rows"] as? [[String: Any]])
        object["rows"] = rows.filter { ["timerfd", "dispatch", "bare"].contains($0["row"] as? String) }
        return String(decoding: try JSONSerialization.data(withJSONObject: object), as: UTF8.self)
    }
}

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
