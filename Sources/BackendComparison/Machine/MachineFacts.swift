internal import PreciseTimer

/// Facts about a machine's precision, and about the rights of this process. A fact that the kernel does not show is
/// nil.
package struct MachineFacts: Hashable, Sendable {
    /// The machine itself.
    var host: Host
    /// The clock sources that the kernel could use.
    var clockSources: [String] = []
    /// Nanoseconds to which the kernel rounds deadlines.
    var resolution: UInt64?
    /// Nanoseconds between two steps of the clock's readings; nil if they are too small to matter.
    var clockStep: Double?
    /// Percent of the time since the start of the machine that other guests of the host took.
    var stolenSinceStart: Double?
    /// The same during half a second of work, in percent of one processor.
    var stolenNow: Double?
    /// Percent of the processors that this process may use, which other programs used during the work.
    var othersShare: Double?
    /// Percent of the work's time in which some program waited for a processor; nil, too, if a quota stopped the
    /// process in that time, since the kernel counts that as waiting.
    var waitingShare: Double?
    /// The number of periods of its quota in which this process was stopped during the work; nil without a quota.
    var stopsInWork: UInt64?
    /// The kernel's load average of one minute.
    var loadAverage: Double?
    /// The driver of the idle states, or `none`.
    var idleDriver: String?
    /// The governor of the idle states.
    var idleGovernor: String?
    /// The name of the deepest idle state.
    var deepestIdle: String?
    /// Nanoseconds that a processor takes at most to leave this state, as the driver says.
    var idleExit: UInt64?
    /// Whether idle processors keep running because of a boot option.
    var pollsWhenIdle = false
    /// Whether this process may use /dev/cpu_dma_latency; nil if there is no such device.
    var mayLimitIdle: Bool?
    /// Whether two threads share a core.
    var sharesCores: Bool?
    /// The kernel's model of preemption as its version names it, as `PREEMPT_DYNAMIC`; empty if it names no model.
    var preemption: String?
    /// Whether the kernel has a /proc/config.gz, which is not read here.
    var hasPackedConfiguration = false
    /// Which of its models a dynamic kernel runs: `none`, `voluntary`, `full` or `lazy`; nil if it does not show that.
    var preemptionMode: String?
    /// Nanoseconds by which an ordinary thread's sleep may end later.
    var timerSlack: UInt64?
    /// Whether an ordinary thread gets the short slice that it asks for.
    var grantsSlice: Bool?
    /// Percent of the time that real-time threads may use, before Linux 6.12.
    var realTimeShare: Double?
    /// Percent of the time that the control groups of the process leave to real-time threads, where it is least; nil if
    /// they have no such limit. Kernels with CONFIG_RT_GROUP_SCHED have it, in version 1 of control groups.
    var groupRealTimeShare: Double?
    /// Percent of the time that the fair server of Linux 6.12 and later keeps for ordinary threads, if a real-time
    /// thread does not sleep. Root alone sees it.
    var fairShare: Double?
    /// The processors that get no work of other processes, as `2-3`; empty if there are no such processors.
    var isolated: String?
    /// The processors without a regular tick, in the same form.
    var tickless: String?
    /// Whether this process may use one of these processors, isolated or without a regular tick; nil if that is not
    /// known.
    var usesIsolated: Bool?
    /// Whether the kernel shows the control groups of the process, and so the limits of its processor time.
    var showsGroups = false
    /// Whether the groups above these are shown, too, up to the root. A container has its own root.
    var showsAllGroups = false
    /// Whether the system let a thread have a real-time priority.
    var allowsRealTime: Bool?
    /// The limit of real-time priorities, and `UInt64.max` for no limit.
    var realTimeLimit: UInt64?
    /// Whether the process has CAP_SYS_NICE.
    var maySetPriorities: Bool?
    /// The limit of locked memory in bytes, and `UInt64.max` for no limit, as with CAP_IPC_LOCK.
    var lockedMemory: UInt64?
    /// The C library's time zone beside Foundation's.
    var zone: ZoneComparison?
}

/// The facts of this machine, as the kernel shows them now.
extension MachineFacts {
    /// The facts of this machine, and the rights of this process. Takes less than a second.
    package static var current: MachineFacts {
        var facts = MachineFacts(host: .current)
        facts.addSettings()
        facts.addWork()
        return facts
    }

