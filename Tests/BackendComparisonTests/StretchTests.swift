#if Instrument && DEBUG
import Foundation
import Glibc
import PreciseTimer
import TestSupport
import Testing

@testable import BackendComparison

/// The stretches of several rows at the same time.
@Suite(.works("stretches measure real ticks")) struct StretchTests {
    /// A stretch of 0.3 s, or a third of another time.
    private func plan(_ rows: String, _ change: (inout MeasurementPlan.Request) -> Void = { _ in }) throws
        -> MeasurementPlan
    {
        var request = MeasurementPlan.Request(rows: try NamedRow.parse(rows))
        (request.period, request.time, request.patience) = (.milliseconds(1), .milliseconds(1_000), .seconds(120))
        change(&request)
        return try MeasurementPlan(request)
    }

    private func recordings(_ plan: MeasurementPlan) -> [Result<Recording, Failure>] {
        StretchRun(rows: plan.stretches[0], plan: plan).measure { true }
    }

    @Test(arguments: [HandlerPlace.inline, .main])
    func theDeadlinesOfTheRowsAreSpreadOverThePeriod(_ place: HandlerPlace) throws {
        let plan = try plan("timerfd,dispatch,task-sleep,sleep-for,bare") { ($0.delivery, $0.timers) = (place, 3) }
        let all = try recordings(plan).map { try $0.get() }
        let starts = all.map(\.deadlines.start.nanoseconds)
        #expect(starts.map { $0 - starts[0] } == [0, 200_000, 400_000, 600_000, 800_000])
        // Tasks wait for the threads that other tests keep busy.
        #expect(all[0].ticks > 0 && all[4].ticks > 0 && all.allSatisfy { $0.early == 0 })
        #expect(all.allSatisfy { $0.deadlines.period == 1_000_000 })
    }

    /// A run loop cannot wait on the wall clock.
    @Test func aRowThatFailsIsNamedAndTheOthersGoOn() throws {
        let found = recordings(try plan("runloop,timerfd,bare") { $0.clock = .wall })
        #expect(throws: Failure.self) { try found[0].get() }
        #expect(try found[1].get().ticks > 0 && found[2].get().ticks > 0)
    }

    @Test func aLoadThatHasEndedFailsEachRow() async {
        await #expect(processExitsWith: .success) {
            var request = MeasurementPlan.Request(rows: try NamedRow.parse("timerfd,bare"))
            (request.time, request.loads) = (.seconds(1), [.cpu(1)])
            let plan = try MeasurementPlan(request)
            let found = StretchRun(rows: plan.stretches[0], plan: plan)
                .measure {
                    for child in ProcFS.children(named: "sh") { kill(child, SIGKILL) }
                    return true
                }
            let words = "a program of the load cpu:1 ended: signal 9"
            #expect(found == [.failure(.failed(words)), .failure(.failed(words))])
        }
    }

    /// Ctrl-C in a stretch of 100 s must not lose its drift.
    @Test func aStoppedStretchKeepsItsTicks() async {
        await #expect(processExitsWith: .success) {
            var request = MeasurementPlan.Request(rows: try NamedRow.parse("timerfd,sleep-for"))
            request.time = .seconds(3)
            var measurement = Measurement(try MeasurementPlan(request))
            var looks = 0
            let hasEnded = try measurement.run(goesOn: { progress in
                if progress.stage == "long stretch" { looks += 1 }
                return looks < 6
            })
            #expect(!hasEnded && measurement.rows.allSatisfy { $0.drift != nil && $0.series != nil })
            #expect(measurement.rows.allSatisfy { $0.failure == nil })
        }
    }

    @Test func everyGroupHasItsStretch() throws {
        let plan = try plan("timerfd,sleep-for,bare") { request in
            (request.period, request.time, request.processors) = (.microseconds(200), .seconds(2), 1)
        }
        #expect(plan.stretches.map(\.count) == [1, 2])
        var measurement = Measurement(plan)
        #expect(try measurement.run(goesOn: { _ in true }))
        #expect(measurement.rows.allSatisfy { $0.drift != nil && $0.series != nil && !$0.turns.isEmpty })
        #expect(measurement.rows[1].drift.map { $0.ppm > 0 } == true, "sleep-for runs away")
    }
}

/// The lateness over the time of a stretch.
@Suite struct LatenessSeriesTests {
    private func made(_ points: [(time: UInt64, lateness: Int64)], steps: Int = 200) -> LatenessSeries? {
        LatenessSeries(points.map { Point(time: $0.time, lateness: $0.lateness) }, steps: steps)
    }

    @Test func aStepHasTheMedianAndTheGreatestLatenessOfItsTicks() throws {
        let series = try #require(made([(0, 5), (10, 9), (20, 1), (30, 70), (40, 20), (50, 30)], steps: 2))
        #expect(series.step == 26)
        #expect(series.medians == [5, 30] && series.maxima == [9, 70])
        let empty = made([(0, 5), (1, 6), (2, 7), (90, 8)], steps: 3)
        #expect(empty?.medians == [6, nil, 8] && empty?.maxima == [7, nil, 8], "a step without a tick is empty")
        let points: [(UInt64, Int64)] = (0..<1000).map { tick in (tick * 1_000, Int64(tick * 37 % 101)) }
        #expect(made(points) == made(points.reversed()), "the order of the ticks does not matter")
    }

