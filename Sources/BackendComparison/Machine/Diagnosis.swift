/// What limits the precision of timers on a machine, judged by its facts alone.
extension MachineFacts {
    /// One finding for each property, in the same order for each machine.
    var findings: [MachineFinding] {
        let verdicts: [(String, MachineVerdict?)] = [
            ("clock source", sourceVerdict), ("clock reading", readingVerdict), ("timer resolution", resolutionVerdict),
            ("virtual machine", guestVerdict), ("stolen time", stolenVerdict), ("other programs", othersVerdict),
            ("frequency governor", governorVerdict), ("idle states", idleVerdict),
            ("idle latency limit", idleLimitVerdict), ("hyper-threading", siblingsVerdict),
            ("preemption", preemptionVerdict), ("timer slack", slackVerdict), ("slice", sliceVerdict),
            ("real-time throttling", throttlingVerdict), ("isolated processors", isolationVerdict),
            ("processors", processorsVerdict), ("processor quota", quotaVerdict),
            ("real-time priority", realTimeVerdict), ("memory locking", lockedMemoryVerdict),
            ("time zone", zone?.verdict),
        ]
        return verdicts.map { MachineFinding($0, $1) }
    }

    /// The number of findings that limit precision, of those that differ, and of those that the kernel does not show.
    var summary: String {
        let findings = findings
        func count(_ level: MachineFinding.Level) -> Int { findings.count { $0.level == level } }
        let (limits, unknown) = (count(.limits), count(.unknown))
        let differing = findings.filter { $0.level == .differs }.map { " The \($0.name) differs." }.joined()
        let hidden = unknown == 0 ? "" : unknown == 1 ? " 1 is unknown." : " \(unknown) are unknown."
        return "\(limits) of \(findings.count) \(limits == 1 ? "limits" : "limit") precision here.\(differing)\(hidden)"
    }
}

/// One property of a machine, and what it means for timers.
struct MachineFinding: Hashable, Sendable {
    /// What a property means for precision: nothing to improve; usual, though a machine that is set up for real-time
    /// work is better; timers are later because of it; two parts of the system differ, and timers are on time; not
    /// shown by the kernel.
    enum Level: String, CaseIterable, Sendable { case good, usual, limits, differs, unknown }

    /// The property.
    let name: String
    let level: Level
    /// What the machine shows, in a few words.
    let found: String
    /// What to do about it, in one sentence; nil if there is nothing to do, or nothing known.
    let advice: String?

    fileprivate init(_ name: String, _ verdict: MachineVerdict?) {
        self.name = name
        (level, found, advice) = verdict ?? (.unknown, "not shown here", nil)
    }
}

/// A finding without its name.
typealias MachineVerdict = (level: MachineFinding.Level, found: String, advice: String?)

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

/// The verdicts on the processors, and on the limits of the process.
extension MachineFacts {
    var guestVerdict: MachineVerdict? {
        let advice = "The host can stop it for milliseconds: use real hardware, or a guest with its own processors."
        return host.hypervisor.map { $0 ? (.limits, "yes", advice) : (.good, "no", nil) }
    }

    var stolenVerdict: MachineVerdict? {
        let parts = [
            stolenSinceStart.map { "\(Self.small($0)) % since boot" },
            // Two of the kernel's hundredths of a second may be rounding: up to three are 6 % of the work.
            stolenNow.map { "\($0 == 0 ? "below 6" : Self.small($0)) % in 0.5 s of work" },
        ]
        guard let most = [stolenSinceStart, stolenNow].compactMap(\.self).max() else { return nil }
        // A guest counts stolen time only if its host helps, which not every host does.
        if most == 0, host.hypervisor != false { return (.unknown, "never counted here", nil) }
        let found = parts.compactMap(\.self).joined(separator: ", ")
        // From this share on, one tick in a thousand may be late because of it.
        if most < 0.1 { return (.good, found, nil) }
        return (
            .limits, found, "Other guests used this time: use a host with fewer, or a guest with its own processors."
        )
    }

    /// A share of less than a percent has two places, so that none looks like the limit that it is below.
    private static func small(_ share: Double) -> String { NumberText.fixed(share, places: share < 1 ? 2 : 1) }

    var othersVerdict: MachineVerdict? {
        let parts = [
            othersShare.map { "\(NumberText.fixed($0, places: 0)) % of the processors" },
            waitingShare.map { "waiting \(NumberText.fixed($0, places: 0)) % of the time" }
                ?? (stopsInWork ?? 0 > 0 ? "waiting unknown, since the quota stopped this process" : nil),
            loadAverage.map { "load average \(NumberText.fixed($0, places: 1))" },
        ]
        let found = parts.compactMap(\.self).joined(separator: ", ")
        if othersShare == nil, waitingShare == nil { return found.isEmpty ? nil : (.unknown, found, nil) }
        // One of the two is enough to judge by.
        if othersShare ?? 0 <= 20, waitingShare ?? 0 <= 10 { return (.good, found, nil) }
        return (.limits, found, "Ticks wait for them: stop them, or keep them away from one processor with taskset.")
    }

    var governorVerdict: MachineVerdict? {
        let advice = "A processor that saves power starts slowly: as root, cpupower frequency-set -g performance."
        return host.governor.map { $0 == "performance" ? (.good, $0, nil) : (.limits, $0, advice) }
    }