    private mutating func addSettings() {
        let sources = ProcFile.line("/sys/devices/system/clocksource/clocksource0/available_clocksource")
        clockSources = sources?.split(separator: " ").map(String.init) ?? []
        resolution = TimerClock.suspending.resolution
        if host.clockSource == "arch_sys_counter" { clockStep = TimerClock.step }
        (idleDriver, idleGovernor) = (IdleStates.driver, IdleStates.governor)
        (deepestIdle, idleExit) = (IdleStates.deepest?.name, IdleStates.deepest?.exit)
        (pollsWhenIdle, mayLimitIdle) = (IdleStates.isPolling, IdleControl.isAllowed)
        sharesCores = Processors.shareCores
        preemption = Self.preemption(version: SystemName().version)
        preemptionMode = Self.preemptionMode(
            on: host,
            shown: ProcFile.line("/sys/kernel/debug/sched/preempt"),
            bootOptions: ProcFile.line("/proc/cmdline"),
            configuration: ProcFile.text("/boot/config-\(host.kernel)")
        )
        hasPackedConfiguration = ProcFile.text("/proc/config.gz") != nil
        timerSlack = TimerSlack.nanoseconds
        grantsSlice = try? TimerService(.timerFD).grant.items.contains { $0.option == .slice && $0.refusal == nil }
        let (runtime, period) = ("/proc/sys/kernel/sched_rt_runtime_us", "/proc/sys/kernel/sched_rt_period_us")
        realTimeShare = Self.realTimeShare(runtime: ProcFile.line(runtime), period: ProcFile.line(period))
        fairShare = Self.fairShare(of: Processors.relevant) {
            ProcFile.line("/sys/kernel/debug/sched/fair_server/cpu\($0)/\($1)")
        }
        isolated = Self.processors("/sys/devices/system/cpu/isolated")
        tickless = Self.processors("/sys/devices/system/cpu/nohz_full")
        usesIsolated = Self.areSome(Processors.usableNumbers, in: [isolated, tickless])
        (showsGroups, showsAllGroups) = (CPUQuota.current.isShown, CPUQuota.current.isWhole)
        (allowsRealTime, groupRealTimeShare) = (RealTime.isAllowed, RealTimeGroups.share())
        (realTimeLimit, maySetPriorities) = (ResourceLimit.realTimePriority.current, Capability.setPriority.isHeld)
        lockedMemory = Capability.lockMemory.isHeld == true ? .max : ResourceLimit.lockedMemory.current
        zone = .current
    }

    /// Works for half a second. A guest that does not want a processor loses none, and shows no stolen time.
    private mutating func addWork() {
        var watch = MachineWatch()
        let before = watch.reading()
        while TimerClock.suspending.nanoseconds < before.time + 500_000_000 {}
        let after = watch.reading()
        watch.add(from: before, to: after, under: RowKey.idle)
        let state = watch.state(loadAverage: LoadAverage.current)
        (othersShare, loadAverage) = (state.others, state.loadAverage)
        // If a quota stopped this process, the pressure is its own, and is not known:
        // Documentation/findings/quota-is-pressure.sh.
        (waitingShare, stopsInWork) = (state.waiting, state.quota?.stops)
        stolenNow = state.stolen.map { $0 * Double(watch.count) }
        // Since the start one hundredth of a second counts, too: it shows that the host counts.
        stolenSinceStart = after.processors.flatMap { $0.total > 0 ? 100 * Double($0.stolen) / Double($0.total) : nil }
    }

    /// Percent of the processors' time that other programs used; nil if the kernel does not count that of this process,
    /// as in some sandboxes.
    static func othersShare(busy: Double, own: Double, of time: Double) -> Double? {
        busy >= own / 2 && time > 0 ? 100 * max(busy - own, 0) / time : nil
    }

    /// The list of processors in a file; empty if the file names no processor, nil if there is no such file.
    private static func processors(_ path: String) -> String? {
        // Older kernels print a null pointer.
        ProcFile.text(path).map { $0.contains("null") ? "" : ProcFile.line(path) ?? "" }
    }

    /// Whether some processors are in one of the lists; nil if the processors or all lists are not known.
    static func areSome(_ processors: [Int]?, in lists: [String?]) -> Bool? {
        let known = lists.compactMap { $0.flatMap { Processors.numbers(in: $0) } }
        guard let processors, !known.isEmpty else { return nil }
        return known.contains { $0.contains { processors.contains($0) } }
    }

    /// Percent of the time that the fair server keeps on that of some processors where it is most, from the files
    /// `runtime` and `period` of each. Nil if one is not shown.
    static func fairShare(of processors: [Int], reading read: (Int, String) -> String?) -> Double? {
        let shares = processors.map { number -> Double? in
            let (runtime, period) = (read(number, "runtime").flatMap(Double.init), read(number, "period"))
            guard let runtime, let period = period.flatMap(Double.init), runtime >= 0, period > 0 else { return nil }
            return 100 * runtime / period
        }
        let known = shares.compactMap(\.self)
        return known.count == shares.count ? known.max() : nil
    }

