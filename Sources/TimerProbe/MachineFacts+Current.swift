internal import HostSystem
internal import PreciseTimer
package import TimerResults

/// The facts of this machine, as the kernel shows them now.
extension MachineFacts {
    /// Nanoseconds of work during which stolen time is measured. A guest that does not want the processor loses none.
    private static let work: UInt64 = 500_000_000

    /// The facts of this machine, and what it allows this process. Takes less than a second.
    package static var current: MachineFacts {
        var facts = MachineFacts(host: .current)
        facts.addClock()
        facts.addProcessors()
        facts.addKernel()
        facts.addProcess()
        return facts
    }

    private mutating func addClock() {
        let sources = ProcFile.line("/sys/devices/system/clocksource/clocksource0/available_clocksource")
        clockSources = sources?.split(separator: " ").map(String.init) ?? []
        resolution = SystemClock.monotonic.resolution
        if host.clockSource == "arch_sys_counter" { clockStep = SystemClock.step }
    }

    private mutating func addProcessors() {
        let before = StealTime.current
        let end = SystemClock.monotonic.nanoseconds + Self.work
        while SystemClock.monotonic.nanoseconds < end {}
        let after = StealTime.current
        stolenSinceStart = after?.percent()
        stolenNow = before.flatMap { after?.percentOfOneProcessor(since: $0, in: Self.work) }
        idleDriver = IdleStates.driver
        idleGovernor = IdleStates.governor
        deepestIdle = IdleStates.deepest?.name
        idleExit = IdleStates.deepest?.exit
        pollsWhenIdle = IdleStates.isPolling
        switch IdleControl.current {
        case .allowed: mayLimitIdle = true
        case .refused: mayLimitIdle = false
        case .missing: mayLimitIdle = nil
        }
        sharesCores = ProcFile.line("/sys/devices/system/cpu/smt/active").map { $0 == "1" }
    }

    private mutating func addKernel() {
        preemption = Self.preemption(
            version: SystemName().version,
            isRealTime: ProcFile.line("/sys/kernel/realtime") == "1"
        )
        timerSlack = TimerSlack.shown
        grantsSlice = try? TimerService(.timerFD).grant.refusals.allSatisfy { $0.option != .slice }
        realTimeShare = Self.realTimeShare(
            runtime: ProcFile.line("/proc/sys/kernel/sched_rt_runtime_us"),
            period: ProcFile.line("/proc/sys/kernel/sched_rt_period_us")
        )
        isolated = Self.processors("/sys/devices/system/cpu/isolated")
        tickless = Self.processors("/sys/devices/system/cpu/nohz_full")
    }

    private mutating func addProcess() {
        showsGroups = CPUQuota.isShown
        allowsRealTime = RealTime.isAllowed
        realTimeLimit = ResourceLimit.realTimePriority.current
        lockedMemory = ResourceLimit.lockedMemory.current
        let rights = Capabilities.current
        maySetPriorities = rights?.has(.setPriority)
        mayLockMemory = rights?.has(.lockMemory)
    }

    /// The list of processors in a file; empty if the file names no processor, nil if there is no such file.
    private static func processors(_ path: String) -> String? {
        guard ProcFile.text(path) != nil else { return nil }
        // Older kernels print a null pointer.
        return ProcFile.line(path).flatMap { $0.contains("null") ? nil : $0 } ?? ""
    }

    /// The kernel's model of preemption.
    ///
    /// - Parameters:
    ///   - version: the kernel's version as `uname -v` shows it.
    ///   - isRealTime: whether the kernel says that it has PREEMPT_RT, which older versions write in another way.
    /// - Returns: the version's own word; empty if it has no such word.
    package static func preemption(version: String, isRealTime: Bool) -> String {
        if isRealTime { return "PREEMPT_RT" }
        return version.split(separator: " ").first { $0.hasPrefix("PREEMPT") }.map(String.init) ?? ""
    }

    /// The share of time that real-time threads may use, in percent.
    ///
    /// - Parameters:
    ///   - runtime: microseconds of each period, or -1 for no limit.
    ///   - period: microseconds.
    /// - Returns: the share; nil if one of them is no such number.
    package static func realTimeShare(runtime: String?, period: String?) -> Double? {
        guard let runtime = runtime.flatMap(Int.init), let period = period.flatMap(Int.init), period > 0 else {
            return nil
        }
        return runtime < 0 ? 100 : 100 * Double(runtime) / Double(period)
    }
}

extension Host {
    /// This machine.
    package static var current: Host {
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
            governor: ProcFile.line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            hypervisor: facts.flatMap { isGuest(in: $0) },
            usableProcessors: Processors.usable,
            cpuQuota: CPUQuota.current,
            clockRead: clockRead
        )
    }

    /// Nanoseconds of one reading of the clock. Any measurement of time adds at least this to its figures.
    ///
    /// It is the median of nine batches, each long enough to be timed.
    private static var clockRead: Double {
        let (batches, readings) = (9, 1000)
        let prices = (0..<batches)
            .map { _ in
                let start = SystemClock.monotonic.nanoseconds
                for _ in 1..<readings { _ = SystemClock.monotonic.nanoseconds }
                return Double(SystemClock.monotonic.nanoseconds - start) / Double(readings)
            }
        return prices.sorted()[batches / 2]
    }

    /// Whether the text of /proc/cpuinfo is that of a virtual machine; nil if it does not say, as on ARM machines.
    package static func isGuest(in facts: String) -> Bool? {
        let flags = facts.split(separator: "\n").first { $0.hasPrefix("flags") }
        return flags.map { $0.split(separator: " ").contains("hypervisor") }
    }

    /// The model in the text of /proc/cpuinfo. ARM processors have numbers there and no name: one for the maker, and
    /// one for each kind of core; lscpu knows their names. Nil if there is neither.
    package static func cpuModel(in facts: String) -> String? {
        if let name = values("model name", in: facts).first { return name }
        let parts = Set(values("CPU part", in: facts)).sorted()
        guard let maker = values("CPU implementer", in: facts).first, !parts.isEmpty else { return nil }
        return "implementer \(maker), part \(parts.joined(separator: " and "))"
    }

    /// The values of a field in the text of /proc/cpuinfo, in the order of the processors.
    private static func values(_ field: String, in facts: String) -> [String] {
        facts.split(separator: "\n").filter { $0.hasPrefix(field) }
            .compactMap { line in line.firstIndex(of: ":").map { line[line.index(after: $0)...] } }
            .map { $0.split(separator: " ").joined(separator: " ") }
            .filter { !$0.isEmpty }
    }
}
