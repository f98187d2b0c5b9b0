/// What a machine shows about its precision, and what it allows this process. A fact that the kernel does not show is
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
    /// process meanwhile, since the kernel counts that as waiting.
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

/// The verdicts on the clock and the kernel.
extension MachineFacts {
    /// Sources that a process reads by itself, without a system call.
    private static let fastSources: Set = [
        "tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "riscv_clocksource", "timebase", "tod",
    ]
    /// Sources that take a system call, a slow device or an exit to the host.
    private static let slowSources: Set = [
        "hpet", "acpi_pm", "xen", "hyperv_clocksource_msr", "jiffies", "refined-jiffies", "pit",
    ]

    var sourceVerdict: MachineVerdict? {
        guard let source = host.clockSource else { return nil }
        if Self.fastSources.contains(source) { return (.good, source, nil) }
        guard Self.slowSources.contains(source) else { return (.unknown, "\(source), which is rare", nil) }
        let file = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
        let better = clockSources.first { Self.fastSources.contains($0) }.map { "as root, write \($0) to \(file)" }
        return (.limits, source, "Each reading is slow: \(better ?? "dmesg says why the kernel has no better source").")
    }

    var readingVerdict: MachineVerdict? {
        guard let price = host.clockRead else { return nil }
        let found = "\(NumberText.fixed(price, places: 0)) ns"
        // A system call takes longer than this, and a reading without one does not.
        if price <= 200 { return (.good, found, nil) }
        return (.limits, found, "Each tick reads the clock several times: use a faster source, and avoid sandboxes.")
    }

    var resolutionVerdict: MachineVerdict? {
        guard let resolution else { return nil }
        let step = clockStep.flatMap { $0 < 2 ? nil : ", read in steps of \(NumberText.fixed($0, places: 0)) ns" }
        let found = DurationText.spaced(nanoseconds: resolution) + (step ?? "")
        if resolution <= 1 { return (.good, found, nil) }
        return (.limits, found, "The kernel rounds deadlines up: remove highres=off from its boot options.")
    }

    var preemptionVerdict: MachineVerdict? {
        let isDynamic = preemption == "PREEMPT_DYNAMIC"
        // Only a dynamic kernel has the boot option.
        let remedy = isDynamic ? "boot with preempt=full, or use PREEMPT_RT" : "use PREEMPT_RT, or PREEMPT_DYNAMIC"
        let advice = "System calls of other programs delay ticks: \(remedy)."
        switch (preemption, preemptionMode) {
        case (nil, _): return nil
        case ("", _): return (.limits, "voluntary, or none", advice)
        case ("PREEMPT_RT", _): return (.good, "PREEMPT_RT", nil)
        case (let model?, let mode?):
            if mode == "none" || mode == "voluntary" { return (.limits, "\(model), \(mode)", advice) }
            // It holds up the threads without a real-time policy.
            if mode == "lazy" { return (.usual, "\(model), lazy", advice) }
        case ("PREEMPT_DYNAMIC", nil):
            if hasPackedConfiguration {
                let advice = "See zgrep CONFIG_PREEMPT /proc/config.gz, or boot with preempt=full."
                return (.unknown, "PREEMPT_DYNAMIC, mode unknown; /proc/config.gz is not read", advice)
            }
            let advice = "Boot with preempt=full, to be sure of the mode."
            return (.unknown, "PREEMPT_DYNAMIC, the mode is not shown", advice)
        case (_?, nil): break
        }
        let found = [preemption, preemptionMode].compactMap(\.self).joined(separator: ", ")
        return (.usual, found, "The kernel's own work can delay a tick: PREEMPT_RT bounds the delay.")
    }

    var slackVerdict: MachineVerdict? {
        guard let timerSlack else { return nil }
        let found = "up to \(DurationText.spaced(nanoseconds: timerSlack))"
        // No sleeper notices a microsecond.
        if timerSlack <= 1000 { return (.good, found, nil) }
        return (.usual, found, "Sleeps end that much later, timers do not: ask for less with PR_SET_TIMERSLACK.")
    }

    var sliceVerdict: MachineVerdict? {
        let advice = "Among busy programs a thread waits longer: use Linux 6.12 or later, or allow sched_setattr(2)."
        return grantsSlice.map { $0 ? (.good, "100 µs, on request", nil) : (.usual, "the kernel's own", advice) }
    }

    var throttlingVerdict: MachineVerdict? {
        // This limit has not ended with Linux 6.12.
        if groupRealTimeShare == 0 {
            let found = "no time at all for real-time threads of the control group"
            let advice = "The kernel refuses such threads, to root, too: raise cpu.rt_runtime_us of each group."
            return (.usual, found, advice)
        }
        if let groupRealTimeShare, groupRealTimeShare < 100 {
            let share = NumberText.fixed(groupRealTimeShare, places: groupRealTimeShare < 1 ? 2 : 0)
            let found = "limit: \(share) % of the time for real-time threads of the control group"
            let advice = "Only spinning threads reach it: let them sleep, or raise cpu.rt_runtime_us of each group."
            return (.usual, found, advice)
        }
        guard let hasServer = fairShare != nil ? true : host.hasKernel(6, 12) else { return nil }
        guard !hasServer else { return fairServerVerdict }
        guard let realTimeShare else { return nil }
        if realTimeShare >= 100 { return (.good, "off", nil) }
        let found = "limit: \(NumberText.fixed(realTimeShare, places: 0)) % of the time for real-time threads"
        return (.usual, found, "Only spinning threads reach it: sched_rt_runtime_us=-1 lets them block the machine.")
    }

    /// From Linux 6.12 on sched_rt_runtime_us bounds what deadline threads may ask for, and throttles no thread.
    private var fairServerVerdict: MachineVerdict {
        if fairShare == 0 { return (.good, "off: the fair server keeps nothing for ordinary threads", nil) }
        let share = NumberText.fixed(fairShare ?? 5, places: 0)
        let found = "the fair server keeps \(share) % for ordinary threads\(fairShare == nil ? ", by default" : "")"
        return (.usual, found, "Only spinning threads reach it: let them sleep for that share of each second.")
    }

    var isolationVerdict: MachineVerdict? {
        guard isolated != nil || tickless != nil else { return nil }
        let parts = [isolated, tickless.flatMap { $0.isEmpty ? nil : "tickless \($0)" }].compactMap(\.self)
        let found = parts.filter { !$0.isEmpty }.joined(separator: ", ")
        if !found.isEmpty {
            switch usesIsolated {
            case true?: return (.good, found, nil)
            case false?:
                return (.usual, "\(found); not used by this process", "Start the program on one of them: taskset -c N.")
            case nil: return (.unknown, "\(found); whether this process uses them is not shown", nil)
            }
        }
        return (.usual, "none", "To keep a processor free, boot with isolcpus=N nohz_full=N; then taskset -c N.")
    }
}
