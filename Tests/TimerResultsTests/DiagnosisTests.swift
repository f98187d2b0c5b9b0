import Testing
import TimerResults

/// What limits the precision of machines that were made up.
@Suite struct DiagnosisTests {
    private typealias Change = @Sendable (inout MachineFacts) -> Void

    private static func host(
        machine: String = "x86_64",
        clockSource: String? = "tsc",
        governor: String? = "performance",
        hypervisor: Bool? = false,
        processors: Int = 8,
        usable: Int? = 8,
        quota: Double? = nil,
        clockRead: Double? = 21
    ) -> Host {
        var host = Host(
            system: "Linux",
            kernel: "6.12.0-rt",
            machine: machine,
            cpu: nil,
            processors: processors,
            build: .release
        )
        (host.clockSource, host.governor, host.hypervisor) = (clockSource, governor, hypervisor)
        (host.usableProcessors, host.cpuQuota, host.clockRead) = (usable, quota, clockRead)
        return host
    }

    /// A machine that is set up for real-time work.
    private static var good: MachineFacts {
        var facts = MachineFacts(host: host())
        facts.resolution = 1
        (facts.stolenSinceStart, facts.stolenNow) = (0, 0)
        (facts.othersShare, facts.waitingShare, facts.loadAverage) = (2, 1, 0.25)
        (facts.idleDriver, facts.idleGovernor) = ("intel_idle", "menu")
        (facts.deepestIdle, facts.idleExit) = ("C1", 2000)
        (facts.mayLimitIdle, facts.sharesCores, facts.preemption) = (true, false, "PREEMPT_RT")
        (facts.timerSlack, facts.realTimeShare, facts.isolated, facts.tickless) = (1, 100, "6-7", "6-7")
        facts.grantsSlice = true
        (facts.showsGroups, facts.allowsRealTime, facts.realTimeLimit) = (true, true, 50)
        facts.lockedMemory = .max
        return facts
    }

    /// The finding of a good machine with one difference.
    private func finding(_ name: String, _ change: Change) throws -> MachineFinding {
        var facts = Self.good
        change(&facts)
        return try #require(Diagnosis(of: facts).findings.first { $0.name == name })
    }

    @Test func nothingLimitsAGoodMachine() {
        let diagnosis = Diagnosis(of: Self.good)
        let other = diagnosis.findings.filter { $0.level != .good || $0.advice != nil }
        #expect(other.isEmpty)
        #expect(Set(diagnosis.findings.map(\.name)).count == 19)
        #expect(diagnosis.summary == "0 of 19 limit precision here.")
    }

    @Test func aMachineThatShowsNothingHasEveryFindingAllTheSame() {
        let host = Host(system: "Linux", kernel: "", machine: "aarch64", cpu: nil, processors: -1, build: .release)
        let diagnosis = Diagnosis(of: MachineFacts(host: host))
        #expect(diagnosis.findings.map(\.name) == Diagnosis(of: Self.good).findings.map(\.name))
        let other = diagnosis.findings.filter { $0.level != .unknown || $0.found != "not shown here" }
        #expect(other.isEmpty)
        #expect(diagnosis.summary == "0 of 19 limit precision here. 19 are unknown.")
    }

