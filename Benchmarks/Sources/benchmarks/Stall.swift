import ArgumentParser
import Dispatch
import Foundation
import PreciseTimer
import Synchronization

/// The longest time of a call to a service under each load.
struct Stall: Measurement {
    static let configuration = CommandConfiguration(
        abstract: "The longest time that any call takes while a million timers fire, grow, are listed, or end."
    )

    @OptionGroup var options: Options

    static func tables(_ options: Options) throws -> [Table] {
        var seen: [StallRow: [Column: Figures]] = [:]
        for round in options.rounds(with: options.many) {
            for row in StallRow.allCases {
                progress("stall: round \(round + 1): \(row.rawValue)")
                let (reading, extra) = try row.measure(options.many)
                for (column, figure) in figures(reading, extra) {
                    seen[row, default: [:]][column, default: Figures()].values.append(figure)
                }
            }
        }
        return [calls(seen, options), lateness(seen), extras(seen)]
    }

    /// The figures of a row.
    private enum Column {
        case longest
        case control
        case high
        case controlHigh
        case middleLateness
        case highLateness
        case longestLateness
        case calm
        case extra
    }

    private static func figures(_ reading: LoadedService.Reading, _ extra: Double) -> [Column: Double] {
        let (own, control) = (reading.calls.own, reading.calls.control)
        var figures: [Column: Double] = [
            .longest: Double(own.longest),
            .control: Double(control.longest),
            .high: own.percentile(0.9999),
            .controlHigh: control.percentile(0.9999),
            .calm: reading.calm.percentile(0.99),
            .extra: extra,
        ]
        if reading.lateness.count > 0 {
            figures[.middleLateness] = reading.lateness.percentile(0.5)
            figures[.highLateness] = reading.lateness.percentile(0.99)
            figures[.longestLateness] = Double(reading.lateness.longest)
        }
        return figures
    }

    private static func calls(_ seen: [StallRow: [Column: Figures]], _ options: Options) -> Table {
        var table = Table(
            title: "Longest schedule or cancel, N = \(grouped(options.many)) timers; × calls to an idle service",
            columns: ["", "longest", "control", "p99.99", "control p99.99"]
        )
        let rows = StallRow.allCases.map { ($0.rawValue, seen[$0]?[.high]?.ratio(to: seen[$0]?[.controlHigh])) }
        let why =
            "another thread holds the lock for one call or one batch of timers. If the machine stops that thread, the "
            + "call waits as long"
        let reference = "the control's p99.99"
        table.remarks += [Behind.remark(rows, above: Behind.floor, reference, why)].compactMap(\.self)
        for row in StallRow.allCases {
            guard let figures = seen[row] else { continue }
            let cells = [
                figures[.longest]?.text(.time, against: figures[.control]), figures[.control]?.text(.time),
                figures[.high]?.text(.time, against: figures[.controlHigh]), figures[.controlHigh]?.text(.time),
            ]
            table.rows.append([row.rawValue] + cells.map { $0 ?? "–" })
        }
        return table
    }

    private static func lateness(_ seen: [StallRow: [Column: Figures]]) -> Table {
        var table = Table(
            title: "Lateness of a 1 ms timer on the loaded service; × its p99 without the load",
            columns: ["", "p99", "p99 without", "p50", "longest"],
            isDetail: true
        )
        for row in StallRow.allCases {
            guard let figures = seen[row], let high = figures[.highLateness] else { continue }
            let others = [Column.calm, .middleLateness, .longestLateness].map { figures[$0]?.text(.time) ?? "–" }
            table.rows.append([row.rawValue, high.text(.time, against: figures[.calm])] + others)
        }
        let due = [StallRow.equal, .spread].map { ($0.rawValue, seen[$0]?[.highLateness]?.ratio(to: seen[$0]?[.calm])) }
        let why = "a service calls one handler after the other, and the N timers were due before"
        table.remarks = [Behind.remark(due, above: Behind.floor, "the p99 without", why)].compactMap(\.self)
        return table
    }

