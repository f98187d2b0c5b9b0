import Foundation
import ResultsSupport
import Testing
import TimerResults

/// Figures and comparisons of rows.
@Suite struct ReportTests {
    private func row(_ name: String, load: String = RowKey.idle, in report: Report = Synthetic.report) throws
        -> RowReport
    {
        try #require(report.row(name, load: load))
    }

    @Test func theBaseIsAlwaysTheDefaultBackend() throws {
        #expect(Synthetic.report.rows.map { $0.base?.row } == [nil, "timerfd", "timerfd", "timerfd", "timerfd"])
        let results = Synthetic.results(Array(Synthetic.rows.dropFirst()))
        #expect(Report(results).rows.map { $0.base?.row } == [nil, "dispatch", "dispatch", "dispatch"])
    }

    @Test func anotherBuildIsTheBaseOfItsRow() {
        let rows = [
            Synthetic.row("timerfd", lateness: 40_000), Synthetic.row("hybrid", lateness: 100),
            Synthetic.row("other:timerfd", .peer, lateness: 40_000),
            Synthetic.row("other:hybrid", .peer, lateness: 100),
        ]
        let report = Report(Synthetic.results(rows))
        #expect(report.rows.map { $0.base?.row } == ["other:timerfd", "other:hybrid", nil, nil])
    }

    @Test func differencesAreTimes() throws {
        let dispatch = try row("dispatch")
        let difference = try #require(dispatch.difference)
        #expect(dispatch.p50Ratio?.verdict == .later)
        #expect(abs(difference.value - 7_000) < 1_500)
        #expect(try #require(difference.interval).contains(difference.value))
        let hybrid = try row("hybrid")
        #expect(hybrid.p50Ratio?.verdict == .earlier)
        #expect(abs((hybrid.difference?.value ?? 0) + 39_000) < 1_500)
        #expect(try row("bare").p50Ratio?.verdict == .same)
    }

    /// Fault 7: "libevent 60, timerfd 133 … the same": the column was of other numbers than the verdict. Here a third
    /// of timerfd's turns are slow, so its pooled median is far from that of its laps.
    @Test func theShownMiddleIsTheOneOfTheVerdict() throws {
        let slow = Synthetic.row("timerfd", lateness: 400_000, laps: 13).turns
        let quick = Synthetic.row("timerfd", lateness: 40_000, laps: 27).turns
        let rows = [
            Synthetic.row("timerfd", of: quick + slow), Synthetic.row("libevent", lateness: 60_000),
            Synthetic.row("hybrid", lateness: 100),
        ]
        let report = Report(Synthetic.results(rows))
        for row in report.rows.dropFirst() {
            let (shown, base) = (try #require(row.p50).value, try #require(report.rows[0].p50).value)
            let ratio = try #require(row.p50Ratio).estimate.value
            #expect(abs(shown / base / ratio - 1) < 1e-9, "\(row.key)")
            #expect(abs((row.difference?.value ?? 0) - (shown - base)) < 1e-6, "\(row.key)")
        }
    }

    /// Fault 5: p99 meant that of the ticks in one place, and that of all deadlines in another.
    @Test func everyPercentileIsOfAllDeadlines() throws {
        let turns = (0..<20).map { _ in Synthetic.turn([10, 10, 10, 10] + [9_000_000, 8_000_000], missed: 2) }
        let report = Report(Synthetic.results([Synthetic.row("timerfd", of: turns)]))
        #expect(abs((try row("timerfd", in: report).p99?.value ?? 0) / 9_000_000 - 1) < 0.02)
        #expect(try row("timerfd", in: report).deadlines == 120)
    }

    @Test func aLatenessOfZeroIsCompared() throws {
        let rows = [
            Synthetic.row("timerfd", lateness: 40_000),
            Synthetic.row("hybrid", of: (0..<40).map { _ in Synthetic.turn([Int64](repeating: 0, count: 20)) }),
        ]
        let hybrid = try row("hybrid", in: Report(Synthetic.results(rows)))
        #expect(hybrid.p50Ratio?.verdict == .earlier)
        #expect(abs((hybrid.difference?.value ?? 0) + 40_000) < 1_000)
    }

    @Test func aBrokenPromiseIsReported() {
        var row = Synthetic.rows[0]
        row.problem = "1 of 20 ticks came before their deadline"
        let report = Report(Synthetic.results([row]))
        #expect(report.problems == ["timerfd: 1 of 20 ticks came before their deadline"])
    }

    @Test func aRowWithoutATurnHasNoLine() {
        var rows = Synthetic.rows
        rows[1].turns = []
        rows[1].failure = "no tick for 5s"
        let results = Synthetic.results(rows)
        #expect(Report(results).rows.count == 4)
        #expect(results.missing == ["dispatch failed after 0 laps: no tick for 5s"])
    }

    /// Fault 14: "PARTIAL" did not name the rows that lack something.
    @Test func whatIsMissingIsNamed() {
        var rows = Synthetic.rows
        for place in [3, 4] {
            rows[place].turns.removeLast()
            rows[place].drift = nil
        }
        let missing = Synthetic.results(rows, isStopped: true).missing
        #expect(
            missing == ["stopped after 30 s", "the last lap lacks task-sleep, bare", "no drift of task-sleep, bare"]
        )
        for place in rows.indices { rows[place].drift = nil }
        #expect(Synthetic.results(rows, isStopped: true).missing.last == "no drift of any row")
        #expect(Synthetic.results(Synthetic.rows).missing.isEmpty)
        // They are compared in the laps that all have.
        let report = Report(Synthetic.results(rows, isStopped: true))
        #expect(report.row("task-sleep", load: RowKey.idle)?.p99Ratio?.verdict == .later)
    }
}