    /// One difference, and the finding that it makes of a good machine.
    private static let differences: [(String, MachineFinding.Level, String, Change)] = [
        ("clock source", .limits, "hpet", { $0.host = host(clockSource: "hpet") }),
        ("clock source", .unknown, "sundial, a rare one", { $0.host = host(clockSource: "sundial") }),
        ("clock source", .good, "arch_sys_counter", { $0.host = host(clockSource: "arch_sys_counter") }),
        ("clock reading", .limits, "900 ns", { $0.host = host(clockRead: 900) }),
        ("timer resolution", .limits, "4 ms", { $0.resolution = 4_000_000 }),
        ("timer resolution", .good, "1 ns, read in steps of 42 ns", { $0.clockStep = 1e9 / 24e6 }),
        ("timer resolution", .good, "1 ns", { $0.clockStep = 1 }),
        ("virtual machine", .limits, "yes", { $0.host = host(hypervisor: true) }),
        ("stolen time", .limits, "0.0 % since the start, 4.0 % in 0.5 s of work", { $0.stolenNow = 4 }),
        ("stolen time", .good, "0.0 % since the start", { $0.stolenNow = nil }),
        // A host that counts none looks like one that steals none.
        ("stolen time", .unknown, "not counted here", { $0.host = host(machine: "aarch64", hypervisor: nil) }),
        (
            "other programs", .good, "20 % of the processors, waiting 10 % of the time, load average 3.0",
            {
                ($0.othersShare, $0.waitingShare, $0.loadAverage) = (20, 10, 3)
            }
        ),
        (
            "other programs", .limits, "21 % of the processors",
            {
                ($0.othersShare, $0.waitingShare, $0.loadAverage) = (21, nil, nil)
            }
        ),
        (
            "other programs", .limits, "waiting 11 % of the time",
            {
                ($0.othersShare, $0.waitingShare, $0.loadAverage) = (nil, 11, nil)
            }
        ),
        ("other programs", .unknown, "load average 0.3", { ($0.othersShare, $0.waitingShare) = (nil, nil) }),
        ("frequency governor", .limits, "powersave", { $0.host = host(governor: "powersave") }),
        (
            "idle states", .limits, "intel_idle, menu, deepest: C6, exit in up to 133 µs",
            {
                ($0.deepestIdle, $0.idleExit) = ("C6", 133_000)
            }
        ),
        (
            "idle states", .good, "not used (nohlt)",
            {
                ($0.host, $0.pollsWhenIdle) = (host(machine: "aarch64", hypervisor: true), true)
            }
        ),
        ("idle states", .unknown, "no driver, menu, deepest: C1", { ($0.idleDriver, $0.idleExit) = ("none", nil) }),
        ("idle latency limit", .usual, "/dev/cpu_dma_latency, not writable", { $0.mayLimitIdle = false }),
        ("hyper-threading", .usual, "on", { $0.sharesCores = true }),
        ("hyper-threading", .good, "off, as far as the host shows it", { $0.host = host(hypervisor: true) }),
        ("preemption", .limits, "voluntary, or none", { $0.preemption = "" }),
        ("preemption", .usual, "PREEMPT_DYNAMIC", { $0.preemption = "PREEMPT_DYNAMIC" }),
        ("timer slack", .usual, "up to 50 µs", { $0.timerSlack = 50_000 }),
        ("slice", .usual, "the kernel's own", { $0.grantsSlice = false }),
        ("real-time throttling", .usual, "limit: 95 % of the time for real-time threads", { $0.realTimeShare = 95 }),
        ("isolated processors", .usual, "none", { ($0.isolated, $0.tickless) = ("", nil) }),
        ("isolated processors", .good, "2-3", { ($0.isolated, $0.tickless) = ("2-3", "") }),
        ("isolated processors", .good, "2-3, without ticks 3", { ($0.isolated, $0.tickless) = ("2-3", "3") }),
        ("isolated processors", .usual, "none", { ($0.isolated, $0.tickless) = (nil, "") }),
        ("processors", .good, "8 online, 2 usable", { $0.host = host(usable: 2) }),
        ("processors", .limits, "8 online, 1 usable", { $0.host = host(usable: 1) }),
        ("processors", .limits, "1 online", { $0.host = host(processors: 1, usable: nil) }),
        ("processor quota", .limits, "limit: 1.50 processors", { $0.host = host(quota: 1.5) }),
        ("processor quota", .unknown, "not shown here", { $0.showsGroups = false }),
        ("memory locking", .usual, "limit: 8 MiB", { $0.lockedMemory = 8 << 20 }),
        ("memory locking", .usual, "limit: 64 KiB", { $0.lockedMemory = 65536 }),
    ]

