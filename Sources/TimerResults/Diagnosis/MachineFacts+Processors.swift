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

    var idleStatesFinding: MachineFinding {
        if pollsWhenIdle { return .good(.idleStates, "not used (idle=poll)") }
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
        guard let idleDriver, idleDriver != "none", let mayLimitIdle else { return "boot with idle=poll" }
        let root = mayLimitIdle ? "" : "as root, "
        return "\(root)ask for an idle latency of 0 (--idle-latency 0), or boot with idle=poll"
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
