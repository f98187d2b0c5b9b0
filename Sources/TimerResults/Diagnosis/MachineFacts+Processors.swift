/// The findings about the processors, and about the limits of the process.
extension MachineFacts {
    /// From this share of stolen time on, in percent, one tick in a thousand may be late because of it.
    private static let noticeableTheft = 0.1
    /// A processor that takes longer than these nanoseconds to wake up makes ticks noticeably later.
    private static let noticeableExit: UInt64 = 10_000

    var virtualMachineFinding: MachineFinding {
        switch host.hypervisor {
        case nil: .unknown(.virtualMachine)
        case false: .good(.virtualMachine, "no")
        case true:
            .limits(
                .virtualMachine,
                "yes",
                "The host can stop the whole machine for milliseconds: use real hardware, or a guest that has "
                    + "processors for itself."
            )
        }
    }

    var stolenTimeFinding: MachineFinding {
        let parts = [(stolenSinceStart, "since the start"), (stolenNow, "in 0.5 s of work")]
            .compactMap { share, time in share.map { "\(NumberText.fixed($0, places: 1)) % \(time)" } }
        guard let most = [stolenSinceStart, stolenNow].compactMap(\.self).max() else { return .unknown(.stolenTime) }
        // A guest counts stolen time only if its host helps, which not every host of ARM guests does.
        if most == 0, host.machine != "x86_64", host.hypervisor != false {
            return .unknown(.stolenTime, "none is counted here")
        }
        let found = parts.joined(separator: ", ")
        if most < Self.noticeableTheft { return .good(.stolenTime, found) }
        return .limits(
            .stolenTime,
            found,
            "The host gave this time to other guests: use a host with fewer guests, or a guest that has processors "
                + "for itself."
        )
    }

    var governorFinding: MachineFinding {
        guard let governor = host.governor else { return .unknown(.governor) }
        if governor == "performance" { return .good(.governor, governor) }
        return .limits(
            .governor,
            governor,
            "A processor that saves power is slow at first: as root, cpupower frequency-set -g performance."
        )
    }

    /// The boot option that keeps idle processors running (the kernel's kernel-parameters.txt).
    private var pollOption: String { host.machine == "x86_64" ? "idle=poll" : "nohlt" }

    var idleStatesFinding: MachineFinding {
        if pollsWhenIdle { return .good(.idleStates, "not used (\(pollOption))") }
        guard idleDriver != nil || idleExit != nil else { return .unknown(.idleStates) }
        let isGuest = host.hypervisor == true
        if isGuest || (idleExit ?? 0) > Self.noticeableExit {
            // The driver of a guest knows nothing of the time that the host takes.
            let reason = isGuest ? "The host wakes an idle processor late" : "An idle processor wakes up late"
            return .limits(.idleStates, idleWords, "\(reason): \(idleRemedy), at the price of power.")
        }
        return idleExit == nil ? .unknown(.idleStates, idleWords) : .good(.idleStates, idleWords)
    }

    /// The states in a few words: `intel_idle, menu; deepest: C6, exit in 133 µs`.
    private var idleWords: String {
        let driver = idleDriver == "none" ? "no driver" : idleDriver
        let governor = idleGovernor == idleDriver ? nil : idleGovernor
        let exit = idleExit.map { "exit in \(DurationText.spaced(nanoseconds: $0))" }
        return [[driver, governor], [deepestIdle.map { "deepest: \($0)" }, exit]]
            .map { $0.compactMap(\.self).joined(separator: ", ") }
            .filter { !$0.isEmpty }
            .joined(separator: "; ")
    }

    /// The device works through the driver of the idle states.
    private var idleRemedy: String {
        guard let idleDriver, idleDriver != "none", let mayLimitIdle else { return "boot with \(pollOption)" }
        let root = mayLimitIdle ? "" : "as root, "
        return "\(root)ask for an idle latency of 0 (--idle-latency 0), or boot with \(pollOption)"
    }

    var idleControlFinding: MachineFinding {
        switch mayLimitIdle {
        case nil: .unknown(.idleControl)
        case true: .good(.idleControl, "/dev/cpu_dma_latency, writable")
        case false:
            .usual(
                .idleControl,
                "/dev/cpu_dma_latency, not writable",
                "Programs keep idle processors awake with this device: run as root, or give the user access by a udev "
                    + "rule."
            )
        }
    }

    var siblingsFinding: MachineFinding {
        switch sharesCores {
        case nil: .unknown(.siblings)
        case false: .good(.siblings, host.hypervisor == true ? "off, as far as the host shows it" : "off")
        case true:
            .usual(
                .siblings,
                "on",
                "A tick takes longer if the core's other thread works: boot with nosmt, or keep other work away with "
                    + "taskset."
            )
        }
    }
}

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
