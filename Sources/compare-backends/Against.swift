internal import ArgumentParser
internal import BackendComparison
internal import FoundationEssentials
internal import HostSystem
internal import PreciseTimer
internal import TimerProbe
internal import TimerReport
internal import TimerResults

/// Compares this build with another.
struct Against: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Compare this build of compare-backends with another, in one run.",
        discussion: """
            In each lap, each build measures in a process of its own, in random order. Two separate runs of one \
            program differ by 5 to 15 %, so use this to see whether a change made timers later. It compares timerfd, \
            unless --rows names other backends. This build may be at most 10 % later at p50, unless --need says \
            otherwise. The other build's rows have names like other:timerfd.

            Example:
              git worktree add ../before main && swift build -c release --package-path ../before
              swift run -c release compare-backends against ../before/.build/release/compare-backends
            """
    )

    @Argument(help: "The executable of the other build.")
    var other: String

    @OptionGroup
    var measurement: MeasurementOptions

    @OptionGroup
    var output: OutputOptions

    func run() throws {
        var console = Console(isQuiet: measurement.quiet)
        let plan = try measurement.plan(usual: [NamedRow(.backend(.timerFD))])
        let rows = plan.plannedRows.map(\.key)
        guard measurement.why == nil, !output.files.contains(where: { $0.format == .ticks }) else {
            throw Problem("--why and ticks.csv work only with run: here each build measures in a process of its own")
        }
        guard rows.allSatisfy({ $0.kind == .backend }) else {
            throw Problem("only backends can be compared between builds: leave other rows out of --rows")
        }
        var output = output
        if output.needs.isEmpty {
            output.needs = plan.request.rows.map { .later($0.name, .p50, percent: 10, than: RowKey.other + $0.name) }
        }
        let earlier = try output.earlier()
        let others = rows.map { RowKey(RowKey.other + $0.row, .peer, load: $0.load) }
        for need in output.needs { try need.check(for: rows + others, earlier: earlier) }
        _ = try plan.askForWishes()
        let files = try output.openFiles()
        var builds = try Builds(other: other, plan: plan, isThisPlanted: !measurement.plant.isEmpty)
        Interrupt.watch()
        console.begin(plan)
        let start = Date.now
        var failure: (any Error)?
        do { while try builds.measureLap(console: &console) {} } catch { failure = error }
        console.clear()
        guard var results = builds.results else { throw failure ?? Exit.failed("nothing was measured") }
        results.origin = Origin(since: start)
        results.isStopped = failure != nil
        try output.finish(Report(results), files, &console, earlier: earlier, failure: failure)
    }
}

/// Two builds of the command, which measure one lap after the other as a user would let them.
private struct Builds {
    private let other: String
    private let plan: MeasurementPlan
    private let isThisPlanted: Bool
    private let start = SystemClock.monotonic.nanoseconds
    private var random: SplitMix64
    private var laps = 0
    /// The laps of both builds up to now; nil before the first.
    private(set) var results: Results?

    /// How long a build may take for a lap beyond its usual time, and how long it may take to say its version.
    private static let patience = Duration.seconds(60)
    private static let longestAnswer = Duration.seconds(10)

    /// Throws `Exit` if the other file is not a build of this command: it does not say so when it is asked.
    init(other: String, plan: MeasurementPlan, isThisPlanted: Bool) throws {
        (self.other, self.plan, self.isThisPlanted) = (other, plan, isThisPlanted)
        random = SplitMix64(seed: plan.request.seed)
        let name = CompareBackends.configuration.commandName ?? ""
        func wrong(_ reason: String) -> Exit {
            .invalid("\(reason): name another build, made with swift build -c release --product \(name)")
        }
        let end: End?
        do { end = try Self.end(of: other, ["--version"], within: Self.longestAnswer) } catch {
            throw wrong("\(error)")
        }
        guard end?.output.hasPrefix("\(name) ") == true else { throw wrong("\(other) is not a build of \(name)") }
    }

    private typealias End = (code: Int32?, output: String, errors: String)

    /// Runs a program to its end; nil if it takes longer. The body is called meanwhile.
    private static func end(
        of program: String,
        _ arguments: [String],
        within time: Duration,
        meanwhile body: () throws -> Void = {}
    ) throws -> End? {
        var child = try ChildProcess(program, arguments)
        let limit = SystemClock.monotonic.nanoseconds + time.wholeNanoseconds
        while SystemClock.monotonic.nanoseconds < limit {
            if let end = child.poll() { return (end.code, child.outputText, child.errorText) }
            try body()
            SystemClock.sleep(for: .milliseconds(5))
        }
        return nil
    }

    private var elapsed: Duration { .nanoseconds(Int64(SystemClock.monotonic.nanoseconds - start)) }

    /// Measures a lap with both builds; chance decides which is first. Returns whether there is to be another.
    mutating func measureLap(console: inout Console) throws -> Bool {
        let seed = random.next() >> 32
        var measured: [Bool: Results] = [:]
        for isThis in Bool.random(using: &random) ? [true, false] : [false, true] {
            let arguments = arguments(seed: seed, isPlanted: isThis && isThisPlanted)
            measured[isThis] = try results(of: isThis ? "/proc/self/exe" : other, arguments, &console)
        }
        guard let this = measured[true], let other = measured[false] else { preconditionFailure("both were measured") }
        if results == nil {
            results = Results(host: this.host, origin: this.origin, options: plan.options, rows: [])
            results?.options.stretch = 0
            results?.remarks = this.remarks
        }
        try results?.add(lapOf: this, and: other)
        laps += 1
        return plan.request.laps.map { laps < $0 } ?? (elapsed < plan.request.time)
    }

    private func results(of program: String, _ arguments: [String], _ console: inout Console) throws -> Results {
        let end = try Self.end(of: program, arguments, within: plan.timeOfLap * 2 + Self.patience) {
            let total = plan.request.laps.map { elapsed / max(laps, 1) * $0 } ?? plan.request.time
            console.show(
                MeasurementProgress(stage: "lap \(laps + 1)", row: "both builds", elapsed: elapsed, total: total)
            )
            if let signal = Interrupt.signal {
                throw Exit.interrupted(by: signal, leaving: laps == 0 ? "no lap" : "partial results")
            }
        }
        guard let end else { throw Exit.failed("\(program) did not end in time") }
        guard end.code == 0 else {
            let reason = end.errors.split(separator: "\n").last ?? "it gave no reason"
            // An option or a row that the other build does not have is no failed measurement.
            let words = "\(program) failed: \(reason)"
            throw end.code == 2 ? Exit.invalid(words) : end.code == 3 ? Exit.refused(words) : Exit.failed(words)
        }
        do { return try JSONFile.decode(Array(end.output.utf8)) } catch {
            throw Exit.invalid("the output of \(program) \(error)")
        }
    }

    private func arguments(seed: UInt64, isPlanted: Bool) -> [String] {
        let (request, options) = (plan.request, plan.options)
        let planted = isPlanted ? request.planted.flatMap { ["--plant", "\($0.row)=\($0.factor)"] } : []
        return [
            "run", "--quiet", "-o", "/dev/stdout", "--laps", "1", "--deadlines", "\(plan.deadlinesPerTurn)",
            "--rows", request.rows.map { $0.name.prefix { $0 != "#" } }.joined(separator: ","), "--seed", "\(seed)",
            "--period", DurationText.format(nanoseconds: options.period), "--timers", "\(request.timers)",
            "--deliver", options.delivery, "--clock", options.clock,
            "--load", request.loads.map(\.name).joined(separator: ","),
        ] + (options.thread.map { ["--thread", $0] } ?? []) + planted
    }
}
