import BackendComparison
import Foundation
import PreciseTimer
import ResultsSupport
import Testing
import TimerResults

/// The rows of a comparison: their units, what went wrong in them, and the choice between them.
@Suite struct ComparisonRowTests {
    private typealias Row = BackendComparison.Row

    private func comparison(_ rows: [MeasuredRow]) -> BackendComparison {
        BackendComparison(Synthetic.report(of: rows))
    }

    /// Six of ten deadlines were served after 1 µs, two after 50 µs, and two had no tick before 5 ms.
    private func row(laps: Int) throws -> Row {
        let turn = Synthetic.turn([1, 1, 1, 1, 1, 1, 50, 50, 5_000, 5_000].map { $0 * 1_000 }, missed: 2, cpu: 25)
        let turns = (0..<laps).map { _ in turn }
        return try #require(comparison([Synthetic.row("timerfd", of: turns)]).rows.first)
    }

    /// To the 2 % of a histogram's bucket.
    private func isEqual(_ time: Duration, _ microseconds: Int) -> Bool {
        abs(time / .microseconds(microseconds) - 1) < 0.02
    }

    @Test func sharesAreFractionsOfOneAndTimesAreDurations() throws {
        let row = try row(laps: 100)
        #expect(row.backend == .timerFD && row.deadlines == 1_000 && row.failure == nil)
        #expect(isEqual(row.p50, 1) && isEqual(row.p99, 5_000))
        #expect(try #require(row.p99Range).contains(row.p99))
        #expect(abs(row.missed - 0.2) < 1e-9 && abs(row.cpu - 0.25) < 1e-9)
        #expect(row.drift.map { [$0.ppm, $0.noise] } == [0.4, 3])
    }

    @Test func theP99OfFewerThanAHundredDeadlinesIsThatOfAll() throws {
        for laps in [1, 9] {
            let row = try row(laps: laps)
            #expect(isEqual(row.p99, 5_000) && row.p99Range == nil, "\(row)")
        }
    }

    /// A backend that broke its promise was the first that fits.
    @Test func aBackendThatBrokeItsPromiseOrFailedIsNoAnswer() throws {
        var rows = ["hybrid", "dispatch", "libevent", "timerfd"].map { Synthetic.row($0, lateness: 40_000) }
        rows[0].problem = "1 tick came early"
        rows[1].failure = "no tick for 5 s"
        (rows[2].problem, rows[2].failure) = ("1 tick came early", "no tick for 5 s")
        let comparison = comparison(rows)
        #expect(comparison.rows.map(\.backend) == [.hybrid, .dispatch, .libevent, .timerFD])
        let failures = [
            "1 tick came early", "failed after 40 laps: no tick for 5 s",
            "failed after 40 laps: no tick for 5 s; 1 tick came early", nil,
        ]
        #expect(comparison.rows.map(\.failure) == failures)
        #expect(comparison.first { _ in true } == .timerFD)
        #expect(comparison.first { $0.backend == .hybrid } == nil)
        #expect(!comparison.isComplete)
    }

    /// A backend of which nothing was measured has no figures, and so no row.
    @Test func aBackendWithoutATurnIsNamedInTheWarningsOnly() {
        var rows = Synthetic.pair()
        (rows[1].turns, rows[1].failure) = ([], "no tick for 5 s")
        let comparison = comparison(rows)
        #expect(comparison.rows.map(\.backend) == [.timerFD] && !comparison.isComplete)
        #expect(comparison.warnings.contains { $0.contains("hybrid failed after 0 laps: no tick for 5 s") })
    }

    @Test func aRowIsReadAsItWasWritten() throws {
        var broken = Synthetic.row("timerfd", lateness: 40_000)
        broken.problem = "1 tick came early"
        for row in [try row(laps: 20), try row(laps: 1), try #require(comparison([broken]).rows.first)] {
            #expect(try JSONDecoder().decode(Row.self, from: JSONEncoder().encode(row)) == row)
        }
    }

    /// As from a damaged file, or from a stranger.
    @Test(
        arguments: [
            ["backend": "none"], ["deadlines": 0], ["deadlines": -1], ["p50": [-1, 0]], ["p50": [9, 0]],
            ["p99": [0, 0]],
            ["p99Range": [[0, 2], [0, 1]]], ["p99Range": [[1, 0], [2, 0]]], ["p99Range": [[-1, 0], [2, 0]]],
            ["missed": -0.1], ["missed": 1.1], ["cpu": -0.1], ["drift": ["ppm": 0, "noise": -1]],
        ] as [[String: any Sendable]]
    )
    func whatNoComparisonCanHaveFoundIsRefused(change: [String: any Sendable]) throws {
        let data = try JSONEncoder().encode(row(laps: 100))
        var object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        for (key, value) in change {
            #expect(object[key] != nil, "\(key)")
            object[key] = value
        }
        let changed = try JSONSerialization.data(withJSONObject: object)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(Row.self, from: changed) }
    }
}
