#if Instrument && DEBUG
import Foundation
import FoundationXML
import Testing

@testable import BackendComparison

/// The first screen, as a person reads it.
@Suite struct ScreenTests {
    private static let busy = Report(
        Synthetic.results(Synthetic.rows, machine: MachineState(others: 97, waiting: 80, stolen: 0, loadAverage: 5.4))
    )

    private func lines(_ screen: String) -> [String] { screen.split(separator: "\n").map(String.init) }

    /// Drift was not in the table, and missed was pushed out.
    @Test(arguments: [Synthetic.report, busy], [30, 40, 60, 79, 80])
    func aNarrowTerminalHasFewerColumnsAndNoBrokenLine(report: Report, width: Int) {
        let lines = lines(report.screen(width: width))
        #expect(lines.allSatisfy { $0.count <= width }, "\(lines)")
        #expect(width < 40 || lines.contains { $0.hasPrefix("hybrid") && $0.hasSuffix("earlier") })
        #expect(width < 80 || lines.contains { $0.contains(/p99 \(range\) +missed +drift ppm +CPU +than timerfd$/) })
    }

    @Test func aBusyMachineAndWhatIsMissingStandUnderTheHeading() {
        var results = Self.busy.results
        results.isStopped = true
        let busy = "BUSY: other programs used 97 % of the processors (load 5.4 on 2)"
        #expect(lines(Report(results).screen())[1...2] == ["PARTIAL: stopped after 30 s", busy])
    }

    @Test func everyLoadHasItsBlockAndColourIsOnlyForATerminal() {
        let text = Synthetic.report(of: Synthetic.pair() + Synthetic.pair(load: "busy")).screen()
        #expect(lines(text).filter { $0.hasPrefix("load ") } == ["load idle", "load busy"])
        #expect(!text.contains("\u{1B}") && Synthetic.report.screen(inColour: true).contains("\u{1B}[1m1 ms timer"))
    }

    @Test(
        arguments: [
            (true, 132, nil, 132), (true, nil, nil, 80), (true, 132, "60", 60), (true, 132, "0", 132),
            (true, 132, "x", 132),
            (false, nil, "60", nil),
        ] as [(Bool, Int?, String?, Int?)]
    )
    func theUsersColumnsComeBeforeTheTerminals(isTerminal: Bool, columns: Int?, asked: String?, width: Int?) {
        let environment = asked.map { ["COLUMNS": $0] } ?? [:]
        #expect(Display(isTerminal: isTerminal, columns: columns, environment: environment).width == width)
    }

    @Test(
        arguments: [
            ([:], false), (["LANG": "C"], true), (["LANG": "POSIX"], true), (["LANG": "de_DE.UTF-8"], false),
            (["LANG": "en_US.utf8"], false), (["LC_ALL": "C", "LANG": "C.UTF-8"], true),
            (["LC_CTYPE": "C.UTF-8"], false),
            (["LC_ALL": "", "LC_CTYPE": "", "LANG": "C"], true), (["LC_CTYPE": "C.UTF-8", "LANG": "C"], false),
            (["LANG": "de_DE.ISO-8859-1"], true),
        ] as [([String: String], Bool)]
    )
    func onlyALocaleThatIsNamedTakesUnicodeAway(environment: [String: String], isASCII: Bool) {
        let display = Display(isTerminal: false, columns: nil, environment: environment)
        let (text, plain) = ("8 ± 29 · 44 µs (0.1–2) –… “é” machine’s", "8+/-29 - 44 us (0.1-2) -~ \"é\" machine's")
        #expect(display.text(text) == (isASCII ? plain : text))
    }

    /// 200 columns on a terminal of 80.
    @Test(arguments: [30, 40, 80, 120])
    func manyColumnsStandInBlocks(width: Int) throws {
        let reports = ["a.json", "b.json", "c.json"].map { ($0, Synthetic.report) }
        let texts = [Synthetic.report.screen(width: width, isWide: true), Report.sideBySide(reports, width: width)]
        for text in texts {
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.allSatisfy { $0.count <= width && !$0.isEmpty && $0.last != " " }, "\(text)")
        }
        // Nothing of the tables is lost, and a figure's values stay in one block if it has room.
        let wide = [Synthetic.report.screen(isWide: true), Report.sideBySide(reports)]
        for (text, whole) in zip(texts, wide) {
            let words = Set(text.split { $0 == " " || $0 == "\n" })
            let cells = whole.split(separator: "\n").filter { $0.hasPrefix(" ") || $0.contains("  ") }
            let missing = cells.flatMap { $0.split(separator: " ") }.filter { !words.contains($0) }
            #expect(missing.isEmpty && cells.count >= 6)
        }
        #expect(
            width != 80 || texts[1].contains(#/\n +p50 1 +p50 2 +p50 3\n(?:[^\n]*\n){5} +p99 \(range\) 1 [^\n]* 3\n/#)
        )
    }

    @Test(arguments: [nil, 30, 80]) func aNeedIsWrappedOnATerminalOnly(width: Int?) throws {
        let need = try Need.parse("timerfd.p50 later 5% than dispatch, p99 < 2us, cpu < 1%")
        let text = try Judgement(need, of: Synthetic.report).lines(width: width)
        let lines = text.split(separator: "\n")
        #expect(width.map { width in lines.allSatisfy { $0.count <= width } } ?? (lines.count == 5), "\(text)")
        #expect(width != 80 || text.contains("\n  not met    timerfd   p99"), "\(text)")
    }

    @Test func lateTicksCutSpinsAndRemarksAreSaid() {
        var rows = Synthetic.rows(changing: 0) { row in
            row.late = LateTicks(threshold: 500_000)
            row.late?.add(.waited)
        }
        rows[2].spin = SpinCuts(cuts: 400)
        var results = Synthetic.results(rows, laps: (0..<40).map { Lap(waiting: $0 < 4 ? 50 : 0) })
        results.remarks = ["--deliver queue: inline for bare"]
        let text = Report(results).screen(width: 200)
        let notes = [
            "timerfd: 1 tick later than 500 µs: 1 ready to run but not yet running.",
            "hybrid: the budget shortened the spin before 50 % of the deadlines",
            "Note: --deliver queue: inline for bare.", "p50 leaves out 4 of 40 laps, which other work disturbed.",
        ]
        #expect(notes.filter { !text.contains($0) } == [])
    }

    /// Two files became one table, with rows from one of them only.
    @Test func twoFilesStandSideBySide() {
        var other = Self.busy.results
        other.rows.removeLast(3)
        other.host = Synthetic.host(cpu: "B", processors: 4)
        let text = Report.sideBySide([("a.json", Synthetic.report), ("b.json", Report(other))])
        let form =
            /1  a\.json: 1 ms timer.*\n2  b\.json: 1 ms timer.*\n   BUSY: .*\n +p50 1 +p50 2 +p99 \(range\) 1 [^~]*/
        #expect(text.wholeMatch(of: form) != nil, "\(text)")
        #expect(text.contains(/hybrid +0\.12 µs +–/))
        #expect(text.hasSuffix("1 and 2 differ in machine or options (the processor: A CPU and B): compare with care."))
    }
}

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

#endif