    @Test(arguments: differences.indices)
    func eachFactHasItsFinding(_ index: Int) throws {
        let (name, level, found, change) = Self.differences[index]
        let finding = try finding(name, change)
        #expect(finding.level == level, "\(name)")
        #expect(finding.found == found)
        // What can be better has advice in one sentence.
        let advice = finding.advice ?? ""
        #expect(advice.isEmpty == [.good, .unknown].contains(level), "\(name)")
        #expect(advice.isEmpty || advice.hasSuffix(".") && !advice.dropLast().contains(". "), "\(advice)")
    }

    @Test func everyFindingCanSayMoreThanGood() {
        let worse = Set(Self.differences.filter { $0.1 == .limits || $0.1 == .usual }.map(\.0))
        #expect(worse.union(["real-time priority"]) == Set(Diagnosis(of: Self.good).findings.map(\.name)))
    }

    @Test(
        arguments: [
            (true, 99, false, "allowed, limit: 99 (RLIMIT_RTPRIO)"), (true, 0, true, "allowed, CAP_SYS_NICE"),
            (true, .max, false, "allowed, no limit"), (true, nil, nil, "allowed"), (false, 0, false, "refused"),
            (false, nil, nil, "refused"), (false, 0, true, "refused, despite CAP_SYS_NICE"),
            (false, 5, false, "refused, despite limit: 5 (RLIMIT_RTPRIO)"),
        ] as [(Bool, UInt64?, Bool?, String)]
    )
    func aTrialDecidesAboutRealTimePriorities(
        _ isAllowed: Bool,
        _ limit: UInt64?,
        _ right: Bool?,
        _ found: String
    ) throws {
        let finding = try finding("real-time priority") { facts in
            (facts.allowsRealTime, facts.realTimeLimit, facts.maySetPriorities) = (isAllowed, limit, right)
        }
        #expect(finding.found == found)
        #expect(finding.level == (isAllowed ? .good : .usual))
        #expect(finding.advice?.hasSuffix(".") == (isAllowed ? nil : true))
    }

    @Test func aVirtualMachineWithTheSettingsOfADistributionHasThreeLimits() {
        var facts = Self.good
        facts.host = Self.host(clockSource: "kvm-clock", governor: nil, hypervisor: true)
        (facts.stolenSinceStart, facts.idleDriver, facts.idleGovernor) = (0.5, "haltpoll", "haltpoll")
        (facts.mayLimitIdle, facts.preemption, facts.timerSlack) = (false, "PREEMPT_DYNAMIC", 50_000)
        (facts.grantsSlice, facts.realTimeShare, facts.isolated, facts.tickless) = (false, 95, "", nil)
        (facts.allowsRealTime, facts.realTimeLimit, facts.lockedMemory) = (false, 0, 8 << 20)
        let diagnosis = Diagnosis(of: facts)
        let limits = diagnosis.findings.filter { $0.level == .limits }.map(\.name)
        #expect(limits == ["virtual machine", "stolen time", "idle states"])
        #expect(diagnosis.summary == "3 of 19 limit precision here. 1 is unknown.")
    }

    private static let remedies: [(String, String, Change)] = [
        (
            "clock source", "write tsc to /sys/devices/system/clocksource/",
            {
                ($0.host, $0.clockSources) = (host(clockSource: "acpi_pm"), ["acpi_pm", "tsc"])
            }
        ),
        (
            "clock source", "no better source",
            {
                ($0.host, $0.clockSources) = (host(clockSource: "hpet"), ["hpet", "acpi_pm"])
            }
        ),
        ("idle states", "late: ask for an idle latency of 0", { $0.idleExit = 133_000 }),
        ("idle states", "as root, ask for an idle latency of 0", { ($0.idleExit, $0.mayLimitIdle) = (133_000, false) }),
        // The device has no effect without a driver.
        (
            "idle states", "The host wakes an idle processor late: boot with idle=poll",
            {
                ($0.host, $0.idleDriver, $0.idleExit) = (host(hypervisor: true), "none", nil)
            }
        ),
    ]

    @Test(arguments: remedies.indices)
    func adviceIsWhatHelpsHere(_ index: Int) throws {
        let (name, part, change) = Self.remedies[index]
        let advice = try #require(try finding(name, change).advice)
        #expect(advice.contains(part), "\(advice)")
    }
}
