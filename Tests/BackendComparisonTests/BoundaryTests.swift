#if Instrument && DEBUG
import PreciseTimer
import Testing

@testable import BackendComparison

/// Every limit from which on the instrument says something else.
@Suite struct BoundaryTests {
    /// Whether the limit itself is on the side of what is above it.
    private enum Side { case from, above }

    /// A limit, and the distance at which it is looked at from below and from above. Whether a value is beyond it.
    private typealias Limit = (
        name: String, limit: Double, distance: Double, side: Side, isBeyond: @Sendable (Double) throws -> Bool
    )

    /// Whether a good machine with one other fact gets a finding of some level.
    private static func finding(
        _ name: String,
        _ level: MachineFinding.Level,
        _ change: @escaping @Sendable (inout MachineFacts, Double) -> Void
    ) -> @Sendable (Double) throws -> Bool {
        { value in try DiagnosisTests.finding(name) { change(&$0, value) }.level == level }
    }

    /// Whether the words of such a finding match.
    private static func words(
        _ name: String,
        _ part: String,
        _ change: @escaping @Sendable (inout MachineFacts, Double) -> Void
    ) -> @Sendable (Double) throws -> Bool {
        { value in try DiagnosisTests.finding(name) { change(&$0, value) }.found.firstMatch(of: Regex(part)) != nil }
    }