    private static func extras(_ seen: [StallRow: [Column: Figures]]) -> Table {
        let rows = StallRow.allCases.map { row in
            [row.rawValue, row.extra.name, seen[row]?[.extra]?.text(row.extra.unit) ?? "–"]
        }
        return Table(title: "The load itself", columns: ["", "measured", "figure"], rows: rows, isDetail: true)
    }
}

/// The loads under which calls to a service are timed.
enum StallRow: String, CaseIterable {
    case equal = "N come due at one instant"
    case spread = "N come due within 1 ms"
    case growth = "growing from 0 to 2.1 N"
    case snapshot = "activeTimers with N"
    case lastOfMany = "activeTimers with 1 left of N"
    case shutdown = "shutdown() with N"
    case storm = "4 catching up at 1 ns, beside N"

    /// The figure that the load itself yields.
    var extra: (name: String, unit: Unit) {
        switch self {
        case .equal, .spread: ("from the first tick to the last", .time)
        case .growth: ("longest schedule of the growing thread", .time)
        case .snapshot, .lastOfMany, .shutdown: ("the call itself", .time)
        case .storm: ("ticks per second", .perSecond)
        }
    }

    /// Loads a service with about `count` timers. Returns the watch's reading, and the extra figure.
    func measure(_ count: Int) throws -> (LoadedService.Reading, Double) {
        let loaded = try LoadedService()
        defer { loaded.close() }
        var extra = 0.0
        var timers: [PreciseTimer] = []
        if self == .equal || self == .spread { return try due(count, loaded) }
        if self != .growth { timers = try loaded.fill(count) }
        if self == .lastOfMany { for timer in timers.dropLast() { timer.cancel() } }
        let reading = try loaded.watch {
            switch self {
            case .growth: extra = try grow(count / 10 * 21, loaded)
            case .snapshot, .lastOfMany: extra = Clock.time { _ = loaded.service.activeTimers }
            case .shutdown: extra = Clock.time { loaded.service.shutdown() }
            default:
                for _ in 0..<4 {
                    timers.append(try loaded.timer(.every(.nanoseconds(1)), .catchUp(limit: 100_000)))
                }
                extra = 1e9 / Ticks.price()
                Clock.sleep(milliseconds: 500)
                for timer in timers.suffix(4) { timer.cancel() }
            }
        }
        withExtendedLifetime(timers) {}
        return (reading, extra)
    }

    private func due(_ count: Int, _ loaded: LoadedService) throws -> (LoadedService.Reading, Double) {
        var timers: [PreciseTimer] = []
        let deadline = try Lead.scheduled(count: count) { deadline in
            Ticks.expect(count)
            timers = try (0..<UInt64(count))
                .map { number in
                    let offset = self == .spread ? number * 7_919 % 1_000_000 : 0
                    return try loaded.timer(.once(at: TimerInstant(nanoseconds: deadline + offset)))
                }
            return { for timer in timers { timer.cancel() } }
        }
        Clock.sleep(until: deadline - min(deadline, 60_000_000))
        var extra = 0.0
        let reading = try loaded.watch {
            let (first, last) = try Ticks.wait()
            extra = Double(last - first)
        }
        withExtendedLifetime(timers) {}
        return (reading, extra)
    }

    /// The longest of `count` schedule calls.
    private func grow(_ count: Int, _ loaded: LoadedService) throws -> Double {
        var longest: UInt64 = 0
        for number in 0..<count {
            let start = Clock.now()
            _ = try loaded.timer(.once(after: .nanoseconds(7_200_000_000_000 + number * 1_000)))
            longest = max(longest, Clock.now() - start)
        }
        return Double(longest)
    }
}

