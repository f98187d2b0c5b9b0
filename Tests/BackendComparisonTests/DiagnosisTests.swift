#if Instrument && DEBUG
import Testing

@testable import BackendComparison

/// What limits the precision of machines that were made up.
@Suite struct DiagnosisTests {
    typealias Change = @Sendable (inout MachineFacts) -> Void

    private static func host(
        kernel: String = "6.1.0-50-amd64",
        machine: String = "x86_64",
        processors: Int = 8,
        usable: Int? = 8
    ) -> Host {
        var host = Synthetic.host(kernel: kernel, machine: machine, processors: processors)
        (host.usableProcessors, host.hypervisor, host.clockRead) = (usable, false, 21)
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
        (facts.showsGroups, facts.showsAllGroups, facts.usesIsolated) = (true, true, true)
        (facts.allowsRealTime, facts.realTimeLimit) = (true, 50)
        facts.lockedMemory = .max
        facts.zone = zone { _ in 3600 }
        return facts
    }

    /// The zone of a machine in Berlin in the winter of 2026, where Foundation's offset is that of a function.
    private static func zone(isNamed: Bool = true, _ foundation: (Int) -> Int) -> ZoneComparison? {
        let (start, name) = (1_795_849_265, "Europe/Berlin")
        return ZoneComparison(from: start, name: name, isNamed: isNamed, system: { _ in 3600 }, foundation: foundation)
    }

    /// The finding of a good machine with one difference.
    static func finding(_ name: String, _ change: Change) throws -> MachineFinding {
        var facts = Self.good
        change(&facts)
        return try #require(facts.findings.first { $0.name == name })
    }

    @Test func nothingLimitsAGoodMachineAndAllIsUnknownOfOneThatShowsNothing() {
        let host = Host(system: "Linux", kernel: "", machine: "aarch64", cpu: nil, processors: -1, build: .release)
        let (good, silent) = (Self.good, MachineFacts(host: host))
        #expect(good.findings.allSatisfy { $0.level == .good && $0.advice == nil })
        #expect(silent.findings.allSatisfy { $0.level == .unknown && $0.found == "not shown here" })
        #expect(silent.findings.map(\.name) == good.findings.map(\.name))
        #expect(Set(good.findings.map(\.name)).count == 20)
        let summaries = ["0 of 20 limit precision here.", "0 of 20 limit precision here. 20 are unknown."]
        #expect([good.summary, silent.summary] == summaries)
    }

    private static func others(_ share: Double?, _ waiting: Double?, _ load: Double? = nil) -> Change {
        { ($0.othersShare, $0.waitingShare, $0.loadAverage) = (share, waiting, load) }
    }

    private static func isolated(_ processors: String?, tickless: String?) -> Change {
        { ($0.isolated, $0.tickless) = (processors, tickless) }
    }

    private static func priority(_ isAllowed: Bool, _ limit: UInt64?, right: Bool?) -> Change {
        { ($0.allowsRealTime, $0.realTimeLimit, $0.maySetPriorities) = (isAllowed, limit, right) }
    }

    private static func dynamic(_ mode: String?) -> Change {
        { ($0.preemption, $0.preemptionMode) = ("PREEMPT_DYNAMIC", mode) }
    }

    private static func server(_ share: Double, _ kept: Double?) -> Change {
        { ($0.host, $0.realTimeShare, $0.fairShare) = (host(kernel: "6.12-rt"), share, kept) }
    }

    private static func quota(_ stops: UInt64?) -> Change {
        { ($0.host.cpuQuota, $0.stopsInWork, $0.showsAllGroups) = (1.5, stops, false) }
    }

