internal import TimerAlarms
internal import TimerCore

/// The thread of a reference: waits for one deadline after the other, of all timers in turn.
///
/// Deadlines that have passed at a look at the clock are found by division, and the next is the first future one, as in the
/// library.
final class ReferenceLoop: Ticking {
    private let isStopped = Lock(false)

    /// Starts the thread.
    init(_ reference: Reference, _ probes: [Probe]) throws(TimerError) {
        let isStopped = isStopped
        switch reference {
        case .nanosleep:
            try Thread.start("floor.nanosleep") {
                KernelClock.setTimerSlack(nanoseconds: 1)
                Self.loop(probes, isStopped) { KernelClock.sleep(until: $0) }
            }
        case .timerFD:
            let descriptor = try DescriptorBox(probes[0].deadlines.start.clock)
            try Thread.start("floor.timerfd") {
                Self.loop(probes, isStopped) { descriptor.wait(until: $0) }
            }
        }
    }

    /// A refusal shows as a row that falls silent or ticks early, which is reported.
    var failure: TimerError? { nil }

    func stop() { isStopped.withLock { $0 = true } }

    private static func loop(
        _ probes: [Probe],
        _ isStopped: Lock<Bool>,
        waitingBy wait: (TimerInstant) -> Void
    ) {
        // The probes' first deadlines are in order, a period's worth; so are all of their second ones, and so on.
        var open = probes
        while !open.isEmpty {
            open = open.filter { probe in
                wait(probe.nextDeadline)
                if isStopped.withLock({ $0 }) { return false }
                return probe.record(at: KernelClock.now(probe.deadlines.start.clock), .deadlines)
            }
        }
    }
}

/// Holds a descriptor for a closure, which cannot capture a value that is not copyable.
private final class DescriptorBox: Sendable {
    private let descriptor: TimerDescriptor

    init(_ clock: TimerClock) throws(TimerError) { descriptor = try TimerDescriptor(clock) }

    func wait(until deadline: TimerInstant) {
        try? descriptor.set(deadline)
        try? descriptor.wait()
    }
}