/// A service under load, and the watch on its calls.
struct LoadedService {
    /// The times recorded during the load.
    struct Reading {
        var calls = Watch.Record()
        var lateness = TimeBins()
        /// The lateness without the load.
        var calm = TimeBins()
    }

    let service: TimerService
    private let control: TimerService
    private let beat = Beat()
    private let target = Target()
    private let calm: TimeBins

    init() throws {
        service = try TimerService(.timerFD)
        control = try TimerService(.timerFD)
        try beat.start(on: service)
        let watch = Watch(own: service, control: control)
        Clock.sleep(milliseconds: 50)
        _ = beat.take()
        Clock.sleep(milliseconds: 500)
        calm = beat.take()
        _ = watch.stop()
    }

    /// Times calls and ticks while a body runs.
    func watch(_ body: () throws -> Void) rethrows -> Reading {
        let watch = Watch(own: service, control: control)
        Clock.sleep(milliseconds: 20)
        _ = beat.take()
        try body()
        Clock.sleep(milliseconds: 20)
        let lateness = beat.take()
        return Reading(calls: watch.stop(), lateness: lateness, calm: calm)
    }

    /// Schedules timers that are due in two hours and later.
    func fill(_ count: Int) throws -> [PreciseTimer] {
        try (0..<count).map { try timer(.once(after: .nanoseconds(7_200_000_000_000 + $0 * 1_000))) }
    }

    func timer(
        _ schedule: PreciseTimer.Schedule,
        _ policy: PreciseTimer.MissedTickPolicy = .skip
    ) throws -> PreciseTimer {
        try PreciseTimer.schedule(schedule, on: service, missedTicks: policy, target: target) { target, _ in
            target.tick()
        }
    }

    func close() {
        service.shutdown()
        control.shutdown()
    }
}

/// Times every call to a service under load, from one thread. Calls to an idle service alternate with them: they are
/// the control, which shows how long the machine alone makes a call wait.
final class Watch: Sendable {
    /// The times of the calls.
    struct Record: Sendable {
        var own = TimeBins()
        var control = TimeBins()
    }

    private let isStopped = Atomic(false)
    private let hasEnded = DispatchSemaphore(value: 0)
    private let record = Mutex(Record())

    init(own: TimerService, control: TimerService) {
        Thread.detachNewThread { [self] in
            let target = Target()
            var local = Record()
            while !isStopped.load(ordering: .relaxed) {
                Self.timeCalls(to: own, target, &local.own)
                Self.timeCalls(to: control, target, &local.control)
            }
            record.withLock { $0 = local }
            hasEnded.signal()
        }
    }

    func stop() -> Record {
        isStopped.store(true, ordering: .relaxed)
        hasEnded.wait()
        return record.withLock { $0 }
    }

    /// A schedule and a cancel. After a shutdown the schedule is an error, which counts as a call.
    private static func timeCalls(to service: TimerService, _ target: Target, _ histogram: inout TimeBins) {
        let start = Clock.now()
        let timer = try? PreciseTimer.schedule(.once(after: .seconds(3_600)), on: service, target: target) {
            target,
            _ in target.tick()
        }
        let middle = Clock.now()
        timer?.cancel()
        let end = Clock.now()
        histogram.record(middle - start)
        histogram.record(end - middle)
    }
}

/// A 1 ms timer that records its lateness, including that of the deadlines it missed.
private final class Beat: Sendable {
    private let lateness = Mutex(TimeBins())

    func note(_ tick: PreciseTimer.Tick) {
        let late = UInt64(tick.lateness / .nanoseconds(1))
        lateness.withLock { lateness in
            for number in 0...UInt64(tick.missed) { lateness.record(late - min(late, number * 1_000_000)) }
        }
    }

    /// The times recorded since the last call.
    func take() -> TimeBins {
        lateness.withLock { histogram in
            defer { histogram = TimeBins() }
            return histogram
        }
    }

    func start(on service: TimerService) throws {
        try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: self) { $0.note($1) }
    }
}