    /// One difference, and the finding that it makes of a good machine, with a part of its advice behind an arrow.
    private static let differences: [String: [(MachineFinding.Level, String, Change)]] = [
        "clock source": [
            (.limits, "hpet → no better source", sources("hpet", ["hpet", "acpi_pm"])),
            (.limits, "acpi_pm → write tsc to /sys/devices/system/", sources("acpi_pm", ["acpi_pm", "tsc"])),
            (.unknown, "sundial, which is rare", { $0.host.clockSource = "sundial" }),
            (.good, "arch_sys_counter", { $0.host.clockSource = "arch_sys_counter" }),
        ],
        "clock reading": [(.limits, "900 ns", { $0.host.clockRead = 900 })],
        "timer resolution": [
            (.limits, "4 ms", { $0.resolution = 4_000_000 }),
            (.good, "1 ns, read in steps of 42 ns", { $0.clockStep = 1e9 / 24e6 }),
        ],
        "virtual machine": [(.limits, "yes", { $0.host.hypervisor = true })],
        "stolen time": [
            (.limits, "0.00 % since boot, 8.0 % in 0.5 s of work", { $0.stolenNow = 8 }),
            (.good, "0.00 % since boot", { $0.stolenNow = nil }),
            // What looks like the limit is not below it.
            (.good, "0.06 % since boot, below 6 % in 0.5 s of work", { $0.stolenSinceStart = 0.063 }),
            // A host that counts none looks like one that steals none.
            (.unknown, "never counted here", { $0.host.hypervisor = true }),
            (.unknown, "never counted here", { $0.host.hypervisor = nil }),
        ],
        "other programs": [
            (.good, "20 % of the processors, waiting 10 % of the time, load average 3.0", others(20, 10, 3)),
            (.limits, "21 % of the processors", others(21, nil)),
            (.limits, "waiting 11 % of the time", others(nil, 11)),
            (.unknown, "load average 0.3", others(nil, nil, 0.25)),
            // The waiting was this process's own.
            (
                .good, "2 % of the processors, waiting unknown, since the quota stopped this process, load average 0.3",
                { ($0.waitingShare, $0.stopsInWork) = (nil, 4) }
            ),
        ],
        "frequency governor": [(.limits, "powersave", { $0.host.governor = "powersave" })],
        "idle states": [
            (
                .limits, "intel_idle, menu, deepest: C6, exit in up to 133 µs → late: ask for an idle latency of 0",
                { ($0.deepestIdle, $0.idleExit) = ("C6", 133_000) }
            ),
            (
                .limits, "intel_idle, menu, deepest: C1, exit in up to 50 µs → as root, ask for an idle latency of 0",
                { ($0.idleExit, $0.mayLimitIdle) = (50_000, false) }
            ),
            // The device has no effect without a driver.
            (
                .limits, "no driver, menu, deepest: C1 → The host wakes an idle processor late: boot with idle=poll",
                { ($0.host.hypervisor, $0.idleDriver, $0.idleExit) = (true, "none", nil) }
            ),
            (.good, "not used (nohlt)", { ($0.host, $0.pollsWhenIdle) = (host(machine: "aarch64"), true) }),
            // The idle states of a guest say nothing.
            (
                .unknown,
                "intel_idle, menu, deepest: C1, exit in up to 2 µs; whether the machine is virtual is not shown",
                { $0.host.hypervisor = nil }
            ),
            (.unknown, "no driver, menu, deepest: C1", { ($0.idleDriver, $0.idleExit) = ("none", nil) }),
        ],
        "idle latency limit": [(.usual, "/dev/cpu_dma_latency, not writable", { $0.mayLimitIdle = false })],
        "hyper-threading": [
            (.usual, "on", { $0.sharesCores = true }),
            (.good, "off, as far as the host shows", { $0.host.hypervisor = true }),
            (.unknown, "off; whether the machine is virtual is not shown", { $0.host.hypervisor = nil }),
        ],
        "preemption": [
            // Only a dynamic kernel has the option.
            (.limits, "voluntary, or none → use PREEMPT_RT, or PREEMPT_DYNAMIC.", { $0.preemption = "" }),
            (.usual, "PREEMPT", { $0.preemption = "PREEMPT" }),
            (.unknown, "PREEMPT_DYNAMIC, the mode is not shown", dynamic(nil)),
            (
                .unknown, "PREEMPT_DYNAMIC, mode unknown; /proc/config.gz is not read",
                { ($0.preemption, $0.hasPackedConfiguration) = ("PREEMPT_DYNAMIC", true) }
            ),
            (.limits, "PREEMPT_DYNAMIC, voluntary → boot with preempt=full", dynamic("voluntary")),
            (.limits, "PREEMPT_DYNAMIC, none", dynamic("none")), (.usual, "PREEMPT_DYNAMIC, lazy", dynamic("lazy")),
            (.usual, "PREEMPT_DYNAMIC, full → PREEMPT_RT bounds", dynamic("full")),
        ],
        "timer slack": [(.usual, "up to 50 µs", { $0.timerSlack = 50_000 })],
        "slice": [(.usual, "the kernel's own", { $0.grantsSlice = false })],
        "real-time throttling": [
            (.usual, "limit: 95 % of the time for real-time threads → block the machine", { $0.realTimeShare = 95 }),
            // From Linux 6.12 on sched_rt_runtime_us throttles no thread, whatever it says.
            (.usual, "the fair server keeps 5 % for ordinary threads, by default → let them sleep", server(95, nil)),
            (.usual, "the fair server keeps 2 % for ordinary threads", server(100, 2)),
            (.good, "off: the fair server keeps nothing for ordinary threads", server(95, 0)),
            // The groups' own limit has not ended.
            (
                .usual, "limit: 30 % of the time for real-time threads of the control group",
                { ($0.host, $0.groupRealTimeShare) = (host(kernel: "6.18.44"), 30) }
            ),
            (
                .usual, "limit: 0.50 % of the time for real-time threads of the control group",
                { $0.groupRealTimeShare = 0.5 }
            ),
            (
                .usual, "no time at all for real-time threads of the control group → to root, too",
                { $0.groupRealTimeShare = 0 }
            ),
            // A kernel with another name, in which the server was found.
            (.usual, "the fair server keeps 5 % for ordinary threads", { $0.fairShare = 5 }),
            (.unknown, "not shown here", { $0.host = host(kernel: "") }),
        ],
        "isolated processors": [
            (.usual, "none", isolated("", tickless: nil)), (.good, "2-3", isolated("2-3", tickless: "")),
            (.good, "2-3, tickless 3", isolated("2-3", tickless: "3")), (.usual, "none", isolated(nil, tickless: "")),
            (.usual, "6-7, tickless 6-7; not used by this process", { $0.usesIsolated = false }),
            (.unknown, "6-7, tickless 6-7; whether this process uses them is not shown", { $0.usesIsolated = nil }),
        ],
        "processors": [
            (.good, "8 online, 2 usable", { $0.host = host(usable: 2) }),
            (.limits, "8 online, 1 usable", { $0.host = host(usable: 1) }),
            (.limits, "1 online", { $0.host = host(processors: 1, usable: nil) }),
        ],
        "processor quota": [
            (.limits, "limit: 1.50 processors, its stops are not shown", quota(nil)),
            (.limits, "limit: 1.50 processors", quota(0)),
            (.limits, "limit: 1.50 processors, stopped once in 0.5 s of work", quota(1)),
            (.limits, "limit: 1.50 processors, stopped 4 times in 0.5 s of work", quota(4)),
            (.unknown, "not shown here", { $0.showsGroups = false }),
            (.unknown, "none visible; a parent group may have one", { $0.showsAllGroups = false }),
        ],
        "memory locking": [
            (.usual, "limit: 8 MiB", { $0.lockedMemory = 8 << 20 }),
            (.usual, "limit: 64 KiB", { $0.lockedMemory = 65536 }),
        ],
        "time zone": [
            (.good, "UTC+01:00, as in Foundation (Europe/Berlin) for a year", { _ in }),
            (
                .differs, "UTC+01:00, in Foundation UTC-09:30 (Europe/Berlin) → bring tzdata and Swift up to date",
                { $0.zone = zone { _ in -34_200 } }
            ),
            (
                .differs, "UTC+01:00, in Foundation UTC+00:00 (Europe/Berlin) → set TZ to it, or make /etc/localtime",
                { $0.zone = zone(isNamed: false) { _ in 0 } }
            ),
            (
                .differs,
                "UTC+01:00, as in Foundation (Europe/Berlin) until 2027-03-28T01:00:00Z; then UTC+01:00, in Foundation "
                    + "UTC+02:00", { $0.zone = zone { $0 < 1_806_195_600 ? 3600 : 7200 } }
            ),
            (.differs, "UTC+01:00, in Foundation UTC-00:00:07 (Europe/Berlin)", { $0.zone = zone { _ in -7 } }),
        ],
        "real-time priority": [
            // A trial decides about real-time priorities.
            (.good, "allowed, limit: 99 (RLIMIT_RTPRIO)", priority(true, 99, right: false)),
            (.good, "allowed, CAP_SYS_NICE", priority(true, 0, right: true)),
            (.good, "allowed, no limit", priority(true, .max, right: false)),
            (.good, "allowed", priority(true, nil, right: nil)), (.usual, "refused", priority(false, 0, right: false)),
            (.usual, "refused", priority(false, nil, right: nil)),
            (.usual, "refused, despite CAP_SYS_NICE", priority(false, 0, right: true)),
            (
                .usual, "refused, despite limit: 5 (RLIMIT_RTPRIO) → Something else refuses it",
                priority(false, 5, right: false)
            ),
            (
                .usual, "refused, despite limit: 50 (RLIMIT_RTPRIO) → Something else refuses it",
                { ($0.allowsRealTime, $0.groupRealTimeShare) = (false, 30) }
            ),
            // Without such a file it is something else that refuses.
            (
                .usual, "refused, despite limit: 50 (RLIMIT_RTPRIO) → in the control group (cpu.rt_runtime_us)",
                { ($0.allowsRealTime, $0.groupRealTimeShare) = (false, 0) }
            ),
        ],
    ]

