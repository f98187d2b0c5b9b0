internal import FoundationEssentials
internal import HostSystem
internal import PreciseTimer
internal import TimerProbe
internal import TimerReport
internal import TimerResults

/// Two builds of the command, which measure one lap after the other as a user would let them.
struct Builds {
    private let other: String
    private let plan: MeasurementPlan
    /// The changes that are planted into this build's rows.
    private let planted: [Planting]
    private let start = SystemClock.monotonic.nanoseconds
    private var random: SplitMix64
    private var rounds: [Round] = []
    /// The laps of the round that is being measured.
    private var open: [LapOfBuilds] = []
    /// The facts that every lap repeats.
    private var first: LapOfBuilds?
    /// The number of complete laps.
    private(set) var laps = 0

    /// How long a build may take for a lap beyond its usual time.
    private static let patience = Duration.seconds(60)

    init(other: String, plan: MeasurementPlan, planted: [Planting]) {
        self.other = other
        self.plan = plan
        self.planted = planted
        random = SplitMix64(seed: plan.seed)
    }

    /// Measures a lap with both builds; chance decides which is first.
    mutating func measure(_ goesOn: (Progress) -> Bool) throws {
        let seed = random.next() >> 32
        var measured: [Bool: Results] = [:]
        for isThis in Bool.random(using: &random) ? [true, false] : [false, true] {
            let arguments = arguments(seed: seed, planted: isThis ? planted : [])
            measured[isThis] = try results(of: isThis ? "/proc/self/exe" : other, arguments, goesOn)
        }
        guard let this = measured[true], let other = measured[false] else { preconditionFailure("both were measured") }
        let lap = try LapOfBuilds(this: this, other: other)
        first = first ?? lap
        open.append(lap)
        laps += 1
        if open.count == plan.lapsPerRound { closeRound() }
    }

    /// The origin of the other build's first lap.
    var originOfOther: Origin? { first?.other.origins.first }

    private mutating func closeRound() {
        rounds.append(Round(of: open))
        open = []
    }

    /// All laps up to now.
    ///
    /// - Parameter isWhole: whether no more laps are wanted.
    /// - Returns: the rows of both builds; nil before the first lap.
    func results(isWhole: Bool) -> Results? {
        guard let first else { return nil }
        var options = plan.options
        options.rows = options.rows.flatMap { [$0, RowKey.other + $0] }
        if isWhole { options.laps = laps }
        return Results(
            hosts: first.this.hosts,
            options: options,
            remarks: first.this.remarks,
            grants: first.grants,
            rounds: rounds + (open.isEmpty ? [] : [Round(of: open)])
        )
    }

    private func results(
        of program: String,
        _ arguments: [String],
        _ goesOn: (Progress) -> Bool
    ) throws -> Results {
        var child = try ChildProcess(program, arguments)
        let limit = SystemClock.monotonic.nanoseconds + (longestLap + Self.patience).wholeNanoseconds
        while true {
            if let end = child.poll() {
                guard end.code == 0 else {
                    let reason = child.errorText.split(separator: "\n").last.map(String.init) ?? "it gave no reason"
                    throw Exit.failed("\(program) failed: \(reason)")
                }
                do { return try JSONFile.decode(Array(child.outputText.utf8)) } catch {
                    throw Exit.failed("the output of \(program) \(error)")
                }
            }
            guard goesOn(progress) else {
                throw Exit.interrupted(leaving: laps == 0 ? "no results" : "partial results")
            }
            guard SystemClock.monotonic.nanoseconds < limit else { throw Exit.failed("\(program) does not end") }
            SystemClock.sleep(for: .milliseconds(5))
        }
    }

    private var longestLap: Duration { plan.timeOfLap + plan.warmUp * plan.plannedRows.count }

    private func arguments(seed: UInt64, planted: [Planting]) -> [String] {
        let backends = plan.rows.compactMap { row in
            if case .backend(let backend) = row.mechanism { backend.rawValue } else { nil }
        }
        let options = plan.options
        return [
            "run", "--quiet", "--format", "json", "--references", "none", "--laps", "1",
            "--backends", backends.joined(separator: ","), "--seed", "\(seed)", "--timers", "\(plan.timers)",
            "--period", DurationText.format(nanoseconds: options.period),
            "--turn", DurationText.format(nanoseconds: options.turn),
            "--warmup", DurationText.format(nanoseconds: options.warmUp),
            "--deliver", options.delivery, "--clock", options.clock,
        ] + plan.wishes.arguments + options.loads.flatMap { ["--load", $0] }
            + planted.flatMap { ["--plant", "\($0.row)=\($0.factor)"] }
    }

    private var progress: Progress {
        let elapsed = Duration.nanoseconds(Int64(SystemClock.monotonic.nanoseconds - start))
        let total = laps > 0 ? elapsed / laps * plan.laps : longestLap * 2 * plan.laps
        return Progress(stage: .lap(laps + 1, of: plan.laps), row: "both builds", elapsed: elapsed, total: total)
    }
}
