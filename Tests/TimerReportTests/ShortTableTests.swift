import ResultsSupport
import Testing
import TimerReport
import TimerResults

/// The table that a person reads first.
@Suite struct ShortTableTests {
    /// Backends and floors with latenesses in µs, in laps whose latenesses vary.
    private func report(_ rows: [(String, RowKey.Kind, Int64)], laps: Int = 30, late: LateTicks? = nil) -> Report {
        var generator = SplitMix64(seed: 7)
        return Report(
            Synthetic.results(
                (0..<laps)
                    .map { _ in
                        rows.map { row, kind, lateness in
                            let ticks = (0..<20).map { _ in 1000 * lateness + Int64(generator.next() % 5000) }
                            return Synthetic.cell(Synthetic.key(row, kind), ticks, late: late)
                        }
                    }
            )
        )
    }

    private func lines(_ report: Report, width: Int = 80) -> [String] {
        ShortTable(report, width: width).description.split(separator: "\n").map(String.init)
    }

    private let usual: [(String, RowKey.Kind, Int64)] = [
        ("dispatch", .backend, 54), ("timerfd", .backend, 41), ("libevent", .backend, 48), ("runloop", .backend, 60),
        ("floor-nanosleep", .reference, 40), (RowKey.floor, .reference, 41),
    ]

    @Test(arguments: [60, 80, 100])
    func aTableIsGolden(width: Int) throws {
        try Golden.expect(ShortTable(Synthetic.comparison, width: width).description + "\n", in: "short-\(width).txt")
    }

    @Test(arguments: [40, 50, 60, 70, 80, 100, 200])
    func noLineIsWiderThanTheTerminal(width: Int) {
        for report in [report(usual), Synthetic.comparison] {
            let widest = lines(report, width: width).map(\.count).max() ?? 0
            #expect(widest <= max(width, 49), "\(widest)")
        }
    }

    @Test func aDefaultRunTakesAtMostTwelveLines() {
        #expect(lines(report(usual)).count <= 12)
    }

    @Test func theEarliestBackendIsFirstAndTheFloorsAreLast() {
        let names = lines(report(usual)).dropFirst(2).prefix(6).map { $0.split(separator: "  ").first ?? "" }
        #expect(names == ["timerfd", "libevent", "dispatch", "runloop", "· floor-nanosleep", "· floor-timerfd"])
    }

    @Test func everyOtherRowIsComparedWithTheFirst() throws {
        let table = lines(report(usual))
        #expect(table[1].hasSuffix("p50 against timerfd"))
        #expect(!table[2].contains("later"))
        for line in table[3...5] { #expect(line.contains(" × later ("), "\(line)") }
        #expect(table.last == "Take timerfd.")
    }

    @Test func oneBackendHasNoAdvice() {
        let text = lines(report([("timerfd", .backend, 41), (RowKey.floor, .reference, 41)])).joined()
        #expect(!text.contains("Take"))
        #expect(lines(report([("timerfd", .backend, 41)]))[1].hasSuffix("CPU %"), "nothing to compare with")
    }

    @Test func aFigureThatNoRowHasIsNoColumn() {
        #expect(lines(report(usual, laps: 2))[1].contains(" p99 ") == false)
        #expect(lines(report(usual, laps: 10))[1].contains("p99 µs"))
        #expect(lines(report(usual, laps: 10), width: 200)[1].contains("p99.9") == false)
        #expect(lines(report(usual, laps: 50), width: 200)[1].contains("p99.9 µs"))
    }

    @Test func theDriftIsAColumnIfItWasMeasured() {
        #expect(lines(Synthetic.comparison)[1].contains("drift ppm"))
        let short = Synthetic.results([[Synthetic.cell(Synthetic.key("timerfd"), [5, 5])]])
        #expect(!lines(Report(short))[1].contains("drift"))
    }

    @Test func lateTicksAreExplained() {
        var late = LateTicks(threshold: 500_000)
        #expect(lines(report(usual, laps: 1, late: late)).contains("There is no tick later than 500 µs."))
        late.add(.waited)
        late.add(.stalled)
        late.add(.waited)
        let table = lines(report(usual, laps: 2, late: late), width: 120)
        let words = "6 ticks later than 500 µs: 4 waited for a processor, 2 held up by the host or by another thread."
        #expect(table.contains("runloop: \(words)"))
    }

    @Test func latenessIsThatOfAllDeadlines() throws {
        // One tick of ten deadlines carries nine, which were up to nine periods late.
        let ticks = [Point(time: 0, lateness: 9_000_000), Point(time: 10_000_000, lateness: 1000)]
        let cell = Synthetic.cell(Synthetic.key("timerfd"), ticks, cost: .init(cpu: 1, wakeUps: 1, contextSwitches: 1))
        let row = lines(Report(Synthetic.results([[cell]])))[2]
        #expect(row.split(separator: " ")[1] == "4002", "\(row)")
    }
}
