internal import ArgumentParser
internal import PreciseTimer
internal import TimerProbe
internal import TimerResults

/// What to ask of the system for the threads that tick. Results say what was obtained.
struct SystemOptions: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The scheduling policy of the ticking threads: fifo:PRIORITY or rr:PRIORITY (1 to 99), or "
                + "deadline:RUNTIME:DEADLINE:PERIOD, as in deadline:200us:500us:1ms. (default: the ordinary policy)",
            valueName: "policy"
        ),
        transform: { try TimerService.ThreadOptions.Policy.parse($0) }
    )
    var realtime: TimerService.ThreadOptions.Policy = .normal

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The numbers of the processors that the ticking threads may run on, as in 1 or 0,2-3. (default: those of "
                + "the process)",
            valueName: "processors"
        ),
        transform: { try ProcessorsText.parse($0) }
    )
    var affinity: Set<Int> = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How late the kernel may end the sleeps of the ticking threads, at least 1ns; timerfds take no slack. "
                + "(default: 1ns)",
            valueName: "time"
        ),
        transform: { try DurationText.parse($0) }
    )
    var timerSlack: Duration?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How long the ticking threads may run before the kernel looks for another thread: 100us to 100ms, or 0 for "
                + "the kernel's own slice. (default: 100us for backends with a thread of their own)",
            valueName: "time"
        ),
        transform: { try DurationText.parse($0) }
    )
    var slice: Duration?

    @Flag(help: "Lock the memory of the process into RAM, for all rows. (default: not locked)")
    var lockMemory = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The longest time that a processor may take to leave an idle state, on the whole machine and for all rows, "
                + "in whole microseconds, as in 20us or 0. (default: the system's choice)",
            valueName: "time"
        ),
        transform: { try IdleLatency.parse($0) }
    )
    var idleLatency: Duration?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The longest time that hybrid may spin before a deadline; before a rare one, 2.5 times as long. "
                + "(default: 100us)",
            valueName: "time"
        ),
        transform: { try DurationText.parse($0) }
    )
    var maximumSpin: Duration?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The share of one processor that hybrid may spend on spinning, at most 90%. (default: 10%)",
            valueName: "percent"
        ),
        transform: { try Budget.parse($0) }
    )
    var cpuBudget: Double?

    /// The options for a plan.
    var wishes: SystemWishes {
        var wishes = SystemWishes()
        wishes.options = TimerService.ThreadOptions(
            policy: realtime,
            affinity: affinity,
            timerSlack: timerSlack,
            slice: slice,
            locksMemory: lockMemory,
            idleLatency: idleLatency
        )
        wishes.maximumSpin = maximumSpin
        wishes.cpuBudget = cpuBudget.map { $0 / 100 }
        return wishes
    }
}
