import Testing
import TimerReport
import TimerResults

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
        #expect(lines.last == "6 of 17 limit precision here. 3 are unknown.")
    }

    @Test func onlyLimitsAreStrong() {
        let strong = lines(inColour: true).filter { $0.hasPrefix("\u{1B}[1m") }
        #expect(strong.count == 6)
        let other = strong.filter { !$0.hasPrefix("\u{1B}[1mlimits\u{1B}[0m   ") }
        #expect(other.isEmpty)
    }
}
