#if Instrument && DEBUG
import Testing

@testable import BackendComparison

/// The facts of this machine for a diagnosis.
struct MachineFactsTests {
    @Test func thisMachineShowsItsFacts() throws {
        let facts = MachineFacts.current
        #expect(try #require(facts.resolution) > 0)
        #expect(facts.timerSlack != nil && facts.preemption != nil && facts.loadAverage != nil)
        #expect((0...100).contains(facts.waitingShare ?? 0))
        #expect((0...110).contains(try #require(facts.othersShare)))
        #expect(facts.findings.allSatisfy { !$0.found.isEmpty })
    }

    @Test func theVersionNamesTheModelOfPreemption() {
        let versions = [
            "#1 SMP PREEMPT_DYNAMIC Debian 6.12.1-1", "#1 SMP PREEMPT_RT Debian 6.12.1-1",
            "#1 SMP PREEMPT RT Debian 4.19", "#1 SMP PREEMPT Tue", "#1 SMP Sun Jan 10", "",
        ]
        let models: [String?] = ["PREEMPT_DYNAMIC", "PREEMPT_RT", "PREEMPT_RT", "PREEMPT", "", nil]
        #expect(versions.map { MachineFacts.preemption(version: $0) } == models)
    }

    /// The texts of Debian's kernels, and their defaults.
    @Test func aDynamicKernelRunsWhatItShowsOrWasBootedWith() {
        let (old, new) = ("6.1.0-50-amd64", "7.2.13+deb14-amd64")
        let voluntary = "# CONFIG_PREEMPT_NONE is not set\nCONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_PREEMPT_DYNAMIC=y\n"
        // A kernel, what it shows to root, its boot options, its configuration, and its mode.
        let cases: [(String, String?, String?, String?, String?)] = [
            (old, "none (voluntary) full ", "quiet", nil, "voluntary"), (new, "full (lazy) ", "quiet", nil, "lazy"),
            (new, "(full) lazy ", nil, nil, "full"), (old, nil, "quiet preempt=full", voluntary, "full"),
            (old, nil, "preempt=full preempt=none", nil, "none"), (old, nil, "quiet", voluntary, "voluntary"),
            (old, nil, "quiet", "CONFIG_PREEMPT=y\nCONFIG_PREEMPT_DYNAMIC=y\n", "full"),
            (new, nil, "quiet", "CONFIG_PREEMPT_LAZY=y\n", "lazy"), (new, nil, "preempt=lazy", nil, "lazy"),
            // It does not have the mode, and so ignores the option.
            (new, nil, "preempt=none", nil, nil), (old, nil, "preempt=lazy", nil, nil),
            (old, nil, "quiet", nil, nil), (old, nil, nil, voluntary, nil), ("", nil, nil, nil, nil),
        ]
        let found = cases.map { kernel, shown, options, configuration, _ in
            let host = Host(system: "", kernel: kernel, machine: "x86_64", cpu: nil, processors: 1, build: .release)
            return MachineFacts.preemptionMode(
                on: host,
                shown: shown,
                bootOptions: options,
                configuration: configuration
            )
        }
        #expect(found == cases.map(\.4))
    }

    @Test func theFairServerKeepsTheLargestShareOfAllProcessors() {
        let files = ["0 runtime": "50000000", "0 period": "1000000000", "1 runtime": "0", "1 period": "1000000000"]
        let shares = [[0, 1], [1], [0, 2], []].map { MachineFacts.fairShare(of: $0) { files["\($0) \($1)"] } }
        #expect(shares == [5, 0, nil, nil])
    }

    @Test func isolatedProcessorsAreUsedIfTheProcessMayRunThere() {
        let cases: [([Int]?, [String?], Bool?)] = [
            ([0, 1], ["1", nil], true), ([0], ["1", ""], false), ([0], ["", "0-3"], true), ([0], [nil, nil], nil),
            (nil, ["1"], nil), ([0], ["nonsense"], nil),
        ]
        #expect(cases.map { MachineFacts.areSome($0.0, in: $0.1) } == cases.map(\.2))
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
}

/// The facts of this machine.
struct HostTests {
    @Test func thisMachineHasFacts() throws {
        let host = Host.current
        #expect((1...host.processors).contains(try #require(host.usableProcessors)))
        let price = try #require(host.clockRead)
        #expect(price > 1 && price < 100_000)
        #expect(host.clockSource?.isEmpty == false)
    }

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
}
#endif
