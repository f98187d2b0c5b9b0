import Testing
import TimerResults

/// What limits the precision of machines that were made up.
@Suite struct DiagnosisTests {
    /// A machine that is set up for real-time work.
    private static var good: MachineFacts {
        var facts = MachineFacts(
            host: Host(
                system: "Linux",
                kernel: "6.12.0-rt",
                machine: "x86_64",
                cpu: nil,
                processors: 8,
                build: .release,
                clockSource: "tsc",
                governor: "performance",
                hypervisor: false,
                usableProcessors: 8,
                clockRead: 21
            )
        )
        facts.resolution = 1
        (facts.stolenSinceStart, facts.stolenNow) = (0, 0)
        (facts.idleDriver, facts.idleGovernor) = ("intel_idle", "menu")
        (facts.deepestIdle, facts.idleExit) = ("C1", 2000)
        (facts.mayLimitIdle, facts.sharesCores, facts.preemption) = (true, false, "PREEMPT_RT")
        (facts.timerSlack, facts.realTimeShare, facts.isolated, facts.tickless) = (1, 100, "6-7", "6-7")
        facts.grantsSlice = true
        (facts.showsGroups, facts.allowsRealTime, facts.realTimeLimit) = (true, true, 50)
        facts.lockedMemory = .max
        return facts
    }

    /// A kernel that shows nothing but its name.
    private static let bare = MachineFacts(
        host: Host(system: "Linux", kernel: "", machine: "aarch64", cpu: nil, processors: -1, build: .release)
    )

    /// The finding of a good machine with one difference.
    private func finding(
        _ name: MachineFinding.Name,
        _ change: (inout MachineFacts) -> Void
    ) -> MachineFinding? {
        var facts = Self.good
        change(&facts)
        return Diagnosis(of: facts).findings.first { $0.name == name }
    }

    /// The finding of a good machine with another host.
    private func finding(
        _ name: MachineFinding.Name,
        clockSource: String? = "tsc",
        governor: String? = "performance",
        hypervisor: Bool? = false,
        processors: Int = 8,
        usable: Int? = 8,
        quota: Double? = nil,
        clockRead: Double? = 21,
        _ change: (inout MachineFacts) -> Void = { _ in }
    ) -> MachineFinding? {
        finding(name) { facts in
            facts.host = Host(
                system: "Linux",
                kernel: "6.12.0-rt",
                machine: "x86_64",
                cpu: nil,
                processors: processors,
                build: .release,
                clockSource: clockSource,
                governor: governor,
                hypervisor: hypervisor,
                usableProcessors: usable,
                cpuQuota: quota,
                clockRead: clockRead
            )
            change(&facts)
        }
    }

    @Test func nothingLimitsAGoodMachine() {
        let diagnosis = Diagnosis(of: Self.good)
        let other = diagnosis.findings.filter { $0.level != .good }
        #expect(other.isEmpty)
        #expect(diagnosis.summary == "0 of 18 limit precision here.")
    }

    @Test func aMachineThatShowsNothingHasEveryFindingAllTheSame() {
        let diagnosis = Diagnosis(of: Self.bare)
        #expect(diagnosis.findings.map(\.name) == MachineFinding.Name.allCases)
        let other = diagnosis.findings.filter { $0.level != .unknown || $0.found != "not shown here" }
        #expect(other.isEmpty)
        #expect(diagnosis.summary == "0 of 18 limit precision here. 18 are unknown.")
    }

