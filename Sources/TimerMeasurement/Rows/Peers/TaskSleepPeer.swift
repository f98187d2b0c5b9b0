internal import TimerAlarms
internal import TimerCore

/// A task that sleeps until start + k × period.
final class TaskSleepPeer: Ticking {
    private let task: Task<Void, Never>

    init(_ probe: Probe, deliver place: HandlerPlace) {
        task =
            place == .main
            ? Task { @MainActor in await Self.run(probe, isolation: MainActor.shared) }
            : Task { await Self.run(probe, isolation: nil) }
    }

    deinit { task.cancel() }

    /// The loop that one writes.
    private static func run(_ probe: Probe, isolation: isolated (any Actor)?) async {
        let period = Duration(wholeNanoseconds: probe.deadlines.period)
        var next = SuspendingClock.Instant(probe.deadlines.start)
        while (try? await Task.sleep(until: next, clock: .suspending)) != nil {
            let now = KernelClock.now(.suspending)
            guard !Task.isCancelled, probe.record(at: now, .calls) else { return }
            next += period
        }
    }

    /// Sleep only fails where it is cancelled.
    var failure: TimerError? { nil }

    func stop() { task.cancel() }
}

extension SuspendingClock.Instant {
    /// An instant of the kernel's clock, on Swift's, whose origin is not to be known. It is later by the time between two
    /// readings at most, and never earlier.
    init(_ instant: TimerInstant) {
        var shortest = UInt64.max
        var now = SuspendingClock.now
        var reading = KernelClock.now(.suspending)
        // The closest of some readings: what comes between the two would be lateness of all ticks.
        for _ in 0..<10 {
            let before = KernelClock.now(.suspending)
            let own = SuspendingClock.now
            let gap = KernelClock.now(.suspending).nanoseconds - before.nanoseconds
            if gap < shortest { (shortest, now, reading) = (gap, own, before) }
        }
        self = now.advanced(by: reading.duration(to: instant))
    }
}
