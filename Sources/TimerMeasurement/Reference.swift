internal import TimerAlarms
internal import TimerCore

/// What the kernel can do with nothing of the library in between: the floor that the backends are compared with.
package enum Reference: String, CaseIterable, Sendable {
    /// A loop of absolute `clock_nanosleep`.
    case nanosleep = "floor-nanosleep"
    /// A loop that sets a timerfd and reads it.
    case timerFD = "floor-timerfd"

    /// One line for the list of rows.
    package var summary: String {
        switch self {
        case .nanosleep: "a bare loop of absolute clock_nanosleep, with 1 ns timer slack"
        case .timerFD: "a bare loop that sets a timerfd and reads it; the floor of the ratios"
        }
    }

    /// Runs the loop on a thread of its own, until the probe has enough.
    func start(_ deadlines: Deadlines, into probe: Probe) throws(TimerError) {
        switch self {
        case .nanosleep:
            try Thread.start("floor.nanosleep") {
                KernelClock.setTimerSlack(nanoseconds: 1)
                Self.loop(deadlines, into: probe) { KernelClock.sleep(until: $0) }
            }
        case .timerFD:
            let descriptor = try DescriptorBox()
            try Thread.start("floor.timerfd") {
                Self.loop(deadlines, into: probe) { descriptor.wait(until: $0) }
            }
        }
    }

    /// Waits for one deadline after the other. Those that have passed at a look at the clock are found by division, and
    /// the next is the first future one, as in the library.
    private static func loop(_ deadlines: Deadlines, into probe: Probe, waitingBy wait: (TimerInstant) -> Void) {
        var index: UInt64 = 0
        while true {
            let deadline = deadlines[index]
            wait(deadline)
            let now = KernelClock.now(.suspending)
            // An early return of the kernel's is to be seen in the results, not to upset the arithmetic.
            let next = max(deadlines.passed(at: now), index + 1)
            let arrival = Recording.Arrival(
                index: index,
                deadline: deadline,
                missed: next - index - 1,
                woke: now,
                delivered: now
            )
            guard probe.record(arrival) else { return }
            index = next
        }
    }
}

/// Holds a descriptor for a closure, which cannot capture a value that is not copyable.
private final class DescriptorBox: Sendable {
    private let descriptor: TimerDescriptor

    init() throws(TimerError) { descriptor = try TimerDescriptor(.suspending) }

    /// Sets the descriptor and reads it. A refusal shows as a row that falls silent or ticks early, which is reported.
    func wait(until deadline: TimerInstant) {
        try? descriptor.set(deadline)
        try? descriptor.wait()
    }
}