    @Test func aVirtualMachineWithTheSettingsOfADistributionHasThreeLimits() {
        var facts = Self.good
        facts.host = Host(
            system: "Linux",
            kernel: "6.8.0",
            machine: "x86_64",
            cpu: nil,
            processors: 2,
            build: .release,
            clockSource: "kvm-clock",
            hypervisor: true,
            usableProcessors: 2,
            clockRead: 35
        )
        (facts.stolenSinceStart, facts.idleDriver, facts.idleGovernor) = (0.5, "haltpoll", "haltpoll")
        (facts.deepestIdle, facts.idleExit) = ("haltpoll idle", 1000)
        (facts.mayLimitIdle, facts.preemption, facts.timerSlack) = (false, "PREEMPT_DYNAMIC", 50_000)
        facts.grantsSlice = false
        (facts.realTimeShare, facts.isolated, facts.tickless) = (95, "", nil)
        (facts.allowsRealTime, facts.realTimeLimit, facts.lockedMemory) = (false, 0, 8 << 20)
        let findings = Diagnosis(of: facts).findings
        func names(_ level: MachineFinding.Level) -> [MachineFinding.Name] {
            findings.filter { $0.level == level }.map(\.name)
        }
        #expect(names(.limits) == [.virtualMachine, .stolenTime, .idleStates])
        #expect(names(.unknown) == [.governor])
        #expect(
            names(.usual) == [
                .idleControl, .preemption, .timerSlack, .slice, .throttling, .isolation, .realTime, .lockedMemory,
            ]
        )
        #expect(Diagnosis(of: facts).summary == "3 of 18 limit precision here. 1 is unknown.")
    }

    @Test func whatCanBeBetterHasAdviceInOneSentence() {
        let made = [
            finding(.clockSource, clockSource: "hpet"), finding(.clockReading, clockRead: 900),
            finding(.virtualMachine, hypervisor: true), finding(.governor, governor: "powersave"),
            finding(.idleStates, hypervisor: true), finding(.processors, usable: 1), finding(.quota, quota: 0.5),
            finding(.resolution) { $0.resolution = 4_000_000 }, finding(.stolenTime) { $0.stolenNow = 4 },
            finding(.idleStates) { $0.idleExit = 133_000 }, finding(.idleControl) { $0.mayLimitIdle = false },
            finding(.siblings) { $0.sharesCores = true }, finding(.preemption) { $0.preemption = "" },
            finding(.preemption) { $0.preemption = "PREEMPT" }, finding(.timerSlack) { $0.timerSlack = 50_000 },
            finding(.slice) { $0.grantsSlice = false }, finding(.throttling) { $0.realTimeShare = 95 },
            finding(.isolation) { ($0.isolated, $0.tickless) = ("", "") },
            finding(.realTime) { $0.allowsRealTime = false }, finding(.lockedMemory) { $0.lockedMemory = 65536 },
        ]
        for finding in made {
            let advice = finding?.advice ?? ""
            #expect(finding?.level == .limits || finding?.level == .usual, "\(finding?.name.rawValue ?? "")")
            #expect(advice.hasSuffix(".") && !advice.dropLast().contains(". "), "\(advice)")
        }
        #expect(Set(made.compactMap { $0?.name }).count == MachineFinding.Name.allCases.count)
    }

    @Test func aSlowClockSourceIsReplacedByTheFastOneThatTheKernelHas() throws {
        let known = finding(.clockSource, clockSource: "acpi_pm") { $0.clockSources = ["acpi_pm", "tsc"] }
        #expect(try #require(known?.advice).contains("write tsc to /sys/devices/system/clocksource/"))
        let alone = finding(.clockSource, clockSource: "hpet") { $0.clockSources = ["hpet", "acpi_pm"] }
        #expect(try #require(alone?.advice).contains("no better source"))
        #expect(finding(.clockSource, clockSource: "sundial")?.level == .unknown)
        #expect(finding(.clockSource, clockSource: "arch_sys_counter")?.level == .good)
    }

    @Test func onArmTheFindingsAreThoseOfArm() throws {
        var facts = Self.good
        facts.host = Host(
            system: "Linux",
            kernel: "6.12.0",
            machine: "aarch64",
            cpu: nil,
            processors: 4,
            build: .release,
            clockSource: "arch_sys_counter"
        )
        (facts.clockStep, facts.pollsWhenIdle) = (1e9 / 24e6, true)
        let findings = Diagnosis(of: facts).findings
        let found = { (name: MachineFinding.Name) in findings.first { $0.name == name } }
        #expect(found(.resolution)?.found == "1 ns, read in steps of 42 ns")
        #expect(found(.idleStates)?.found == "not used (nohlt)")
        #expect(found(.stolenTime)?.level == .unknown, "a host that counts none looks as one that steals none")
        facts.clockStep = 1
        #expect(Diagnosis(of: facts).findings.first { $0.name == .resolution }?.found == "1 ns")
    }

    @Test func idleProcessorsWakeLateIfTheirStateIsDeepOrTheHostHasThem() throws {
        let deep = try #require(finding(.idleStates) { ($0.deepestIdle, $0.idleExit) = ("C6", 133_000) })
        #expect(deep.level == .limits)
        #expect(deep.found == "intel_idle, menu; deepest: C6, exit in 133 µs")
        #expect(try #require(deep.advice).contains("late: ask for an idle latency of 0"))
        let user = finding(.idleStates) { ($0.idleExit, $0.mayLimitIdle) = (133_000, false) }
        #expect(try #require(user?.advice).contains("as root, ask for an idle latency of 0"))
        // The device has no effect without a driver.
        let halted = finding(.idleStates, hypervisor: true) { ($0.idleDriver, $0.idleExit) = ("none", nil) }
        #expect(try #require(halted?.advice).contains("late: boot with idle=poll"))
        #expect(finding(.idleStates, hypervisor: true) { $0.pollsWhenIdle = true }?.level == .good)
        #expect(finding(.idleStates) { ($0.idleDriver, $0.idleExit) = ("none", nil) }?.level == .unknown)
    }

    @Test(
        arguments: [
            (true, 99, false, "allowed, up to 99"), (true, 10, false, "allowed, up to 10"),
            (true, 0, true, "allowed, up to 99"), (true, .max, false, "allowed, up to 99"),
            (true, nil, nil, "allowed"), (false, 0, false, "refused"), (false, nil, nil, "refused"),
            (false, 0, true, "refused, in spite of CAP_SYS_NICE"),
            (false, 5, false, "refused, in spite of RLIMIT_RTPRIO 5"),
        ] as [(Bool, UInt64?, Bool?, String)]
    )
    func aTrialDecidesAboutRealTimePriorities(_ isAllowed: Bool, _ limit: UInt64?, _ right: Bool?, _ found: String) {
        let finding = finding(.realTime) { facts in
            (facts.allowsRealTime, facts.realTimeLimit, facts.maySetPriorities) = (isAllowed, limit, right)
        }
        #expect(finding?.found == found)
        #expect(finding?.level == (isAllowed ? .good : .usual))
    }

    @Test func lockedMemoryHasALimitUnlessTheRightLiftsIt() {
        #expect(finding(.lockedMemory) { $0.lockedMemory = 8 << 20 }?.found == "up to 8 MiB")
        #expect(finding(.lockedMemory) { $0.lockedMemory = 65536 }?.found == "up to 64 KiB")
        #expect(
            finding(.lockedMemory) { ($0.lockedMemory, $0.mayLockMemory) = (65536, true) }?.found
                == "without limit (CAP_IPC_LOCK)"
        )
    }

    @Test func processorsAreThoseThatTheProcessMayUse() {
        #expect(finding(.processors, usable: 2)?.found == "8 online, 2 usable")
        #expect(finding(.processors, usable: 1)?.level == .limits)
        #expect(finding(.processors, processors: 1, usable: nil)?.level == .limits)
        #expect(finding(.quota, quota: 1.5)?.found == "1.50 processors")
        #expect(finding(.quota) { $0.showsGroups = false }?.level == .unknown)
    }

    @Test func isolatedProcessorsAreNamed() {
        #expect(finding(.isolation) { ($0.isolated, $0.tickless) = ("2-3", "") }?.found == "2-3")
        #expect(finding(.isolation) { ($0.isolated, $0.tickless) = ("", "3") }?.found == "without ticks 3")
        #expect(finding(.isolation) { ($0.isolated, $0.tickless) = ("2-3", "3") }?.found == "2-3, without ticks 3")
        #expect(finding(.isolation) { ($0.isolated, $0.tickless) = (nil, "") }?.found == "none")
    }
}
