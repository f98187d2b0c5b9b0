extension MachineFacts {
    var processorsFinding: MachineFinding {
        guard host.processors > 0 else { return .unknown(.processors) }
        let usable = host.usableProcessors
        let found = "\(host.processors) online" + (usable.map { ", \($0) usable" } ?? "")
        if usable ?? host.processors > 1 { return .good(.processors, found) }
        return .limits(
            .processors,
            found,
            "All work of the process waits for one processor: allow it another (taskset, cpuset, docker "
                + "--cpuset-cpus)."
        )
    }

    var quotaFinding: MachineFinding {
        guard let quota = host.cpuQuota else { return showsGroups ? .good(.quota, "none") : .unknown(.quota) }
        return .limits(
            .quota,
            "\(NumberText.fixed(quota, places: 2)) processors",
            "A process that has used it up stops for the rest of a period, often of 100 ms: raise or remove the limit "
                + "(CPUQuota=, docker --cpus)."
        )
    }

    var realTimeFinding: MachineFinding {
        guard let allowsRealTime else { return .unknown(.realTime) }
        let (limit, hasRight) = (realTimeLimit ?? 0, maySetPriorities == true)
        if allowsRealTime {
            return .good(
                .realTime,
                hasRight || limit > 99 ? "allowed, up to 99" : limit > 0 ? "allowed, up to \(limit)" : "allowed"
            )
        }
        if hasRight || limit > 0 {
            return .usual(
                .realTime,
                "refused, in spite of \(hasRight ? "CAP_SYS_NICE" : "RLIMIT_RTPRIO \(limit)")",
                "A container or its control group (cpu.rt_runtime_us) refuses it: run outside of the container, or "
                    + "change its settings."
            )
        }
        return .usual(
            .realTime,
            "refused",
            "Ordinary threads wait their turn on a busy machine: raise the limit (ulimit -r, LimitRTPRIO=), or give "
                + "CAP_SYS_NICE."
        )
    }

    var lockedMemoryFinding: MachineFinding {
        if mayLockMemory == true { return .good(.lockedMemory, "without limit (CAP_IPC_LOCK)") }
        guard let lockedMemory else { return .unknown(.lockedMemory) }
        if lockedMemory == .max { return .good(.lockedMemory, "without limit") }
        let (mebibytes, kibibytes) = (lockedMemory >> 20, lockedMemory >> 10)
        return .usual(
            .lockedMemory,
            "up to \(mebibytes > 0 ? "\(mebibytes) MiB" : "\(kibibytes) KiB")",
            "If memory is short, a tick can wait for a page from disk: a program that locks its memory needs a higher "
                + "limit (ulimit -l, LimitMEMLOCK=)."
        )
    }
}
