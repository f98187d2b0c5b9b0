#if Instrument && DEBUG
import Foundation
import PreciseTimer
import Synchronization
import TestSupport
import Testing

@testable import BackendComparison

/// A comparison that a program asks for: it is the command's.
@Suite(.works("a comparison measures this machine")) struct BackendComparisonTests {
    @Test func whatMakesNoSenseIsRefused() async {
        var words = ""
        func code(_ backends: [TimerService.Backend], _ period: Duration, _ time: Duration) async -> TimerError.Code? {
            do throws(TimerError) {
                _ = try await compareBackends(backends, period: period, for: time)
                return nil
            } catch {
                words = error.attempted
                #expect(words.hasPrefix("comparing "))
                return error.code
            }
        }
        #expect(await code([], .milliseconds(1), .seconds(1)) == .invalidOption)
        #expect(words == "comparing no backends (name at least one)")
        // It announced two hours, and measured them.
        #expect(await code([.timerFD], .seconds(3_600), .milliseconds(300)) == .invalidOption)
        #expect(words.contains("(a period of 3600 s does not fit into 300 ms with 1 row: measure for "))
        for backend in TimerService.Backend.allCases where backend.availability != .available {
            #expect(await code([.timerFD, backend], .milliseconds(1), .seconds(1)) == .unavailable)
        }
        #expect(BackendComparison.availableBackends.first == .timerFD)
    }

    /// What is seen of each argument that is not the default. A backend that is named again has one row.
    @Test func everyArgumentOfTheCallIsSeenAndNoneIsForgotten() async throws {
        let seen = Mutex<BackendComparison.Progress?>(nil)
        let backends: [TimerService.Backend] = [.dispatch, .timerFD, .dispatch]
        let comparison = try await compareBackends(backends, period: .milliseconds(3), for: .milliseconds(400)) { now in
            seen.withLock { $0 = now }
        }
        let total = seen.withLock { $0?.total }
        let facts = [
            "_": comparison.rows.map(\.backend) == [.dispatch, .timerFD], "progress": total != nil,
            "period": comparison.report.results.options.period == 3_000_000,
            "for": total.map { $0 > .milliseconds(300) && $0 < .milliseconds(500) } ?? false,
        ]
        #expect(facts.filter { !$0.value } == [:])
        let row = FormRow("compareBackends(_:period:for:progress:)", sees: Set(facts.keys))
        #expect(try flaws(of: [row], in: "BackendComparison") == [])
    }

    @Test func eachComparisonHasASeedOfItsOwnAndAllBackends() async throws {
        var seeds: Set<UInt64> = []
        for _ in 0..<3 {
            let comparison = try await compareBackends(for: .milliseconds(100))
            #expect(comparison.rows.map(\.backend) == BackendComparison.availableBackends)
            seeds.insert(comparison.report.results.options.seed)
        }
        #expect(seeds.count == 3)
    }

    /// Its end is awaited, so nothing of it runs on.
    @Test func aCancelledComparisonHasWhatWasMeasured() async throws {
        let places = Mutex<[Duration]>([])
        let hasBegun = Atomic(false)
        let comparing = Task {
            try await compareBackends([.timerFD, .dispatch], for: .seconds(3_600)) { progress in
                #expect(progress.elapsed <= progress.total && "\(progress)".contains(progress.backend))
                places.withLock { $0.append(progress.elapsed) }
                // Progress leaves out short laps.
                if "\(progress)".contains(/lap ([2-9]|\d\d+):/) { hasBegun.store(true, ordering: .relaxed) }
            }
        }
        while !hasBegun.load(ordering: .relaxed) { try await Task.sleep(for: .milliseconds(5)) }
        // This one waits for its turn.
        let waiting = Task { try await compareBackends([.timerFD], for: .seconds(1)) }
        waiting.cancel()
        await #expect(throws: TimerError(.cancelled, "comparing backends")) { try await waiting.value }
        comparing.cancel()
        let comparison = try await comparing.value
        #expect(!comparison.isComplete && !comparison.rows.isEmpty)
        #expect(comparison.warnings.contains { $0.hasPrefix("stopped after ") })
        #expect("\(comparison)".contains("PARTIAL: stopped after"))
        let pauses = places.withLock { places in zip(places, places.dropFirst()).map { $1 - $0 } }
        #expect(pauses.allSatisfy { $0 >= .milliseconds(80) }, "ten times a second, and no more often: \(pauses)")
    }
}

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
        #expect(row.drift.map { [$0.ppm, $0.noise] } == [0.4, 3] && row.drift?.description == "0 ± 3 ppm")
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
        #expect(!comparison.isComplete && comparison.warnings.contains("hybrid: 1 tick came early"))
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
#endif