    private static let findings: [Limit] = [
        ("a slow reading", 200, 1, .above, finding("clock reading", .limits) { $0.host.clockRead = $1 }),
        ("a coarse timer", 1, 1, .above, finding("timer resolution", .limits) { $0.resolution = UInt64($1) }),
        ("a step of the clock", 2, 0.1, .from, words("timer resolution", "steps") { $0.clockStep = $1 }),
        ("stolen since the start", 0.1, 0.01, .from, finding("stolen time", .limits) { $0.stolenSinceStart = $1 }),
        ("stolen now", 0.1, 0.01, .from, finding("stolen time", .limits) { $0.stolenNow = $1 }),
        ("a share with one place", 1, 0.01, .from, words("stolen time", #"^\d+\.\d %"#) { $0.stolenSinceStart = $1 }),
        ("other programs", 20, 0.1, .above, finding("other programs", .limits) { $0.othersShare = $1 }),
        ("waiting programs", 10, 0.1, .above, finding("other programs", .limits) { $0.waitingShare = $1 }),
        ("the timer slack", 1_000, 1, .above, finding("timer slack", .usual) { $0.timerSlack = UInt64($1) }),
        ("leaving an idle state", 10_000, 1, .above, finding("idle states", .limits) { $0.idleExit = UInt64($1) }),
        ("a group's time", 100, 1, .from, finding("real-time throttling", .good) { $0.groupRealTimeShare = $1 }),
        (
            "a group's whole percent", 1, 0.1, .from,
            words("real-time throttling", ": 1 %") { $0.groupRealTimeShare = $1 }
        ),
        ("real-time threads", 100, 1, .from, finding("real-time throttling", .good) { $0.realTimeShare = $1 }),
        ("a second processor", 1, 1, .above, finding("processors", .good) { $0.host.usableProcessors = Int($1) }),
        ("mebibytes", 0x1p20, 1, .from, words("memory locking", "MiB") { $0.lockedMemory = UInt64($1) }),
    ]

    /// The words of a state, with what makes it busy.
    private static func isBusy(_ state: MachineState) -> Bool {
        state.isBusy && state.sentence(on: Synthetic.host).contains(/Busy: [a-z]/)
            && state.words(on: Synthetic.host)?.contains(/BUSY: [a-z]/) == true
    }

    /// The kernel counts in hundredths of a second, of which two may be rounding.
    @Sendable private static func isStolen(_ milliseconds: Double) -> Bool {
        var watch = MachineWatch(quota: CPUQuota { _ in nil }, processors: [0])
        var (before, after) = (MachineWatch.Reading(time: 0), MachineWatch.Reading(time: 1_000_000_000))
        before.processors = ProcessorTime(busy: 0, stolen: 0, total: 0)
        after.processors = ProcessorTime(busy: 0, stolen: UInt64(milliseconds) * 1_000_000, total: 0)
        watch.beginLap()
        watch.add(from: before, to: after, under: RowKey.idle)
        return watch.lap.stolen ?? 0 > 0 && watch.state(loadAverage: nil).stolen ?? 0 > 0
    }

    /// Whether so many calm laps are enough to leave out the others.
    private static func count(of laps: Int) -> @Sendable (Double) -> Bool {
        { calm in
            let all = (0..<laps).map { Lap(waiting: Double($0) < calm ? 0 : 99) }
            return Synthetic.results(Synthetic.pair(laps: laps), laps: all).lapsLeftOut > 0
        }
    }

    private static let states: [Limit] = [
        ("others", 20, 0.1, .above, { isBusy(MachineState(others: $0)) }),
        ("others, as words", 20, 0.1, .above, { MachineState(others: $0).words(on: Synthetic.host) != nil }),
        ("waiting", 10, 0.1, .above, { isBusy(MachineState(waiting: $0)) }),
        ("waiting, as words", 10, 0.1, .above, { MachineState(waiting: $0).words(on: Synthetic.host) != nil }),
        ("stolen", 2, 0.1, .above, { isBusy(MachineState(stolen: $0)) }),
        ("stolen, as words", 2, 0.1, .above, { MachineState(stolen: $0).words(on: Synthetic.host) != nil }),
        (
            "stolen beside other programs", 2, 0.1, .above,
            { MachineState(others: 99, stolen: $0).words(on: Synthetic.host)?.contains("guests") == true }
        ),
        ("waiting in a lap", 10, 0.1, .above, { Lap(waiting: $0).isDisturbed }),
        ("stolen in a lap", 2, 0.1, .above, { Lap(stolen: $0).isDisturbed }),
        ("hundredths of stolen time", 30, 10, .from, isStolen),
        ("stops of a quota", 3, 1, .from, { QuotaStops(limit: 1, periods: 300, stops: UInt64($0), share: 0).matters }),
        ("the first stop", 1, 1, .from, { QuotaStops(limit: 1, periods: 66, stops: UInt64($0), share: 0).matters }),
        ("calm laps", 12, 1, .from, count(of: 24)), ("the fewest calm laps", 8, 1, .from, count(of: 10)),
        (
            "processors for the programs of a load", 2, 1, .above,
            { programs in
                let plan = try plan { $0.loads = [.cpu(Int(programs))] }
                return !plan.remarks(foreign: [], on: Synthetic.host).isEmpty
            }
        ),
        (
            "a late tick", 1_000, 1, .above,
            { lateness in
                let watch = LateWatch(threshold: 1_000)
                watch.note(lateness: Int64(lateness), at: 1_000_000)
                return watch.late.count == 1
            }
        ),
        (
            "first ticks", 2, 1, .above,
            { first in
                var late = LateTicks(threshold: 1)
                for cause in [.waited, .waited] + [LateTicks.Cause](repeating: .unseen, count: Int(first)) {
                    late.add(cause)
                }
                return late.words.contains("most of this tail")
            }
        ),
        (
            "patience", 10, 1, .above,
            { wait in
                var patience = Patience(limit: .nanoseconds(10), now: TimerInstant(nanoseconds: 100))
                // A tick begins the wait anew.
                guard !patience.isOver(ticks: 1, now: TimerInstant(nanoseconds: 111)) else { return false }
                return patience.isOver(ticks: 1, now: TimerInstant(nanoseconds: UInt64(111 + wait)))
            }
        ),
        (
            "a look at the progress", 90, 1, .from,
            { milliseconds in
                var pace = ProgressPace()
                // A look that does not count is no new beginning.
                guard pace.isDue(at: .zero), !pace.isDue(at: .milliseconds(50)) else { return false }
                return pace.isDue(at: .milliseconds(1) * milliseconds)
            }
        ),
    ]

    /// Two rows with equal turns of twenty deadlines, of which the second one is looked at.
    private static func advice(_ turn: Turn, _ other: Turn) -> String {
        let rows = [Synthetic.row("timerfd", of: [Turn](repeating: turn, count: 40))]
        return Synthetic.report(of: rows + [Synthetic.row("hybrid", of: [Turn](repeating: other, count: 40))]).advice
            .joined()
    }

    private static func turn(_ lateness: Int64, deadlines: Int = 20, missed: Double = 0, cpu: Double = 1) -> Turn {
        let latenesses = [Int64](repeating: lateness, count: deadlines)
        return Synthetic.turn(latenesses, missed: UInt64(missed), cpu: cpu)
    }

    private static let sentences: [Limit] = [
        (
            "missed in a hopeless row", 1, 1, .above,
            { advice(turn(9, missed: $0), turn(9, missed: 9)).contains("too short a period") }
        ),
        ("a price", 1.5, 0.1, .from, { advice(turn(10_000), turn(100, cpu: $0)).contains("% of a core") }),
        (
            "missed more than the base", 1, 1, .from,
            { advice(turn(10_000, deadlines: 200), turn(100, deadlines: 200, missed: $0)).contains("but it missed") }
        ),
    ]

    private static func refuses(_ change: @escaping @Sendable (inout MeasurementPlan.Request, Double) -> Void)
        -> @Sendable (Double) -> Bool
    { { value in (try? plan { change(&$0, value) }) == nil } }

    private static let requests: [Limit] = [
        ("the shortest period", -1_000, 1, .above, refuses { $0.period = .nanoseconds(-Int64($1)) }),
        ("the longest time", 86_400, 1, .above, refuses { $0.time = .seconds($1) }),
        ("the longest lateness", 86_400, 1, .above, refuses { $0.why = .seconds($1) }),
        ("the longest period", 86_400, 1, .above, refuses { ($0.laps, $0.period) = (1, .seconds($1)) }),
        ("the most laps", 100_000, 1, .above, refuses { $0.laps = Int($1) }),
        ("the fewest laps", 0, 1, .above, { !refuses { $0.laps = Int($1) }($0) }),
        ("the fewest timers", 0, 1, .above, { !refuses { $0.timers = Int($1) }($0) }),
        ("the most timers", 500_000, 1, .above, refuses { $0.timers = Int($1) }),
        ("the most deadlines", 1e7, 1, .above, refuses { ($0.laps, $0.deadlines) = (1, UInt64($1)) }),
        ("the most rows", 50, 1, .above, refuses { ($0.laps, $0.loads) = (1, (1...Int($1)).map { .cpu($0) }) }),
        (
            "the most rows of a file", 200, 1, .above,
            { rows in
                let rows = (0..<Int(rows)).map { Synthetic.row("\($0)", of: [turn(9)]) }
                return Synthetic.results(rows).problem != nil
            }
        ),
        (
            "the most laps of a file", 100_000, 1, .above,
            { laps in
                Synthetic.results(Synthetic.pair(laps: 1), laps: [Lap](repeating: Lap(), count: Int(laps))).problem
                    != nil
            }
        ),
    ]

    private static let limits = findings + states + sentences + requests

    @Test(arguments: limits.indices) func aLimitIsExactlyWhereItIs(_ index: Int) throws {
        let (name, limit, distance, side, isBeyond) = Self.limits[index]
        let found = try [limit - distance, limit, limit + distance].map { try isBeyond($0) }
        #expect(found == [false, side == .from, true], "\(name)")
    }
}
#endif
