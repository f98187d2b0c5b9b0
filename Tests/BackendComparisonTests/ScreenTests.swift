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
        let environment = ["TERM": "xterm", "NO_COLOR": "", "COLUMNS": asked ?? ""]
        let display = Display(isTerminal: isTerminal, columns: columns, environment: environment)
        #expect(display.width == width && display.obeysEscapes == isTerminal)
    }

    @Test(
        arguments: [
            ([:], false), (["LANG": "C"], true), (["LANG": "POSIX"], true), (["LANG": "de_DE.UTF-8"], false),
            (["LANG": "en_US.utf8"], false), (["LC_ALL": "C", "LANG": "C.UTF-8"], true),
            (["LC_CTYPE": "C.UTF-8"], false), (["LC_ALL": "", "LC_CTYPE": "", "LANG": "C"], true),
            (["LC_CTYPE": "C.UTF-8", "LANG": "C"], false), (["LANG": "de_DE.ISO-8859-1"], true),
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
            "Note: --deliver queue: inline for bare.", "p50 excludes 4 of 40 laps: other work disturbed them.",
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

@Test func aUnitStaysOnTheLineOfItsNumber() {
    #expect("it costs 7 % of a core.".wrapped(at: 10) == ["it costs", "7 % of a", "core."])
    #expect("up to 24 µs, at most".wrapped(at: 8) == ["up to", "24 µs,", "at most"])
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
        let note = "p50 excludes 4 of 40 laps: other work disturbed them."
        #expect(few.disturbance == "\(quiet) \(note)" && few.notes == [note], "the words of the screen")
        let busy = "Busy: other programs used 97 % of the processors (load 1.3 on 2)."
        #expect(most.disturbance == "\(busy) Other work disturbed 30 of 40 laps: too many to exclude them from p50.")
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

    @Test func theConfidenceIsWhatLimitsIt() {
        let (drift, verdict) = (" The ± of a drift comes from one stretch.", " “Later” and “earlier” are as")
        let (alone, one) = (words([Synthetic.rows[0]]).confidence, Synthetic.rows[0].turns)
        let still = words([Synthetic.row("timerfd", of: one, drift: nil)]).confidence
        #expect([alone, still].map { $0.contains(drift) } == [true, false] && !alone.contains(verdict))
        var throttled = Synthetic.results(Synthetic.rows)
        throttled.machine.quota = QuotaStops(limit: 0.05, periods: 66, stops: 51, share: 72.4)
        let limits = [words(others: 97), Words(Report(throttled))].map(\.confidence)
        #expect(limits[0].hasPrefix("Not very: these figures say more about the machine’s other work than about"))
        #expect(limits[1].hasPrefix("Not very: these figures say more about the quota than about"))
        let few = " too few for ranges and verdicts: measure longer (--time)."
        #expect(words(Synthetic.pair(laps: 7)).confidence == "7 laps are" + few)
        #expect(words(Synthetic.pair(laps: 1)).confidence == "1 lap is" + few)
    }
}

/// The figures in each form: in words, as JSON, CSV, Markdown and a wide table, and in a need.
@Suite struct FigureTests {
    /// A figure, its key, a value with a range, and both in words. Its name is the title in a wide table.
    private static let figures: [(Figure, key: String, Estimate, text: String, range: String)] = [
        (.p50, "p50_ns", Estimate(39_000, 38_000...41_000), "39 µs", "39 µs (38–41)"),
        (.p90, "p90_ns", Estimate(4_400_000, 950_000...46_000_000), "4.4 ms", "4.4 ms (0.95–46)"),
        (.p99, "p99_ns", Estimate(26_000_000), "26 ms", "26 ms (?)"),
        (.p999, "p999_ns", Estimate(120, 0...1_000), "0.12 µs", "0.12 µs (0.0–1.0)"),
        (.missed, "missed_percent", Estimate(2.5, 0.04...12), "2.5 %", "2.5 % (0.0–12.0)"),
        (.drift, "drift_ppm", Estimate(12.4, 9...15), "12 ppm", "12 ± 3 ppm"),
        (.cpu, "cpu_percent", Estimate(3), "3.0 %", "3.0 %"),
        (.wakeUps, "wakeups_per_tick", Estimate(1, 0.999...1.25), "1.00", "1.00 (1.00–1.25)"),
        (.switches, "switches_per_tick", Estimate(1.005, 1...2), "1.00", "1.00 (1.00–2.00)"),
    ]

    @Test func eachHasItsKeyItsUnitAndItsRange() {
        #expect(Self.figures.map(\.0) == Figure.allCases && Self.figures.map(\.0.field) == Self.figures.map(\.key))
        #expect(Self.figures.map { $0.0.text($0.2.value) } == Self.figures.map(\.text))
        #expect(Self.figures.map { $0.0.text($0.2) } == Self.figures.map(\.range))
        for figure in Figure.allCases {
            let unit =
                ["ns": "us", "percent": "%", "ppm": "ppm"][String(figure.field.split(separator: "_").last ?? "")] ?? ""
            #expect(throws: Never.self) { try Need.parse("timerfd.\(figure.rawValue) < 2\(unit)") }
        }
    }

    /// Of 8,000 deadlines, so that no figure is missing.
    private static let report = Synthetic.report(
        of: [("timerfd", 39_000.0), ("\"b\"|c*", 120), ("a,b", 60_000)]
            .map { Synthetic.row($0.0, lateness: $0.1, laps: 400) }
    )

    @Test func eachIsInEveryForm() throws {
        let (csv, wide) = (Self.report.csv.split(separator: "\n"), Self.report.screen(isWide: true))
        let json = try JSONFile.encode(Self.report)
        let verdicts = try JSONFile.encode(Synthetic.report).matches(of: /"p50":"(\w+)","p99":"(\w+)"/)
        let words = verdicts.map { "\($0.1) \($0.2)" }
        #expect(words == ["later unclear", "earlier earlier", "later later", "same unclear"])
        let keys = Self.figures.map(\.key) + ["max_ns"]
        #expect(csv[0] == "row,load,figure,value,low,high" && csv.count == 1 + 3 * keys.count)
        for (row, name) in zip(Self.report.rows, ["timerfd", "\"\"\"b\"\"|c*\"", "\"a,b\""]) {
            for (figure, key, _, _, _) in Self.figures {
                let known = try #require(row.figures[figure])
                let ends = known.interval.map { "\($0.lowerBound),\($0.upperBound)" } ?? ","
                #expect(csv.contains("\(name),idle,\(key),\(known.value),\(ends)"))
            }
            #expect(csv.contains { $0.hasPrefix("\(name),idle,max_ns,") && $0.hasSuffix(",,") })
        }
        #expect(keys.filter { json.split(separator: "\"\($0)\":{\"estimate\":").count != 4 } == [])
        #expect((Figure.allCases.map(\.rawValue) + ["worst", "waited"]).filter { !wide.contains($0) } == [])
        #expect(wide.contains(#/\|c\* .*3\d µs \(\d+–\d+\) earlier/#))
    }

    @Test func markdownIsTheScreen() {
        let text = Self.report.markdown
        let title = "\n| row | p50 | p99 (range) | missed | drift ppm | CPU | than timerfd |\n| --- | ---: |"
        let parts = ["1 ms timer · 30 s", title, "\n| \"b\"\\|c\\* | 0.12 µs | ", "\n- timerfd is good enough unless "]
        #expect(parts.filter { !text.contains($0) } == [])
    }

    @Test func timesHaveTwoDigitsInTheUnitThatFits() {
        let times = [39_000, 331_000_000, 1_500_000_000, 999_600, 0, 9_960, 994_000].map(NumberText.time)
        #expect(times == ["39 µs", "331 ms", "1.5 s", "1.0 ms", "0.0 µs", "10 µs", "994 µs"])
    }
}
#endif