/// How busy the machine was, and what follows.
@Suite struct MachineStateTests {
    /// Fault 3: with other programs on the processors for 97 % of the time, it said "1 of 6 rounds disturbed".
    @Test func aBusyMachineIsNamedInOneLine() {
        let busy = MachineState(others: 97.2, waiting: 80, stolen: 0, loadAverage: 5.41)
        #expect(busy.isBusy)
        #expect(
            busy.words(on: Synthetic.host) == "BUSY: other programs held 97 % of the processors (load 5.4 on 2)"
        )
        let waiting = MachineState(others: 5, waiting: 30.4, stolen: 4)
        #expect(
            waiting.words(on: Synthetic.host)
                == "BUSY: programs waited for a processor 30 % of the time; other guests of the host took 4 %"
        )
        let quiet = MachineState(others: 3, waiting: 1, stolen: 0.1, loadAverage: 0.4)
        #expect(quiet.words(on: Synthetic.host) == nil && !quiet.isBusy)
        #expect(MachineState().words(on: Synthetic.host) == nil)
    }

    @Test func disturbedLapsAreLeftOutForAllRowsAlike() throws {
        // In the disturbed laps dispatch is earlier by far; in the others it is later.
        let timerFD = (0..<40).map { lap in Synthetic.turn([Int64](repeating: lap < 10 ? 900_000 : 40_000, count: 20)) }
        let dispatch = (0..<40).map { _ in Synthetic.turn([Int64](repeating: 50_000, count: 20)) }
        let laps = (0..<40).map { Lap(waiting: $0 < 10 ? 60 : 0, stolen: 0) }
        let rows = [Synthetic.row("timerfd", of: timerFD), Synthetic.row("dispatch", of: dispatch)]
        let results = Synthetic.results(rows, laps: laps)
        #expect(results.lapsLeftOut == 10)
        let report = Report(results)
        #expect(abs((report.rows[0].p50?.value ?? 0) - 40_000) < 1)
        #expect(abs((report.rows[1].difference?.value ?? 0) - 10_000) < 1)
        #expect((report.rows[0].p99?.value ?? 0) > 800_000, "the tail is of all laps")
    }

    /// The rule looks at the machine only: late ticks in a quiet lap count.
    @Test func aLateLapOfAQuietMachineCounts() {
        let rows = Synthetic.rows
        #expect(Synthetic.results(rows).lapsLeftOut == 0)
        let busy = (0..<40).map { _ in Lap(waiting: 90, stolen: 0) }
        #expect(Synthetic.results(rows, laps: busy).lapsLeftOut == 0, "nothing better is there")
        let loaded = Synthetic.results(rows, laps: (0..<40).map { Lap(waiting: $0 < 10 ? 90 : 0) })
        #expect(loaded.countingLaps(under: "cpu:2").allSatisfy { $0 }, "the load itself looks like a disturbance")
        let onlyLoaded = [Synthetic.row("timerfd", load: "cpu:2", lateness: 40_000)]
        #expect(Synthetic.results(onlyLoaded, laps: (0..<40).map { Lap(waiting: $0 < 10 ? 90 : 0) }).lapsLeftOut == 0)
        #expect(Lap(waiting: nil, stolen: 10).isDisturbed && !Lap().isDisturbed)
    }
}
