import ResultsSupport
import Testing
import TimerResults

/// What follows from the figures, and what does not.
@Suite struct AdviceTests {
    private func advice(_ rows: [MeasuredRow], machine: MachineState = MachineState(), period: UInt64 = 1_000_000)
        -> [String]
    {
        var results = Synthetic.results(rows, machine: machine)
        results.options.period = period
        return Advice(Report(results), under: RowKey.idle).sentences
    }

    @Test func theDefaultIsEnoughUnlessTheDifferenceMatters() {
        let sentences = advice(Synthetic.rows)
        #expect(sentences[0] == "timerfd is enough unless 39 µs matter: hybrid saves them for 7 % of a core.")
        #expect(sentences[1] == "By p99 hybrid before timerfd; task-sleep later than timerfd.")
        #expect(sentences.count == 2)
    }

    /// Fault 1: hybrid with a p99 of 23.8 ms and 9.1 % missed, beside timerfd with 68 µs and none, was "Take hybrid".
    @Test func aBetterMiddleDoesNotHideAWorseTail() {
        let rows = [
            Synthetic.row("timerfd", lateness: 39_000), Synthetic.row("hybrid", lateness: 120, missed: 2, cpu: 9),
        ]
        let sentences = advice(rows)
        #expect(
            sentences[0]
                .contains(/^timerfd is enough unless 3\d µs matter: hybrid saves them for 8 % of a core, but its p99/)
        )
        #expect(sentences[0].contains("later") && sentences[0].contains("it missed 10.0 % of its deadlines"))
        #expect(!sentences.joined().contains("Take "))
        #expect(sentences[1] == "By p99 hybrid later than timerfd.")
    }

    /// Fault 14: "is the cheapest" for 2.91 against 2.99 %.
    @Test func aPriceIsNamedOnlyIfItIsOne() {
        let rows = [Synthetic.row("timerfd", lateness: 39_000), Synthetic.row("libevent", lateness: 30_000)]
        #expect(advice(rows)[0].contains("libevent saves them"))
        #expect(!advice(rows).joined().contains("cheapest") && !advice(rows)[0].contains("of a core"))
    }

    @Test func withoutAnEarlierRowTheDefaultIsEnough() {
        let rows = [Synthetic.row("timerfd", lateness: 39_000), Synthetic.row("dispatch", lateness: 60_000)]
        #expect(advice(rows)[0] == "timerfd is enough: no other row is earlier by p50.")
    }

    /// Fault 9: at 10 µs, with 55 to 78 % missed, "libevent is the cheapest".
    @Test func thePeriodThatNoRowServesIsNamed() {
        let rows = [
            Synthetic.row("timerfd", lateness: 39_000, missed: 12),
            Synthetic.row("libevent", lateness: 39_000, missed: 15),
        ]
        let sentences = advice(rows, period: 10_000)
        let impossible =
            "10 µs is too short a period here: every row missed more than 5 % of its deadlines, or was a whole period "
            + "late."
        #expect(sentences[0] == impossible)
        #expect(!sentences.joined().contains("enough"))
        // A row that catches up misses nothing, and is late for all.
        let sleeper = Synthetic.row("task-sleep", .peer, lateness: 3_000_000)
        #expect(advice(rows + [sleeper], period: 10_000)[0] == impossible)
        #expect(advice(rows + [Synthetic.row("hybrid", lateness: 120)], period: 10_000)[0].hasPrefix("By p50 hybrid"))
    }

    @Test func aBusyMachineIsTheReasonOfAnOpenTail() {
        let rows = [Synthetic.row("timerfd", lateness: 39_000), Synthetic.row("libevent", lateness: 39_000, seed: 2)]
        let busy = MachineState(others: 97)
        #expect(
            advice(rows, machine: busy).last
                == "By p99 this run tells no row from timerfd: the machine was busy. Repeat when idle."
        )
        #expect(advice(rows).last == "By p99 this run tells no row from timerfd.")
    }

    @Test func fewLapsGiveNoAdvice() {
        let rows = [
            Synthetic.row("timerfd", lateness: 39_000, laps: 7), Synthetic.row("hybrid", lateness: 100, laps: 7),
        ]
        #expect(advice(rows) == ["Too few laps to compare the rows: measure longer (--time)."])
        #expect(advice([rows[0]]).isEmpty)
    }
}