    /// Which model a dynamic kernel runs, from what it shows to root, from its boot options, or else from the default
    /// of its configuration; nil if none of them says.
    static func preemptionMode(on host: Host, shown: String?, bootOptions: String?, configuration: String?) -> String? {
        // The mode is in parentheses: `none voluntary (full) lazy`.
        if let marked = shown?.split(separator: " ").first(where: { $0.hasPrefix("(") && $0.hasSuffix(")") }) {
            return String(marked.dropFirst().dropLast())
        }
        // A kernel ignores a mode that it does not have, so only one counts that it must have. The lazy mode came with
        // 6.13, on x86 first. From 7.0 on, a kernel with that mode has neither of the first two.
        let options = bootOptions?.split(separator: " ").filter { $0.hasPrefix("preempt=") }.map { $0.dropFirst(8) }
        var modes: Set = ["full"]
        if host.hasKernel(7, 0) == false { modes.formUnion(["none", "voluntary"]) }
        if host.hasKernel(6, 13) == true, host.machine == "x86_64" { modes.insert("lazy") }
        if let last = options?.last, modes.contains(String(last)) { return String(last) }
        guard options?.isEmpty == true, let lines = configuration?.split(separator: "\n") else { return nil }
        let names = ["NONE": "none", "VOLUNTARY": "voluntary", "LAZY": "lazy"]
        if lines.contains("CONFIG_PREEMPT=y") { return "full" }
        return names.first { lines.contains("CONFIG_PREEMPT_\($0.key)=y") }?.value
    }

    /// The word for the model of preemption in a kernel's version (`uname -v`); empty if it names none, nil without a
    /// version.
    static func preemption(version: String) -> String? {
        if version.isEmpty { return nil }
        // Older versions have a space in it.
        if version.contains("PREEMPT RT") { return "PREEMPT_RT" }
        return version.split(separator: " ").first { $0.hasPrefix("PREEMPT") }.map(String.init) ?? ""
    }

    /// Percent of a period that real-time threads may run, from two numbers of microseconds. A runtime of -1 is no
    /// limit.
    static func realTimeShare(runtime: String?, period: String?) -> Double? {
        guard let runtime = runtime.flatMap(Int.init), let period = period.flatMap(Int.init) else { return nil }
        return runtime < 0 ? 100 : period > 0 ? 100 * Double(runtime) / Double(period) : nil
    }
}

extension Host {
    /// This machine.
    static var current: Host {
        let name = SystemName()
        let facts = ProcFile.text("/proc/cpuinfo")
        return Host(
            system: name.system,
            kernel: name.release,
            machine: name.machine,
            cpu: facts.flatMap { cpuModel(in: $0) },
            processors: Processors.online,
            build: .current,
            clockSource: ProcFile.line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            governor: FrequencyGovernor.worst(),
            hypervisor: facts.flatMap { isGuest(in: $0) },
            usableProcessors: Processors.usable,
            cpuQuota: CPUQuota.current.limit,
            clockRead: priceOfReading
        )
    }

    /// Nanoseconds of one reading of the clock, the median of nine batches. Each measured time includes as much.
    private static var priceOfReading: Double {
        let prices = (0..<9)
            .map { _ in
                let start = TimerClock.suspending.nanoseconds
                for _ in 1..<1000 { _ = TimerClock.suspending.nanoseconds }
                return Double(TimerClock.suspending.nanoseconds - start) / 1000
            }
        return prices.sorted()[4]
    }

    /// Whether the text of /proc/cpuinfo is that of a virtual machine; nil if it does not say, as on ARM machines.
    static func isGuest(in facts: String) -> Bool? {
        values("flags", in: facts).first.map { $0.split(separator: " ").contains("hypervisor") }
    }

    /// The model in the text of /proc/cpuinfo. ARM processors have numbers there and no name: one for the maker, and
    /// one for each kind of core; lscpu knows their names. Nil if there is neither.
    static func cpuModel(in facts: String) -> String? {
        if let name = values("model name", in: facts).first { return name }
        let parts = Set(values("CPU part", in: facts)).sorted()
        guard let maker = values("CPU implementer", in: facts).first, !parts.isEmpty else { return nil }
        return "implementer \(maker), part \(parts.joined(separator: " and "))"
    }

    /// The values of a field in the text of /proc/cpuinfo, in the order of the processors.
    private static func values(_ field: String, in facts: String) -> [String] {
        facts.split(separator: "\n").filter { $0.hasPrefix(field) }
            .map { $0.drop { $0 != ":" }.dropFirst().split(separator: " ").joined(separator: " ") }
            .filter { !$0.isEmpty }
    }
}