    /// The boot option that keeps idle processors running (the kernel's kernel-parameters.txt).
    private var pollOption: String { host.machine == "x86_64" ? "idle=poll" : "nohlt" }

    var idleVerdict: MachineVerdict? {
        if pollsWhenIdle { return (.good, "not used (\(pollOption))", nil) }
        guard idleDriver != nil || idleExit != nil else { return nil }
        let exit = idleExit.map { "exit in up to \(DurationText.spaced(nanoseconds: $0))" }
        let driver = idleDriver == "none" ? "no driver" : idleDriver
        let governor = idleGovernor == idleDriver ? nil : idleGovernor
        let parts = [driver, governor, deepestIdle.map { "deepest: \($0)" }, exit].compactMap(\.self)
        let found = parts.joined(separator: ", ")
        let isGuest = host.hypervisor == true
        // Up to 10 µs are not noticed. The driver of a guest knows nothing of the time that the host takes.
        if !isGuest, idleExit ?? 0 <= 10_000 {
            if host.hypervisor == nil, idleExit != nil { return (.unknown, found + Self.maybeGuest, nil) }
            return (idleExit == nil ? .unknown : .good, found, nil)
        }
        let reason = isGuest ? "The host wakes an idle processor late" : "An idle processor wakes up late"
        return (.limits, found, "\(reason): \(idleRemedy), at the cost of power.")
    }

    /// What a guest shows may be untrue of the host.
    private static let maybeGuest = "; whether the machine is virtual is not shown"

    /// The device works through the driver of the idle states.
    private var idleRemedy: String {
        guard let idleDriver, idleDriver != "none", let mayLimitIdle else { return "boot with \(pollOption)" }
        let root = mayLimitIdle ? "" : "as root, "
        return "\(root)ask for an idle latency of 0 (--thread idle:0), or boot with \(pollOption)"
    }

    var idleLimitVerdict: MachineVerdict? {
        let (device, advice) = ("/dev/cpu_dma_latency", "It keeps processors awake: run as root, or add a udev rule.")
        return mayLimitIdle.map {
            $0 ? (.good, "\(device), writable", nil) : (.usual, "\(device), not writable", advice)
        }
    }

    var siblingsVerdict: MachineVerdict? {
        let off = host.hypervisor == true ? "off, as far as the host shows" : "off"
        let advice = "A tick takes longer if the core's other thread works: boot with nosmt, or use taskset."
        guard let sharesCores else { return nil }
        if sharesCores { return (.usual, "on", advice) }
        return host.hypervisor == nil ? (.unknown, off + Self.maybeGuest, nil) : (.good, off, nil)
    }

    var processorsVerdict: MachineVerdict? {
        guard host.processors > 0 else { return nil }
        let found = "\(host.processors) online" + (host.usableProcessors.map { ", \($0) usable" } ?? "")
        if host.usableProcessors ?? host.processors > 1 { return (.good, found, nil) }
        return (.limits, found, "All work waits for one processor: allow another (taskset, docker --cpuset-cpus).")
    }

    var quotaVerdict: MachineVerdict? {
        guard let quota = host.cpuQuota else {
            guard showsGroups else { return nil }
            return showsAllGroups
                ? (.good, "no limit", nil) : (.unknown, "none visible; a parent group may have one", nil)
        }
        let stops = stopsInWork.map { $0 == 0 ? "" : ", stopped \($0 == 1 ? "once" : "\($0) times") in 0.5 s of work" }
        let found = "limit: \(NumberText.fixed(quota, places: 2)) processors\(stops ?? ", its stops are not shown")"
        return (.limits, found, "At the limit, everything stops for up to 100 ms: raise it (CPUQuota=, docker --cpus).")
    }

    var realTimeVerdict: MachineVerdict? {
        guard let allowsRealTime else { return nil }
        let (limit, hasRight) = (realTimeLimit ?? 0, maySetPriorities == true)
        let reason = hasRight ? "CAP_SYS_NICE" : limit == .max ? "no limit" : "limit: \(limit) (RLIMIT_RTPRIO)"
        let isNamed = hasRight || limit > 0
        if allowsRealTime { return (.good, isNamed ? "allowed, \(reason)" : "allowed", nil) }
        if isNamed {
            let advice =
                groupRealTimeShare == 0
                ? "Allow it in the control group (cpu.rt_runtime_us)."
                : "Something else refuses it: check the container's filter of system calls."
            return (.usual, "refused, despite \(reason)", advice)
        }
        let advice =
            "Ordinary threads wait their turn: raise the limit (ulimit -r, LimitRTPRIO=), or grant CAP_SYS_NICE."
        return (.usual, "refused", advice)
    }

    var lockedMemoryVerdict: MachineVerdict? {
        guard let lockedMemory else { return nil }
        if lockedMemory == .max { return (.good, "no limit", nil) }
        let (mebibytes, kibibytes) = (lockedMemory >> 20, lockedMemory >> 10)
        let found = "limit: \(mebibytes > 0 ? "\(mebibytes) MiB" : "\(kibibytes) KiB")"
        return (.usual, found, "If memory is short, ticks can wait for the disk: raise it (ulimit -l, LimitMEMLOCK=).")
    }
}