    @Test func thereAreNoMoreStepsThanDeadlines() {
        // Ten timers tick at each of three deadlines.
        let few = made((0..<30).map { (tick: Int64) in (UInt64(tick / 10) * 1_000_000, tick) })
        #expect(few?.medians == [4, 14, 24] && few?.maxima == [9, 19, 29])
        let many = made((0..<12_345).map { (UInt64($0) * 1_000_000, 1) })
        #expect(many?.medians.count == 200 && many?.medians.contains(nil) == false)
        #expect(made([(0, 5)])?.medians == [5])
        #expect(made([]) == nil)
    }
}

/// How often a stretch without a drift, or with a known one, is taken for another one. The noise promises one of a
/// hundred at most, whatever the machine does.
@Suite struct DriftNoiseTests {
    /// What makes ticks late.
    enum Kind: CaseIterable {
        /// Two levels, 27 and 50 µs, each kept for so many ticks.
        case shortLevels, longLevels, slowLevels
        /// Three stalls of 20 ms, which a timer skips, or catches up with tick by tick.
        case skippedStalls, caughtStalls
        /// Each tick on its own, or beside the tick before it.
        case independent, wandering

        /// The latenesses of a stretch with a tick each millisecond, in µs.
        func latenesses(_ ticks: Int, seed: Int) -> [Double] {
            var random = SplitMix64(seed: UInt64(seed))
            func uniform() -> Double { Double(random.next() >> 11) / 0x1p53 }
            func exponential(_ mean: Double) -> Double { -mean * log(1 - uniform()) }
            func number(_ range: ClosedRange<Int>) -> Int { range.lowerBound + Int(uniform() * Double(range.count)) }
            func levels(of lengths: ClosedRange<Int>) -> [Double] {
                var (isHigh, left) = (uniform() < 0.5, number(1...lengths.upperBound))
                return (0..<ticks)
                    .map { _ in
                        if left == 0 { (isHigh, left) = (!isHigh, number(lengths)) }
                        left -= 1
                        return (isHigh ? 50 : 27) + 8 * (uniform() - 0.5)
                    }
            }
            switch self {
            case .shortLevels: return levels(of: 5...50)
            case .longLevels: return levels(of: 50...500)
            case .slowLevels: return levels(of: 500...5_000)
            case .independent: return (0..<ticks).map { _ in exponential(30) }
            case .wandering:
                var wander = 0.0
                return (0..<ticks)
                    .map { _ in
                        wander = 0.98 * wander + 4 * uniform() - 2
                        return 50 + wander + 20 * uniform() - 10
                    }
            case .skippedStalls, .caughtStalls:
                var latenesses = (0..<ticks).map { _ in 27 + exponential(5) }
                for _ in 0..<3 {
                    let first = number(0...ticks - 21)
                    for tick in 0..<(self == .caughtStalls ? 20 : 1) {
                        latenesses[first + tick] += 1000 * Double(20 - tick)
                    }
                }
                return latenesses
            }
        }

        func drift(_ ticks: Int, ppm: Double, seed: Int) -> StretchDrift? {
            let points = latenesses(ticks, seed: seed).enumerated()
                .map { tick, lateness in
                    Point(time: UInt64(tick) * 1_000_000, lateness: Int64(1000 * lateness + Double(tick) * ppm))
                }
            return StretchDrift(points)
        }
    }

    /// The series of a quarter of a second, of short runs, and of a default run.
    private static let series: [(kind: Kind, ticks: Int, count: Int)] = Kind.allCases.flatMap { kind in
        [(250, 300), (1000, 300), (4000, 100), (10_000, 50)].map { (kind, $0, Effort.of($1, thorough: 1000)) }
    }

    @Test(arguments: Effort.some(series))
    func aStretchIsTakenForAnotherDriftInOneOfAHundredAtMost(kind: Kind, ticks: Int, count: Int) {
        let ppm = 0.3
        let wrong = (1...count)
            .count { seed in
                guard let drift = kind.drift(ticks, ppm: ppm, seed: seed) else { return true }
                return abs(drift.ppm - ppm) > drift.noise
            }
        #expect(wrong <= count / 100, "\(wrong) of \(count)")
    }

    /// Ramps that are found in at least half of the stretches.
    private static let ramps = [
        (Kind.shortLevels, 1000, 120.0), (.longLevels, 1000, 130), (.independent, 1000, 55), (.shortLevels, 4000, 26),
        (.longLevels, 4000, 32), (.independent, 4000, 7), (.shortLevels, 10_000, 10), (.longLevels, 10_000, 12),
        (.independent, 10_000, 2),
    ]

    @Test(arguments: Effort.some(ramps))
    func aGreatDriftIsSeen(kind: Kind, ticks: Int, ppm: Double) {
        let seen = (1...50)
            .count { seed in kind.drift(ticks, ppm: ppm, seed: seed).map { $0.ppm > $0.noise } ?? false }
        #expect(seen >= 25, "\(seen) of 50")
    }

    @Test func aLoopWithoutAGridFallsBehindByNoMoreThanTheTimeThatPasses() {
        // It needs 60 µs for each period of 1 µs.
        let hopeless = (0..<10_000).map { Point(time: $0 * 1_000, lateness: 59_000 * Int64($0)) }
        let drift = StretchDrift(hopeless, keepsGrid: false)
        #expect(drift.map { abs($0.ppm - 983_333) < 100 && $0.noise < 3_000 } == true)
        // Of too few ticks nothing is known.
        #expect(StretchDrift(Array(hopeless.prefix(100)), keepsGrid: false) == nil)
    }
}
#endif
