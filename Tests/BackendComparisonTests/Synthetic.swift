#if Instrument && DEBUG
@testable import BackendComparison
import Testing

/// As an argument of a test, without each of its figures.
extension Report: CustomTestStringConvertible {
    package var testDescription: String { "a report of \(rows.map(\.row.key.row).joined(separator: ", "))" }
}

/// Results of measurements that never happened.
enum Synthetic {
    /// A turn of one timer with a period of 1 ms, 1 % of a processor, and one wake-up for each tick.
    ///
    /// - Parameters:
    ///   - latenesses: nanoseconds, one for each deadline, in any order.
    ///   - missed: how many of them belong to deadlines without a tick.
    ///   - cpu: percent of a processor; nil if the kernel shows no account.
    /// - Returns: the turn.
    static func turn(_ latenesses: [Int64], missed: UInt64 = 0, cpu: Double? = 1) -> Turn {
        let ordered = latenesses.sorted()
        let ticks = cpu.map { _ in Int64(latenesses.count) - Int64(missed) }
        return Turn(
            median: UInt64(max(ordered[(ordered.count - 1) / 2], 0)),
            lateness: SparseHistogram(latenesses),
            missed: missed,
            cpu: cpu.map { Int64(Double(latenesses.count) * 10_000 * $0) },
            wakeUps: ticks,
            switches: ticks,
            elapsed: UInt64(latenesses.count) * 1_000_000,
            runDelay: cpu.map { _ in 0 }
        )
    }

    /// A row of turns.
    static func row(
        _ name: String,
        _ kind: RowKey.Kind = .backend,
        load: String = RowKey.idle,
        of turns: [Turn],
        drift: StretchDrift? = StretchDrift(ppm: 0.4, noise: 3)
    ) -> MeasuredRow {
        var row = MeasuredRow(RowKey(name, kind, load: load))
        row.turns = turns
        row.ticks = SparseHistogram(sumOf: turns.map(\.lateness))
        row.drift = drift
        return row
    }

    /// A row with a turn for each lateness, which all its deadlines have.
    static func steady(_ name: String, _ kind: RowKey.Kind = .backend, at nanoseconds: [Int64], deadlines: Int = 20)
        -> MeasuredRow
    { row(name, kind, of: nanoseconds.map { turn([Int64](repeating: $0, count: deadlines)) }) }

    /// A row whose lateness is some nanoseconds in the middle, with noise, and a tail: nanoseconds that are added to a
    /// share of the deadlines, from 0 to 1. Each turn misses some deadlines, which are 5 ms late. The price is in
    /// percent.
    static func row(
        _ name: String,
        _ kind: RowKey.Kind = .backend,
        load: String = RowKey.idle,
        lateness: Double,
        laps: Int = 40,
        tail: Double = 0,
        share: Double = 0,
        missed: UInt64 = 0,
        cpu: Double? = 1,
        seed: UInt64 = 1
    ) -> MeasuredRow {
        var random = SplitMix64(seed: seed &+ UInt64(name.utf8.reduce(0) { $0 &* 31 &+ UInt64($1) }))
        let turns = (0..<laps)
            .map { _ in
                let served = (0..<20 - missed)
                    .map { _ in
                        let isLate = Double.random(in: 0..<1, using: &random) < share
                        return Int64(lateness * .random(in: 0.75..<1.25, using: &random) + (isLate ? tail : 0))
                    }
                return turn(served + (0..<missed).map { _ in 5_000_000 }, missed: missed, cpu: cpu)
            }
        return row(name, kind, load: load, of: turns)
    }

    /// A loop that keeps no grid, and becomes later by 62 ms each second.
    static func runaway(load: String = RowKey.idle, ppm: Double = 62_000, noise: Double = 3_000) -> MeasuredRow {
        var row = row("sleep-for", .relative, load: load, lateness: 600, cpu: 3)
        row.drift = StretchDrift(ppm: ppm, noise: noise)
        return row
    }

    /// A stretch of 10 s with a tick for each ms. Each lateness, in nanoseconds, is that of the seconds since the
    /// beginning, with noise.
    static func series(_ lateness: (Double) -> Double) -> LatenessSeries? {
        var random = SplitMix64(seed: 1)
        let points = (0..<10_000)
            .map { tick in
                let noisy = lateness(Double(tick) / 1_000) * .random(in: 0.8..<1.2, using: &random)
                return Point(time: UInt64(tick) * 1_000_000, lateness: Int64(noisy))
            }
        return LatenessSeries(points)
    }

    static func host(
        kernel: String = "6.1",
        machine: String = "x86_64",
        cpu: String? = "A CPU",
        processors: Int = 2,
        build: Host.Build = .release
    ) -> Host {
        var host = Host(
            system: "Linux",
            kernel: kernel,
            machine: machine,
            cpu: cpu,
            processors: processors,
            build: build
        )
        (host.clockSource, host.governor, host.hypervisor) = ("tsc", "performance", true)
        (host.usableProcessors, host.clockRead) = (2, 26.1)
        return host
    }

    static let host = host()

    /// Results of rows with 30 s on a quiet machine.
    static func results(
        _ rows: [MeasuredRow],
        machine: MachineState = MachineState(others: 1, waiting: 0.2, stolen: 0, loadAverage: 0.3),
        laps: [Lap]? = nil,
        isStopped: Bool = false
    ) -> Results {
        let origin = Origin(date: "2026-05-01T12:00:00Z", seconds: 30, version: "0.1.0")
        var results = Results(
            host: host,
            origin: origin,
            options: Options(period: 1_000_000, turn: 20_000_000),
            rows: rows
        )
        results.options.stretch = 1_000_000_000
        results.machine = machine
        results.laps = laps ?? (0..<(rows.map(\.turns.count).max() ?? 0)).map { _ in Lap(waiting: 0, stolen: 0) }
        results.isStopped = isStopped
        return results
    }

    /// The rows of most tests: a default run.
    static let rows = [
        row("timerfd", lateness: 39_000, tail: 200_000, share: 0.06, cpu: 2),
        row("dispatch", lateness: 46_000, tail: 200_000, share: 0.06, cpu: 3),
        row("hybrid", lateness: 120, tail: 60_000, share: 0.02, cpu: 9),
        row("task-sleep", .peer, lateness: 80_000, tail: 3_000_000, share: 0.05, cpu: 9),
        row("bare", .bare, lateness: 39_000, tail: 200_000, share: 0.06, cpu: 2),
    ]

    /// These rows with one of them changed.
    static func rows(changing place: Int, _ change: (inout MeasuredRow) -> Void) -> [MeasuredRow] {
        var rows = rows
        change(&rows[place])
        return rows
    }

    /// The default backend, and one that is earlier by 40 µs.
    static func pair(load: String = RowKey.idle, laps: Int = 40, base: Double = 40_000) -> [MeasuredRow] {
        [row("timerfd", load: load, lateness: base, laps: laps), row("hybrid", load: load, lateness: 100, laps: laps)]
    }

    /// A default run on a quiet machine, computed once.
    static let report = Report(results(rows))

    /// A run of other rows on a quiet machine.
    static func report(of rows: [MeasuredRow]) -> Report { Report(results(rows)) }
}
#endif
