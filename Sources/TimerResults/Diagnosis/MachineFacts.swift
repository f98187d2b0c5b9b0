/// What a machine shows about its precision, and what it allows this process. A fact that the kernel does not show is
/// nil.
package struct MachineFacts: Hashable, Sendable {
    /// The machine itself.
    package var host: Host

    // MARK: The clock

    /// The clock sources that the kernel could use.
    package var clockSources: [String] = []
    /// Nanoseconds to which the kernel rounds deadlines.
    package var resolution: UInt64?
    /// Nanoseconds between two steps of the clock's readings; nil if they are too small to matter.
    package var clockStep: Double?

    // MARK: The processors

    /// The share of time that other guests of the host took, in percent, since the machine was started.
    package var stolenSinceStart: Double?
    /// The same during half a second of work.
    package var stolenNow: Double?
    /// The driver of the idle states, or `none`.
    package var idleDriver: String?
    /// The governor of the idle states.
    package var idleGovernor: String?
    /// The name of the deepest idle state.
    package var deepestIdle: String?
    /// Nanoseconds that a processor takes to leave this state, as the driver says.
    package var idleExit: UInt64?
    /// Whether idle processors keep running because of a boot option.
    package var pollsWhenIdle = false
    /// Whether this process may use /dev/cpu_dma_latency; nil if there is no such device.
    package var mayLimitIdle: Bool?
    /// Whether two threads share a core.
    package var sharesCores: Bool?

    // MARK: The kernel

    /// The kernel's model of preemption as its version names it, as `PREEMPT_DYNAMIC`; empty if it names no model.
    package var preemption: String?
    /// Nanoseconds by which an ordinary thread's sleep may end later.
    package var timerSlack: UInt64?
    /// Whether an ordinary thread gets the short slice that it asks for.
    package var grantsSlice: Bool?
    /// The share of time that real-time threads may use, in percent.
    package var realTimeShare: Double?
    /// The processors that get no work of other processes, as `2-3`; empty if there are no such processors.
    package var isolated: String?
    /// The processors without a regular tick, in the same form.
    package var tickless: String?

    // MARK: The process

    /// Whether the kernel shows the control groups of the process, and so the limits of its processor time.
    package var showsGroups = false
    /// Whether the system let a thread have a real-time priority.
    package var allowsRealTime: Bool?
    /// The limit of real-time priorities.
    package var realTimeLimit: UInt64?
    /// Whether the process has CAP_SYS_NICE.
    package var maySetPriorities: Bool?
    /// The limit of locked memory in bytes, and `UInt64.max` for no limit.
    package var lockedMemory: UInt64?
    /// Whether the process has CAP_IPC_LOCK.
    package var mayLockMemory: Bool?

    /// The facts of a kernel that shows nothing but its name.
    package init(host: Host) { self.host = host }
}

extension MachineFacts {
    /// Sources that a process reads by itself, without a system call.
    private static let fastSources: Set = [
        "tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "riscv_clocksource", "timebase", "tod",
    ]
    /// Sources that take a system call, a slow device or an exit to the host.
    private static let slowSources: Set = [
        "hpet", "acpi_pm", "xen", "hyperv_clocksource_msr", "jiffies", "refined-jiffies", "pit",
    ]
    /// A system call takes longer than these nanoseconds, and a reading without one does not.
    private static let fastReading = 200.0

    var clockSourceFinding: MachineFinding {
        guard let source = host.clockSource else { return .unknown(.clockSource) }
        if Self.fastSources.contains(source) { return .good(.clockSource, source) }
        guard Self.slowSources.contains(source) else { return .unknown(.clockSource, "\(source), a rare one") }
        let file = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
        let better = clockSources.first { Self.fastSources.contains($0) }
        let advice =
            better.map { "Each reading is slow: as root, write \($0) to \(file)." }
            ?? "Each reading is slow, and the kernel has no better source: dmesg says why."
        return .limits(.clockSource, source, advice)
    }

    var clockReadingFinding: MachineFinding {
        guard let price = host.clockRead else { return .unknown(.clockReading) }
        let found = "\(NumberText.fixed(price, places: 0)) ns"
        if price <= Self.fastReading { return .good(.clockReading, found) }
        return .limits(
            .clockReading,
            found,
            "Each tick reads the clock several times: use a faster clock source, and no sandbox between the program "
                + "and the kernel."
        )
    }

    var resolutionFinding: MachineFinding {
        guard let resolution else { return .unknown(.resolution) }
        let step = clockStep.flatMap { $0 < 2 ? nil : ", read in steps of \(NumberText.fixed($0, places: 0)) ns" }
        let found = DurationText.spaced(nanoseconds: resolution) + (step ?? "")
        if resolution <= 1 { return .good(.resolution, found) }
        return .limits(
            .resolution,
            found,
            "The kernel rounds deadlines up to this: remove highres=off from its boot options, or use a kernel with "
                + "CONFIG_HIGH_RES_TIMERS."
        )
    }
}

extension MachineFacts {
    /// Nanoseconds that no sleeper notices.
    private static let unnoticeableSlack: UInt64 = 1000

    var preemptionFinding: MachineFinding {
        switch preemption {
        case nil: .unknown(.preemption)
        case "PREEMPT_RT": .good(.preemption, "PREEMPT_RT")
        case "":
            .limits(
                .preemption,
                "voluntary, or not at all",
                "A long system call of another program holds up a tick: use a kernel with PREEMPT_RT, or with "
                    + "PREEMPT_DYNAMIC and preempt=full at boot."
            )
        case let model?:
            .usual(
                .preemption,
                model,
                "The kernel's own work can hold up a tick: a kernel with PREEMPT_RT bounds that time."
            )
        }
    }

    var timerSlackFinding: MachineFinding {
        guard let timerSlack else { return .unknown(.timerSlack) }
        let found = DurationText.spaced(nanoseconds: timerSlack)
        if timerSlack <= Self.unnoticeableSlack { return .good(.timerSlack, found) }
        return .usual(
            .timerSlack,
            found,
            "Sleeps and polls of a thread end so much later, a timerfd does not: services ask for 1 ns, and a "
                + "thread of yours can call prctl(PR_SET_TIMERSLACK, 1)."
        )
    }

    var sliceFinding: MachineFinding {
        guard let grantsSlice else { return .unknown(.slice) }
        if grantsSlice { return .good(.slice, "100 µs, on request") }
        return .usual(
            .slice,
            "the kernel's own",
            "Among busy programs a thread waits longer for its turn: use Linux 6.12 or later, or allow "
                + "sched_setattr(2) in the sandbox."
        )
    }

    var throttlingFinding: MachineFinding {
        guard let realTimeShare else { return .unknown(.throttling) }
        if realTimeShare >= 100 { return .good(.throttling, "off") }
        return .usual(
            .throttling,
            "real-time threads get \(NumberText.fixed(realTimeShare, places: 0)) % of the time",
            "Only a spinning thread meets it: sysctl kernel.sched_rt_runtime_us=-1 lifts it, and such a thread can "
                + "then block the machine."
        )
    }

    var isolationFinding: MachineFinding {
        guard isolated != nil || tickless != nil else { return .unknown(.isolation) }
        let parts = [isolated, tickless.flatMap { $0.isEmpty ? nil : "without ticks \($0)" }].compactMap(\.self)
        let found = parts.filter { !$0.isEmpty }.joined(separator: ", ")
        if !found.isEmpty { return .good(.isolation, found) }
        return .usual(
            .isolation,
            "none",
            "To keep other work away from a processor, boot with isolcpus=N nohz_full=N, and run the program with "
                + "taskset -c N."
        )
    }
}
