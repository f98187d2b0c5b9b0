import TimerAlarms
import TimerCore
import TimerMeasurement

/// What a measurement adds to each tick that it records.
enum ProbeBenchmarks {
    private static let ticks = 100_000

    static func run() throws {
        try Harness.compare(
            "a tick of a timer that is measured",
            doTheSame: false,
            [
                Side(name: "a handler that does nothing") {
                    average(handler: { true })
                },
                Side(name: "a handler that reads the clock") {
                    average(handler: { KernelClock.now(.suspending).nanoseconds > 0 })
                },
                Side(name: "probe: reads the clock and records") {
                    let deadlines = Deadlines(start: KernelClock.now(.suspending), period: 1_000_000_000)
                    let probe = Probe(deadlines, goal: UInt64(ticks) + 1)
                    return average(handler: { probe.record(at: KernelClock.now(.suspending), .calls) })
                },
                Side(name: "probe: the same for a library's tick") {
                    let deadlines = Deadlines(start: KernelClock.now(.suspending), period: 1_000_000_000)
                    let probe = Probe(deadlines, goal: UInt64(ticks) + 1)
                    return average(handler: {
                        let now = KernelClock.now(.suspending)
                        let arrival = Recording.Arrival(
                            index: 0,
                            deadline: deadlines.start,
                            missed: 0,
                            woke: now,
                            delivered: now
                        )
                        return probe.record(arrival)
                    })
                },
            ]
        )
    }

    /// Nanoseconds of one call, through a closure as whoever ticks has it.
    @inline(never)
    private static func average(handler: @escaping @Sendable () -> Bool) -> Double {
        Harness.time {
            for _ in 0..<ticks where !handler() { preconditionFailure("a handler that wants no more ticks") }
        } / Double(ticks)
    }
}
