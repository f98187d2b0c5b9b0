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