    @Test(arguments: differences.keys.sorted()) func eachFactHasItsFinding(_ name: String) throws {
        let cases = try #require(Self.differences[name])
        for (level, words, change) in cases {
            let (finding, parts) = (try Self.finding(name, change), words.split(separator: " → "))
            #expect(finding.level == level && finding.found == parts[0], "\(name)")
            // What can be better has advice in one sentence.
            let advice = finding.advice ?? ""
            #expect(parts.dropFirst().allSatisfy { advice.contains($0) }, "\(advice)")
            if level != .unknown { #expect(advice.isEmpty == (level == .good), "\(name)") }
            #expect(advice.isEmpty || advice.hasSuffix(".") && !advice.dropLast().contains(". "), "\(advice)")
        }
        #expect(cases.contains { $0.0 != .good && $0.0 != .unknown }, "\(name)")
    }

    @Test func noFindingIsWithoutARow() { #expect(Set(Self.differences.keys) == Set(Self.good.findings.map(\.name))) }

    private static func sources(_ source: String, _ others: [String]) -> Change {
        { ($0.host.clockSource, $0.clockSources) = (source, others) }
    }
}

/// Two zones of made-up offsets, compared over a year.
struct ZoneComparisonTests {
    private typealias Offset = (Int) -> Int?

    /// In the middle of a quarter hour, in November 2026.
    private static let start = 1_795_849_265
    private static let (day, hour, quarter) = (86_400, 3600, 900)
    /// The first quarter hour after the start.
    private static let next = start - start % quarter + quarter

    private func comparison(_ system: Offset, _ foundation: (Int) -> Int) -> ZoneComparison? {
        ZoneComparison(from: Self.start, name: "", isNamed: true, system: system, foundation: foundation)
    }

    /// Each period is in seconds after the first quarter hour: before it, none, the clocks change twice, or the last
    /// time in the year, or after it. The difference, if it is looked for.
    @Test(
        arguments: [
            (Int.min / 2..<Int.max / 2, start - next), (0..<0, nil), (0..<quarter, 0),
            (100 * day..<100 * day + hour, 100 * day), (366 * day - quarter..<Int.max / 2, 366 * day - quarter),
            (start - next + 366 * day + 1..<Int.max / 2, nil),
        ] as [(Range<Int>, Int?)]
    )
    func anyDifferenceOfAQuarterHourIsFoundAtItsBeginning(_ period: Range<Int>, _ found: Int?) throws {
        let summer = { $0 < Self.next + 120 * Self.day ? 3600 : 7200 }
        let compared = try #require(comparison(summer) { period.contains($0 - Self.next) ? -21_600 : summer($0) })
        let difference = found.map { found in
            let instant = Self.next + found
            return ZoneComparison.Difference(instant: instant, system: summer(instant), foundation: -21_600)
        }
        #expect(compared.offset == 3600 && compared.difference == difference)
    }

    @Test func whatTheCLibraryDoesNotKnowIsNotCompared() {
        let afterADay: Offset = { $0 < Self.start + Self.day ? 3600 : nil }
        #expect(comparison({ _ in nil }, { _ in 3600 }) == nil && comparison(afterADay, { _ in 3600 }) == nil)
    }

    @Test func theSummaryNamesWhatDiffers() {
        var facts = MachineFacts(host: Synthetic.host)
        facts.zone = comparison({ _ in 0 }, { _ in 3600 })
        #expect(facts.summary == "1 of 20 limits precision here. The time zone differs. 14 are unknown.")
    }
}
#endif
