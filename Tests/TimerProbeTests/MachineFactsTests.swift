import Testing
import TimerProbe
import TimerResults

/// The facts of this machine for a diagnosis.
struct MachineFactsTests {
    @Test(
        arguments: [
            ("#1 SMP PREEMPT_DYNAMIC Debian 6.12.1-1", "PREEMPT_DYNAMIC"),
            ("#1 SMP PREEMPT_RT Debian 6.12.1-1", "PREEMPT_RT"), ("#1 SMP PREEMPT RT Debian 4.19", "PREEMPT_RT"),
            ("#1 SMP PREEMPT Tue", "PREEMPT"), ("#1 SMP Sun Jan 10", ""), ("", ""),
        ]
    )
    func theVersionNamesTheModelOfPreemption(_ version: String, _ expected: String) {
        #expect(MachineFacts.preemption(version: version) == expected)
    }

    @Test(arguments: [(1.5, 0.5, 50), (0.5, 0.5, 0), (0.4, 0.5, 0), (0, 0.5, nil)] as [(Double, Double, Double?)])
    func otherProgramsHaveTheTimeThatThisProcessHasNot(_ busy: Double, _ own: Double, _ share: Double?) {
        #expect(MachineFacts.othersShare(busy: busy, own: own, of: 2) == share)
    }

    @Test(
        arguments: [
            ("950000", "1000000", 95), ("-1", "1000000", 100), ("0", "1000000", 0), ("950000", "0", nil),
            (nil, "1000000", nil), ("950000", nil, nil), ("much", "1000000", nil),
        ] as [(String?, String?, Double?)]
    )
    func realTimeThreadsHaveAShareOfThePeriod(_ runtime: String?, _ period: String?, _ share: Double?) {
        #expect(MachineFacts.realTimeShare(runtime: runtime, period: period) == share)
    }

    @Test func thisMachineShowsItsFacts() throws {
        let facts = MachineFacts.current
        #expect(try #require(facts.resolution) > 0)
        #expect(facts.timerSlack != nil && facts.preemption != nil && facts.loadAverage != nil)
        #expect((0...100).contains(facts.waitingShare ?? 0))
        #expect((0...110).contains(try #require(facts.othersShare)))
        let silent = Diagnosis(of: facts).findings.filter(\.found.isEmpty)
        #expect(silent.isEmpty)
    }
}

/// The facts of this machine.
struct HostTests {
    @Test func aVirtualMachineIsKnownByItsFlag() {
        #expect(Host.isGuest(in: "processor : 0\nflags : fpu hypervisor lahf\n") == true)
        #expect(Host.isGuest(in: "flags : fpu\n") == false)
        #expect(Host.isGuest(in: "Features : fp\n") == nil)
    }

    @Test func theModelIsTheFirstOneNamed() {
        let text = "processor : 0\nmodel name\nmodel name :\nmodel name\t:  A  CPU @ 2.1 GHz\nmodel name : B\n"
        #expect(Host.cpuModel(in: text) == "A CPU @ 2.1 GHz")
        #expect(Host.cpuModel(in: "processor : 0\n") == nil)
        let arm = "CPU implementer\t: 0x41\nCPU part\t: 0xd0c\nCPU implementer\t: 0x41\nCPU part\t: 0xd0b\n"
        #expect(Host.cpuModel(in: arm + arm) == "implementer 0x41, part 0xd0b and 0xd0c")
    }

    @Test func thisMachineHasFacts() throws {
        let host = Host.current
        #expect((1...host.processors).contains(try #require(host.usableProcessors)))
        let price = try #require(host.clockRead)
        #expect(price > 1 && price < 100_000)
        #expect(host.clockSource?.isEmpty == false)
    }
}
