import Foundation
import ResultsSupport
import Testing
import TimerReport
import TimerResults

/// The first screen, as a person reads it.
@Suite struct ScreenTests {
    private static let rows = Synthetic.rows
    private static let busy = MachineState(others: 97, waiting: 80, stolen: 0, loadAverage: 5.4)

    private func lines(_ screen: Screen) -> [String] { screen.description.split(separator: "\n").map(String.init) }

    @Test func theFirstScreenIsKnown() {
        let lines = lines(Screen(Synthetic.report))
        #expect(lines[0] == "1 ms timer · 30 s · A, 2 vCPU guest · Linux 6.1")
        #expect(
            lines[1].split(separator: " ").joined(separator: " ") == "p50 p99 (range) missed drift ppm CPU than timerfd"
        )
        #expect(lines.count == 9, "\(lines)")
        #expect(lines[2].contains(/^timerfd +39 µs +2\d\d µs \(\d+–\d+\) +0\.0 % +0 ± 3 +2\.0 %$/), "\(lines[2])")
        #expect(
            lines[4].contains(/^hybrid +0\.12 µs +60 µs \(\d+–\d+\) +0\.0 % +0 ± 3 +9\.0 % +39 µs before$/),
            "\(lines[4])"
        )
        #expect(lines[6].hasSuffix("  same"))
        #expect(lines[7].hasPrefix("timerfd is enough unless "))
    }

    /// Fault 8: drift was not in the table, and missed was pushed out.
    @Test func eightyColumnsHaveEveryFigure() {
        for report in [Synthetic.report, Report(Synthetic.results(Self.rows, machine: Self.busy))] {
            let lines = lines(Screen(report, width: 80))
            #expect(lines.allSatisfy { $0.count <= 80 })
            #expect(lines.contains { $0.contains("missed") && $0.contains("drift ppm") && $0.contains("than timerfd") })
        }
    }

    @Test(arguments: [40, 50, 60, 70, 79])
    func aNarrowTerminalHasFewerColumnsAndNoBrokenLine(width: Int) {
        let lines = lines(Screen(Synthetic.report, width: width))
        #expect(lines.allSatisfy { $0.count <= width }, "\(lines)")
        #expect(lines.contains { $0.hasPrefix("hybrid") && $0.hasSuffix("before") })
    }

    /// Fault 3.
    @Test func aBusyMachineStandsUnderTheHeading() {
        let lines = lines(Screen(Report(Synthetic.results(Self.rows, machine: Self.busy))))
        #expect(lines[1] == "BUSY: other programs held 97 % of the processors (load 5.4 on 2)")
        #expect(!Screen(Synthetic.report).description.contains("BUSY"))
    }

    @Test func whatIsMissingStandsUnderTheHeading() {
        var rows = Self.rows
        rows[4].turns.removeLast()
        let lines = lines(Screen(Report(Synthetic.results(rows, isStopped: true))))
        #expect(lines[1] == "PARTIAL: stopped after 30 s; the last lap lacks bare")
    }

    /// A difference is a time, and no number has more than two digits that mean something.
    @Test func thereAreNoMultiplesAndNoSixDigits() {
        let text = Screen(Synthetic.report).description
        #expect(!text.contains("×"))
        #expect(!text.contains(/\d{5}/))
    }

    @Test func everyLoadHasItsBlock() {
        let rows = ["idle", "busy"]
            .flatMap { load in
                [
                    Synthetic.row("timerfd", load: load, lateness: 40_000),
                    Synthetic.row("hybrid", load: load, lateness: 100),
                ]
            }
        let lines = lines(Screen(Report(Synthetic.results(rows))))
        #expect(lines.filter { $0.hasPrefix("load ") } == ["load idle", "load busy"])
        #expect(lines.contains { $0.hasPrefix("Under busy: timerfd is enough") })
    }

    @Test func colourIsOnlyForATerminal() {
        #expect(!Screen(Synthetic.report).description.contains("\u{1B}"))
        #expect(Screen(Synthetic.report, inColour: true).description.contains("\u{1B}[1m1 ms timer"))
        #expect(!Ink.isWanted(isTerminal: true, environment: ["NO_COLOR": "1"]))
        #expect(!Ink.isWanted(isTerminal: true, environment: ["TERM": "dumb"]))
        #expect(!Ink.isWanted(isTerminal: false, environment: [:]) && Ink.isWanted(isTerminal: true, environment: [:]))
    }

    @Test func theWideTableHasEveryFigureWithItsRange() {
        let text = Screen(Synthetic.report, isWide: true).description
        for title in Figure.allCases.map(\.rawValue) + ["worst", "waited"] { #expect(text.contains(title), "\(title)") }
        #expect(text.contains(/hybrid.*39 µs \(\d+–\d+\) before/))
    }

    @Test func lateTicksCutSpinsAndRemarksAreSaid() {
        var rows = Self.rows
        rows[0].late = LateTicks(threshold: 500_000)
        rows[0].late?.add(.waited)
        rows[2].spin = SpinCuts(cuts: 400)
        var results = Synthetic.results(rows, laps: (0..<40).map { Lap(waiting: $0 < 4 ? 50 : 0) })
        results.remarks = ["--deliver queue: inline for bare"]
        let text = Screen(Report(results), width: 200).description
        #expect(text.contains("timerfd: 1 tick later than 500 µs: 1 waited for a processor."))
        #expect(text.contains("hybrid: the budget shortened the spin before 50 % of the deadlines"))
        #expect(text.contains("Note: --deliver queue: inline for bare."))
        #expect(text.contains("p50 leaves out 4 of 40 laps, which the machine disturbed."))
    }

    @Test(arguments: [
        (39_000.0, "39 µs"), (120, "0.12 µs"), (4_400_000, "4.4 ms"), (331_000_000, "331 ms"), (1_500_000_000, "1.5 s"),
        (999_600, "1.0 ms"), (0, "0.0 µs"), (9_960, "10 µs"), (994_000, "994 µs"),
    ])
    func timesHaveTwoDigitsInTheUnitThatFits(nanoseconds: Double, text: String) {
        #expect(NumberText.time(nanoseconds) == text)
    }

    @Test func aRangeHasTheUnitOfItsFigure() {
        #expect(NumberText.time(Estimate(26_000_000, 100_000...46_000_000)) == "26 ms (0.10–46)")
        #expect(NumberText.time(Estimate(26_000_000)) == "26 ms (?)")
    }

    /// Fault 12: two files became one table, with rows from one of them only.
    @Test func twoFilesStandSideBySide() {
        var other = Synthetic.results(Array(Self.rows.prefix(2)), machine: Self.busy)
        other.host = Host(system: "Linux", kernel: "6", machine: "x86_64", cpu: "B", processors: 4, build: .release)
        let text = SideBySide([("a.json", Synthetic.report), ("b.json", Report(other))]).description
        #expect(text.contains("1  a.json: 1 ms timer") && text.contains("2  b.json: 1 ms timer"))
        #expect(text.contains("   BUSY: "))
        #expect(text.contains(/p50 1 +p50 2 +p99 \(range\) 1/))
        #expect(text.contains(/hybrid +0\.12 µs +–/))
        #expect(text.hasSuffix("1 and 2 are not of one machine and question (A CPU and B): compare with care."))
    }
}
