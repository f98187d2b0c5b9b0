import Foundation
import FoundationXML
import Testing

@testable import BackendComparison

/// The page's first answers: was the machine disturbed, and how far can the figures be believed?
@Suite struct WordsTests {
    private func words(_ rows: [MeasuredRow] = Synthetic.rows, disturbed: Int = 0, others: Double = 1) -> Words {
        let laps = (0..<40).map { Lap(waiting: $0 < disturbed ? 50 : 0, stolen: 0) }
        let machine = MachineState(others: others, waiting: 0, stolen: 0, loadAverage: 1.3)
        return Words(Report(Synthetic.results(rows, machine: machine, laps: laps)))
    }

    @Test func theDisturbanceIsTheMachinesStateAndItsLaps() {
        let quiet = "Quiet: other programs used 1 % of the processors, and other guests of the host took 0 %."
        let (few, most) = (words(disturbed: 4), words(disturbed: 30, others: 97))
        #expect(words().disturbance == quiet)
        let note = "p50 leaves out 4 of 40 laps, which other work disturbed."
        #expect(few.disturbance == "\(quiet) \(note)" && few.notes == [note], "the words of the screen")
        let busy = "Busy: other programs used 97 % of the processors (load 1.3 on 2)."
        #expect(most.disturbance == "\(busy) Other work disturbed 30 of 40 laps: too many to leave them out of p50.")
        #expect(most.notes.isEmpty)
        // Under a load all laps count, and the load itself looks like a disturbance.
        let unseen = "Not measured under a load of other programs; other guests of the host took 0 %."
        #expect(words(Synthetic.pair(load: "busy"), disturbed: 30).disturbance == unseen)
    }

    /// "2 vCPU guest" stood above figures of one processor.
    @Test(
        arguments: [
            (2, true, "A, 2 vCPU guest"), (1, true, "A, 1 of 2 vCPU guest"), (nil, true, "A, 2 vCPU guest"),
            (1, nil, "A, 1 of 2 CPUs"), (2, false, "A, 2 CPUs"),
        ] as [(Int?, Bool?, String)]
    )
    func theHeadingSaysHowManyProcessorsAreUsable(usable: Int?, hypervisor: Bool?, words: String) {
        var results = Synthetic.results(Synthetic.rows)
        (results.host.usableProcessors, results.host.hypervisor) = (usable, hypervisor)
        #expect(Words(Report(results)).heading().contains(" · \(words) · "))
    }

    @Test func theConfidenceNamesTheLaps() {
        let range =
            "The range of p50 contains the true p50 in about 99 of 100 runs of 40 laps. The range of a figure that "
            + "a few stalls decide, such as p99, does so in 70 to 99."
        let drift = " The ± of a drift comes from one stretch."
        let verdict = " “Later” and “earlier” are as reliable as the range of p50."
        let limit = " Another hour may give other figures."
        #expect(words().confidence == range + drift + verdict + limit)
        #expect(words([Synthetic.rows[0]]).confidence == range + drift + limit, "nothing is compared")
        let still = [Synthetic.row("timerfd", of: Synthetic.rows[0].turns, drift: nil)]
        #expect(words(still).confidence == range + limit, "no drift")
        let busy = "Not very: these figures say more about the machine’s other work than about the timers. "
        #expect(words(others: 97).confidence == busy + range + drift + verdict + limit)
        var throttled = Synthetic.results(Synthetic.rows)
        throttled.machine.quota = QuotaStops(limit: 0.05, periods: 66, stops: 51, share: 72.4)
        let stops = "Not very: these figures say more about the quota than about the timers. "
        #expect(Words(Report(throttled)).confidence == stops + range + drift + verdict + limit)
        let few = " too few for ranges and verdicts: measure longer (--time)."
        #expect(words(Synthetic.pair(laps: 7)).confidence == "7 laps are" + few)
        #expect(words(Synthetic.pair(laps: 1)).confidence == "1 lap is" + few)
    }
}

/// CSV, Markdown and the page.
@Suite struct FormatTests {
    @Test func csvHasALineForEachFigure() {
        let lines = Synthetic.report.csv.split(separator: "\n").map(String.init)
        #expect(lines[0] == "row,load,figure,value,low,high")
        #expect(lines.allSatisfy { $0.split(separator: ",", omittingEmptySubsequences: false).count == 6 })
        let figures = ["p50_ns", "p99_ns", "missed_percent", "drift_ppm", "cpu_percent", "max_ns"]
        for start in Synthetic.rows.flatMap({ row in figures.map { "\(row.key.row),idle,\($0)," } }) {
            #expect(lines.count { $0.hasPrefix(start) } == 1, "\(start)")
        }
        #expect(!lines.contains { $0.contains("p999") }, "800 deadlines have none")
        let odd = Synthetic.report(of: [Synthetic.row("a,\"b\"", lateness: 10)])
        #expect(odd.csv.contains("\n\"a,\"\"b\"\"\",idle,p50_ns,"))
    }

    @Test func markdownIsTheScreen() {
        let text = Synthetic.report.markdown
        let parts = [
            "1 ms timer · 30 s",
            "\n| row | p50 | p99 (range) | missed | drift ppm | CPU | than timerfd |\n| --- | ---: |",
            "\n| hybrid | 0.12 µs | ", "\n- timerfd is enough unless ",
        ]
        #expect(parts.filter { !text.contains($0) } == [])
        let odd = Synthetic.report(of: [Synthetic.row("a|b*", lateness: 10)])
        #expect(odd.markdown.contains("| a\\|b\\* |"))
    }

    @Test func thePageLoadsNothing() {
        let page = Page(Synthetic.report).html
        #expect(page.hasPrefix("<!DOCTYPE html>") && page.hasSuffix("</html>"))
        #expect(page.contains("content=\"default-src 'none'; ") && !page.contains("script"))
    }
}
