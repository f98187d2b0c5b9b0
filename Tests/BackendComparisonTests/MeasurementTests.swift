#if Instrument && DEBUG
import Glibc
import PreciseTimer
import TestSupport
import Testing

@testable import BackendComparison

/// Carrying out a plan.
@Suite(.works("turns measure real ticks and processor time")) struct MeasurementTests {
    /// The default slack of 50 µs would put the floor above what stands on it.
    @Test(.enabled(if: ProcFS.maySchedule, "needs CAP_SYS_NICE to read another thread's slack"))
    func theFloorOfSleepsHasATimerSlackOfOneNanosecond() throws {
        var (slacks, looks): ([Int], Int) = ([], 0)
        var measurement = Measurement(try Short.plan([NamedRow(.bare(.nanosleep))]) { $0.deadlines = 30_000 })
        _ = try? measurement.run { _ in
            slacks += ProcFS.timerSlacks(ofThreadsNamed: "bare.nanosleep")
            looks += 1
            return !slacks.contains(1) && looks < 100
        }
        #expect(slacks.contains(1))
    }

    @Test func everyRowHasATurnInEachLapAndTheMachineIsWatched() throws {
        let names = ["timerfd", "dispatch", "task-sleep", "bare"]
        var measurement = Measurement(try Short.plan(try NamedRow.parse(names.joined(separator: ","))) { $0.laps = 5 })
        #expect(try measurement.run(goesOn: { _ in true }))
        #expect(measurement.rows.map(\.key.row) == names && Set(measurement.policies.keys) == Set(names))
        #expect(measurement.rows.allSatisfy { $0.turns.count == 5 && $0.turns.allSatisfy { $0.median > 0 } })
        #expect(measurement.laps.count == 5 && measurement.machine.loadAverage != nil)
        #expect((0...100).contains(measurement.machine.others ?? 0))
    }

    /// What was measured stays: nothing in the warm-up; the rows after it in the last lap lack a turn.
    @Test(arguments: [(0, [0, 0]), (3, [1, 2])])
    func aStoppedMeasurementKeepsItsTurns(most: Int, kept: [Int]) throws {
        var turns = 0
        var measurement = Measurement(
            try Short.plan([NamedRow(.bare(.timerFD)), NamedRow(.bare(.nanosleep))]) { $0.laps = 100 }
        )
        #expect(try !measurement.run(goesOn: { _ in turns < most }, turnEnded: { _, _, _ in turns += 1 }))
        #expect(measurement.rows.map(\.turns.count).sorted() == kept)
    }

    /// A run loop cannot wait on the wall clock. The command refuses such a row; here it stands for any that fails.
    @Test func aRowThatFailsIsGivenUpAndTheOthersGoOn() throws {
        let rows = try Short.measure([NamedRow(.backend(.runLoop)), NamedRow(.backend(.timerFD))]) { request in
            (request.clock, request.laps) = (.wall, 2)
        }
        #expect(rows[0].turns.isEmpty && rows[0].failure?.contains("wall") == true)
        #expect(rows[1].failure == nil && rows[1].turns.count == 2)
        #expect(throws: Failure.self) {
            try Short.measure([NamedRow(.backend(.runLoop))]) { $0.clock = .wall }
        }
    }
}

@Suite struct ProgressTests {
    private func line(_ stage: String, of row: String = "timerfd", elapsed: Duration, total: Duration = .seconds(12))
        -> String
    { MeasurementProgress(stage: stage, row: row, elapsed: elapsed, total: total).line() }

    /// It stays full when it takes longer.
    @Test func theBarFillsUp() {
        let full = "[========================] lap 3: timerfd, 0 s left"
        let lines = [
            line("warm-up", elapsed: .zero), line("lap 2", elapsed: .seconds(6)),
            line("lap 3", elapsed: .seconds(1_000_000_000)), line("lap 3", elapsed: .nanoseconds(5), total: .zero),
        ]
        let bars = [
            "[                        ] warm-up: timerfd, 12 s left",
            "[============            ] lap 2: timerfd, 6 s left", full, full,
        ]
        #expect(lines == bars)
    }

    @Test func aLongNameIsCutToFitTheLine() {
        let line = line("lap 100", of: "bare-nanosleep#2@handler:200us@some-more", elapsed: .zero)
        #expect(line.count == 79 && line.hasSuffix("…, 12 s left"))
    }
}

/// Short measurements.
enum Short {
    /// One lap of twenty deadlines of 2 ms.
    static func plan(_ rows: [NamedRow], _ change: (inout MeasurementPlan.Request) -> Void = { _ in }) throws
        -> MeasurementPlan
    {
        var request = MeasurementPlan.Request(rows: rows)
        (request.period, request.deadlines, request.laps) = (.milliseconds(2), 20, 1)
        // Some rows tick on the threads of the tests themselves, which other tests may keep busy.
        request.patience = .seconds(120)
        change(&request)
        return try MeasurementPlan(request)
    }

    /// The rows of a whole measurement.
    static func measure(_ rows: [NamedRow], _ change: (inout MeasurementPlan.Request) -> Void = { _ in }) throws
        -> [MeasuredRow]
    {
        var measurement = Measurement(try plan(rows, change))
        _ = try measurement.run(goesOn: { _ in true })
        return measurement.rows
    }
}
#endif
