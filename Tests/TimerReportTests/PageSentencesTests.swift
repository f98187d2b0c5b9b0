import ResultsSupport
import Testing
import TimerReport
import TimerResults

/// The lines below the pictures.
@Suite struct PageSentencesTests {
    private func rows(_ cells: Cell...) -> [RowReport] { Report(Synthetic.results([cells])).rows }

    private var two: [RowReport] {
        rows(
            Synthetic.cell(Synthetic.key("dispatch"), Array(repeating: 90_000, count: 99) + [2_000_000]),
            Synthetic.cell(Synthetic.key("timerfd"), Array(repeating: 46_000, count: 98) + [180_000, 180_000])
        )
    }

    @Test func overviewNamesTheBestAndTheWorstBackend() {
        #expect(
            PageSentences.overview(two)
                == "Idle: 99 of 100 ticks within 90 µs with dispatch, within 180 µs with timerfd."
        )
    }

    @Test func curvesNameTheRowsThatMissedDeadlines() {
        #expect(PageSentences.curves(two).hasPrefix("No row missed a deadline"))
        let ticks = [Point(time: 0, lateness: 1_500_000), Point(time: 2_000_000, lateness: 0)]
        let cost = Cost(cpu: 0, wakeUps: 0, contextSwitches: 0)
        let missing = rows(Synthetic.cell(Synthetic.key("a"), ticks, cost: cost))
        #expect(PageSentences.curves(missing) == "Rows that missed deadlines: a.")
    }

    @Test func timeCountsDisturbedRounds() {
        let rounds = [Round(disturbances: ["a stall"], cells: []), Round(cells: [])]
        #expect(PageSentences.time(rounds) == "Disturbed rounds: 1 of 2.")
    }

    @Test func driftNamesTheRowsAboveTheirNoise() {
        let steady = Synthetic.cell(Synthetic.key("a"), (0..<80).map { 50_000 + ($0 % 2) * 1000 })
        let drifting = Synthetic.cell(Synthetic.key("b"), (0..<80).map { 50_000 + $0 * 1000 })
        #expect(PageSentences.drift(rows(steady)) == "Rows that drift by more than their noise: no row.")
        #expect(PageSentences.drift(rows(steady, drifting)) == "Rows that drift by more than their noise: b.")
    }

    @Test func priceNamesTheExtremes() {
        #expect(PageSentences.price(two) == "Processor time: from 0.98 % (dispatch) to 1.0 % (timerfd).")
    }

    @Test func withoutRowsThereIsNoResult() {
        #expect(PageSentences.overview([]).isEmpty)
        #expect(PageSentences.price([]) == "The price of the rows is unknown.")
    }
}
