import ResultsSupport
import Testing
import TimerReport
import TimerResults

/// The table that a person reads first.
@Suite struct ShortTableTests {
    /// Backends and floors with latenesses in µs, in laps whose latenesses vary.
    private static func report(_ rows: [(String, RowKey.Kind, Int64)], laps: Int = 30, late: LateTicks? = nil) -> Report
    {
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

    private static let usual: [(String, RowKey.Kind, Int64)] = [
        ("dispatch", .backend, 54), ("timerfd", .backend, 41), ("libevent", .backend, 48), ("runloop", .backend, 60),
        ("floor-nanosleep", .reference, 40), (RowKey.floor, .reference, 41),
    ]

    /// Computed once.
    private static let usualReport = report(usual)

    @Test(arguments: [60, 80, 100])
    func aTableIsGolden(width: Int) throws {
        try Golden.expect(ShortTable(Synthetic.comparison, width: width).description + "\n", in: "short-\(width).txt")
    }

    @Test(arguments: [40, 50, 60, 70, 80, 100, 200])
    func noLineIsWiderThanTheTerminal(width: Int) {
        for report in [Self.usualReport, Synthetic.comparison] {
            let widest = lines(report, width: width).map(\.count).max() ?? 0
            #expect(widest <= max(width, 49), "\(widest)")
        }
    }

    @Test func aDefaultRunTakesAtMostTwelveLines() {
        #expect(lines(Self.usualReport).count <= 12)
    }

    @Test func theEarliestBackendIsFirstAndTheFloorsAreLast() {
        let names = lines(Self.usualReport).dropFirst(2).prefix(6).map { $0.split(separator: "  ").first ?? "" }
        #expect(names == ["timerfd", "libevent", "dispatch", "runloop", "· floor-nanosleep", "· floor-timerfd"])
    }

    @Test func everyOtherRowIsComparedWithTheFirst() throws {
        let table = lines(Self.usualReport)
        #expect(table[1].hasSuffix("p50 against timerfd"))
        #expect(!table[2].contains("later"))
        for line in table[3...5] { #expect(line.contains(" × later ("), "\(line)") }
        #expect(table.last == "Take timerfd.")
    }

    @Test func oneBackendHasNoAdvice() {
        let text = lines(Self.report([("timerfd", .backend, 41), (RowKey.floor, .reference, 41)])).joined()
        #expect(!text.contains("Take"))
        #expect(lines(Self.report([("timerfd", .backend, 41)]))[1].hasSuffix("CPU %"), "nothing to compare with")
    }

    @Test func aFigureThatNoRowHasIsNoColumn() {
        #expect(lines(Self.report(Self.usual, laps: 2))[1].contains(" p99 ") == false)
        #expect(lines(Self.report(Self.usual, laps: 10))[1].contains("p99 µs"))
        #expect(lines(Self.report(Self.usual, laps: 10), width: 200)[1].contains("p99.9") == false)
        #expect(lines(Self.report(Self.usual, laps: 50), width: 200)[1].contains("p99.9 µs"))
    }

    @Test func theDriftIsAColumnIfItWasMeasured() {
        #expect(lines(Synthetic.comparison)[1].contains("drift ppm"))
        let short = Synthetic.results([[Synthetic.cell(Synthetic.key("timerfd"), [5, 5])]])
        #expect(!lines(Report(short))[1].contains("drift"))
    }

    @Test func lateTicksAreExplained() {
        var late = LateTicks(threshold: 500_000)
        #expect(lines(Self.report(Self.usual, laps: 1, late: late)).contains("There is no tick later than 500 µs."))
        late.add(.waited)
        late.add(.stalled)
        late.add(.waited)
        let table = lines(Self.report(Self.usual, laps: 2, late: late), width: 120)
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

/// A diagnosis on a terminal.
@Suite struct DiagnosisTableTests {
    private static let diagnosis: Diagnosis = {
        var facts = MachineFacts(
            host: Host(
                system: "Linux",
                kernel: "6.8.0",
                machine: "x86_64",
                cpu: nil,
                processors: 2,
                build: .release,
                clockSource: "acpi_pm",
                hypervisor: true,
                clockRead: 1200
            )
        )
        (facts.stolenSinceStart, facts.stolenNow, facts.clockSources) = (0.5, 12, ["acpi_pm", "tsc"])
        (facts.idleDriver, facts.deepestIdle, facts.idleExit) = ("intel_idle", "C6", 133_000)
        (facts.mayLimitIdle, facts.sharesCores, facts.preemption, facts.timerSlack) = (false, true, "", 50_000)
        (facts.realTimeShare, facts.isolated, facts.allowsRealTime, facts.lockedMemory) = (95, "", false, 65536)
        return Diagnosis(of: facts)
    }()

    private func lines(width: Int = 80, inColour: Bool = false) -> [String] {
        DiagnosisTable(Self.diagnosis, width: width, inColour: inColour).description.split(separator: "\n")
            .map(String.init)
    }

    @Test(arguments: [40, 60, 80, 120])
    func noLineIsWiderThanTheTerminal(width: Int) {
        // The longest file of an advice cannot be broken.
        let widest = lines(width: width).map(\.count).max() ?? 0
        #expect(widest <= max(width, 75), "\(widest)")
    }

    @Test func eachFindingHasALineAndItsAdviceStandsBelow() throws {
        let lines = lines()
        for name in MachineFinding.Name.allCases {
            let count = lines.count { $0.dropFirst(9).hasPrefix("\(name.rawValue)  ") }
            #expect(count == 1, "\(name.rawValue)")
        }
        let line = try #require(lines.firstIndex { $0.contains("virtual machine") })
        #expect(lines[line] == "limits   virtual machine       yes")
        #expect(lines[line + 1].hasPrefix("         The host can stop"))
        #expect(lines.last == "6 of 18 limit precision here. 4 are unknown.")
    }

    @Test func onlyLimitsAreStrong() {
        let strong = lines(inColour: true).filter { $0.hasPrefix("\u{1B}[1m") }
        #expect(strong.count == 6)
        let other = strong.filter { !$0.hasPrefix("\u{1B}[1mlimits\u{1B}[0m   ") }
        #expect(other.isEmpty)
    }
}
