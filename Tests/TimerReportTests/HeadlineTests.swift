import ResultsSupport
import Testing
import TimerReport
import TimerResults

/// The page's first words: they claim what the verdicts show, and no more.
@Suite struct HeadlineTests {
    /// Laps in which every row is as late as this at each of 40 ticks.
    private func headline(_ rows: [(RowKey, Int64)], laps: Int = 8) -> Headline {
        let cells = rows.map { Synthetic.cell($0, Array(repeating: $1, count: 40)) }
        let loads = rows.first.map { [$0.0.load] } ?? []
        return Headline(Report(Synthetic.results(Array(repeating: cells, count: laps), loads: loads)))
    }

    private let timerfd = Synthetic.key("timerfd")
    private let dispatch = Synthetic.key("dispatch")
    private let libevent = Synthetic.key("libevent")
    private let floor = Synthetic.key(RowKey.floor, .reference)

    @Test func theEarliestBackendIsNamedWithTheLatestAndItsPrice() {
        let headline = headline([(dispatch, 90_000), (libevent, 1_200_000), (timerfd, 50_000), (floor, 40_000)])
        #expect(
            headline.sentence
                == "timerfd is earliest: 99 % of deadlines within 50.0 µs, libevent 1.20 ms, at 1.0 % of a core"
        )
        #expect(
            headline.advice
                == "Take timerfd. p50 against timerfd: dispatch 1.80 × later (1.80 to 1.80), "
                + "libevent 24.00 × later (24.00 to 24.00)."
        )
        #expect(headline.choices == ["timerfd"])
    }

    @Test func backendsThatTheRunCannotTellApartAreEquallyEarly() {
        let headline = headline([(timerfd, 50_000), (libevent, 50_000), (dispatch, 90_000)])
        #expect(
            headline.sentence
                == "timerfd and libevent cannot be told apart: 99 % of deadlines within 50.0 µs, dispatch 90.0 µs, "
                + "at 1.0 % of a core"
        )
        #expect(headline.advice.hasPrefix("Take either "))
        #expect(headline.advice.contains("this run cannot tell them apart"))
        #expect(headline.choices == ["timerfd", "libevent"])
    }

    @Test func manyEquallyEarlyBackendsAreCountedInsteadOfListed() {
        // Each is a little later than the other in half of the laps.
        let rounds = (0..<8)
            .map { lap in
                [timerfd, dispatch, libevent].enumerated()
                    .map { number, key in
                        Synthetic.cell(key, Array(repeating: 50_000 + Int64((lap + number) % 3) * 100, count: 40))
                    }
            }
        let sentence = Headline(Report(Synthetic.results(rounds))).sentence
        #expect(sentence == "All 3 backends cannot be told apart: 99 % of deadlines within 50.2 µs, at 1.0 % of a core")
    }

    @Test func tooFewLapsMakeNoRank() {
        let headline = headline([(timerfd, 50_000), (dispatch, 90_000)], laps: 3)
        #expect(
            headline.sentence
                == "Too few laps to rank timerfd and dispatch: 99 % of deadlines within 50.0 to 90.0 µs, "
                + "at 1.0 % of a core"
        )
        #expect(headline.advice.contains("measure longer"))
        #expect(!headline.advice.contains("p50 against"))
    }

    @Test func fewerThanAHundredTicksHaveNoP99() {
        let sentence = headline([(timerfd, 50_000), (dispatch, 90_000)], laps: 2).sentence
        #expect(sentence.contains("half of the deadlines within 50.0 to 90.0 µs"))
    }

    @Test func aSingleBackendIsComparedWithTheFloor() {
        let headline = headline([(timerfd, 50_000), (floor, 40_000)])
        #expect(headline.sentence == "timerfd: 99 % of deadlines within 50.0 µs, at 1.0 % of a core")
        #expect(
            headline.advice
                == "Only timerfd was measured. p50 against floor-timerfd: timerfd 1.25 × later (1.25 to 1.25)."
        )
        #expect(headline.choices.isEmpty)
    }

    @Test func withoutABackendThereIsNoAdvice() {
        let headline = headline([(Synthetic.key("peer-libevent", .peer), 50_000), (floor, 40_000)])
        #expect(headline.sentence == "No backend was measured")
        #expect(headline.advice == "Measure a backend for a recommendation.")
    }

    @Test func withoutTicksThereIsNoResult() {
        let silent = Synthetic.results([[Synthetic.cell(timerfd, []), Synthetic.cell(dispatch, [])]])
        #expect(Headline(Report(silent)).sentence == "No tick was measured")
        #expect(Headline(Report(Synthetic.results([]))).sentence == "No tick was measured")
    }

    @Test func aBackendWithoutTicksIsNoChoice() {
        let cells = [
            Synthetic.cell(timerfd, Array(repeating: 50_000, count: 40)), Synthetic.cell(dispatch, []),
        ]
        let headline = Headline(Report(Synthetic.results(Array(repeating: cells, count: 8))))
        #expect(headline.sentence.hasPrefix("timerfd: 99 %"))
        #expect(headline.advice == "Only timerfd ticked.")
    }

    @Test func aBrokenPromiseIsNoChoice() {
        // A tick before its deadline breaks a promise. So dispatch is earlier, and out.
        let headline = headline([(dispatch, -10), (timerfd, 50_000)])
        #expect(headline.sentence.hasPrefix("timerfd is the only backend that kept its promises: 99 %"))
        #expect(headline.advice.contains("dispatch is out: 40 of 40 ticks came before their deadline."))
    }

    @Test func aBackendIsOutForItsTailWithTheReason() {
        // The upper end of a histogram's bucket, so that both have the same p50.
        let rounds = (0..<8)
            .map { _ in
                [
                    Synthetic.cell(timerfd, Array(repeating: 50_015, count: 120)),
                    Synthetic.cell(
                        dispatch,
                        Array(repeating: 50_015, count: 100) + Array(repeating: 200_000, count: 20)
                    ),
                ]
            }
        let headline = Headline(Report(Synthetic.results(rounds)))
        #expect(headline.sentence.hasPrefix("timerfd is earliest: 99 % of deadlines within 50.0 µs, dispatch 200 µs,"))
        #expect(headline.advice == "Take timerfd. dispatch is out: p95 4.00 × later (4.00 to 4.00) than timerfd.")
    }

    @Test func aLoadIsNamed() {
        let headline = headline([
            (Synthetic.key("timerfd", load: "cpu:2"), 50_000), (Synthetic.key("dispatch", load: "cpu:2"), 90_000),
        ])
        #expect(headline.sentence.hasPrefix("Under cpu:2, timerfd is earliest: "))
    }
}
