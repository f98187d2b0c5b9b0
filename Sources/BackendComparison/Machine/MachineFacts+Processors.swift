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
