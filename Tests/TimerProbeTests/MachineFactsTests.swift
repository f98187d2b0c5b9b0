import Testing
import TimerProbe
import TimerResults

/// The facts of this machine for a diagnosis.
struct MachineFactsTests {
    @Test func theVersionNamesTheModelOfPreemption() {
        let versions = [
            "#1 SMP PREEMPT_DYNAMIC Debian 6.12.1-1", "#1 SMP PREEMPT_RT Debian 6.12.1-1",
            "#1 SMP PREEMPT RT Debian 4.19", "#1 SMP PREEMPT Tue", "#1 SMP Sun Jan 10", "",
        ]
        let models = ["PREEMPT_DYNAMIC", "PREEMPT_RT", "PREEMPT_RT", "PREEMPT", "", ""]
        #expect(versions.map { MachineFacts.preemption(version: $0) } == models)
    }

    @Test func otherProgramsHaveTheTimeThatThisProcessHasNot() {
        let shares = [(1.5, 0.5), (0.5, 0.5), (0.4, 0.5), (0, 0.5)]
            .map { MachineFacts.othersShare(busy: $0, own: $1, of: 2) }
        #expect(shares == [50, 0, 0, nil])
    }

    @Test func realTimeThreadsHaveAShareOfThePeriod() {
        let files: [(String?, String?)] = [
            ("950000", "1000000"), ("-1", "1000000"), ("0", "1000000"), ("950000", "0"), (nil, "1000000"),
            ("950000", nil), ("much", "1000000"),
        ]
        let shares = files.map { MachineFacts.realTimeShare(runtime: $0, period: $1) }
        #expect(shares == [95, 100, 0, nil, nil, nil, nil])
    }

    @Test func thisMachineShowsItsFacts() throws {
        let facts = MachineFacts.current
        #expect(try #require(facts.resolution) > 0)
        #expect(facts.timerSlack != nil && facts.preemption != nil && facts.loadAverage != nil)
        #expect((0...100).contains(facts.waitingShare ?? 0))
        #expect((0...110).contains(try #require(facts.othersShare)))
        #expect(Diagnosis(of: facts).findings.allSatisfy { !$0.found.isEmpty })
    }
}

/// The facts of this machine.
struct HostTests {
    @Test func aVirtualMachineIsKnownByItsFlag() {
        let texts = ["processor : 0\nflags : fpu hypervisor lahf\n", "flags : fpu\n", "Features : fp\n"]
        #expect(texts.map { Host.isGuest(in: $0) } == [true, false, nil])
    }

    @Test func theModelIsTheFirstOneNamed() {
        let text = "processor : 0\nmodel name\nmodel name :\nmodel name\t:  A  CPU @ 2.1 GHz\nmodel name : B\n"
        let arm = "CPU implementer\t: 0x41\nCPU part\t: 0xd0c\nCPU implementer\t: 0x41\nCPU part\t: 0xd0b\n"
        let models = [text, "processor : 0\n", arm + arm].map { Host.cpuModel(in: $0) }
        #expect(models == ["A CPU @ 2.1 GHz", nil, "implementer 0x41, part 0xd0b and 0xd0c"])
    }

    @Test func thisMachineHasFacts() throws {
        let host = Host.current
        #expect((1...host.processors).contains(try #require(host.usableProcessors)))
        let price = try #require(host.clockRead)
        #expect(price > 1 && price < 100_000)
        #expect(host.clockSource?.isEmpty == false)
    }
}
