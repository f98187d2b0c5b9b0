import Testing
import TimerMeasurement

/// What stands below the pictures.
@Suite struct PageSentencesTests {
    private func rows(_ cells: [Cell]) -> [RowReport] { Report(Synthetic.results([cells])).rows }

    private var two: [RowReport] {
        rows([
            Synthetic.cell(Synthetic.case("dispatch"), Array(repeating: 90_000, count: 99) + [2_000_000]),
            Synthetic.cell(Synthetic.case("timerfd"), Array(repeating: 46_000, count: 98) + [180_000, 180_000]),
        ])
    }

    @Test func curvesTellTheMedianAndOneInAHundred() {
        #expect(
            PageSentences.curves(two)
                == "Half of timerfd’s ticks came within 46 µs of their deadlines and 99 of 100 within 180 µs; with dispatch "
                + "it was 90 µs and 90 µs. No row missed a deadline, so that ticks and deadlines make the same curves."
        )
    }

    @Test func curvesTellWhichRisesTheMost() {
        let late = (0..<2000).map { Int64($0 < 1995 ? 50_000 : 5_000_000) }
        #expect(
            PageSentences.curves(rows([Synthetic.cell(Synthetic.case("a"), late)]))
                .contains(
                    "The curve of a rises the most: one tick in 1000 was later than 5.0 ms, 100 times its median."
                )
        )
    }

    @Test func overviewNamesTheLeastAndTheMostLate() {
        #expect(
            PageSentences.overview(two)
                == "Idle, 99 of 100 ticks came within 90 µs with dispatch and within 180 µs with timerfd, the least and the "
                + "most of the backends; no deadline was missed."
        )
    }

    @Test func driftBelowItsNoiseIsNone() {
        let steady = Synthetic.cell(Synthetic.case("a"), (0..<80).map { 50_000 + ($0 % 2) * 1000 })
        #expect(PageSentences.drift(rows([steady])).hasPrefix("No row drifts by more than its noise"))
    }

    @Test func driftAboveItsNoiseIsTold() {
        let drifting = Synthetic.cell(Synthetic.case("a"), (0..<80).map { 50_000 + $0 * 1000 })
        #expect(
            PageSentences.drift(rows([drifting]))
                == "One row drifts by more than the noise: a by +1000 ± 0 ppm, 10 ms in ten seconds."
        )
    }

    @Test func tooFewTicksTellNoDrift() {
        let short = rows([Synthetic.cell(Synthetic.case("a"), [1, 2, 3])])
        #expect(PageSentences.drift(short) == "The turns had too few ticks to tell a drift.")
    }

    @Test func priceTellsTheExtremesAndWhoIsUnbeaten() {
        #expect(
            PageSentences.price(two)
                == "Cheapest, dispatch took 0.98 % of a processor for a median of 90 µs; dearest, timerfd took 1.0 % of a "
                + "processor for a median of 46 µs. No row beats dispatch or timerfd in both price and median."
        )
    }

    @Test func nothingIsSaidOfNothing() {
        #expect(PageSentences.curves([]) == "Nothing ticked.")
        #expect(PageSentences.overview([]).isEmpty)
        #expect(PageSentences.drift([]) == "The turns had too few ticks to tell a drift.")
        #expect(PageSentences.price([]) == "What the rows cost is not known.")
    }
}
