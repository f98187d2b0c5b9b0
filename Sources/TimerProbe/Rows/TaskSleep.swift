internal import PreciseTimer
internal import TimerResults

/// Tasks that sleep until start + k × period with `Task.sleep(until:)`, as one would write a repeating timer without
/// the library today: a task for each probe. They cannot fail. They end with `stop()`, and with this object.
final class TaskSleep: Ticking {
    private let tasks: [Task<Void, Never>]

    init(_ probes: [Probe], deliver place: HandlerPlace) {
        tasks = probes.map { probe in
            place == .main
                ? Task { @MainActor in await Self.run(probe, isolation: MainActor.shared) }
                : Task { await Self.run(probe, isolation: nil) }
        }
    }

    deinit { stop() }

    private static func run(_ probe: Probe, isolation: isolated (any Actor)?) async {
        var next = SuspendingClock.Instant(probe.deadlines.start)
        while (try? await Task.sleep(until: next, clock: .suspending)) != nil {
            let now = TimerClock.suspending.now
            guard !Task.isCancelled, probe.record(at: now, .calls) else { return }
            next += probe.deadlines.step
        }
    }

    func stop() { for task in tasks { task.cancel() } }
}

extension SuspendingClock.Instant {
    /// An instant of the kernel's clock on Swift's clock, whose origin is not public. The result is never early. It
    /// is late by at most the time between two readings.
    fileprivate init(_ instant: TimerInstant) {
        var shortest = UInt64.max
        var now = SuspendingClock.now
        var reading = TimerClock.suspending.now
        // The closest of ten pairs of readings: the time between the two would be lateness of all ticks.
        for _ in 0..<10 {
            let before = TimerClock.suspending.now
            let own = SuspendingClock.now
            let gap = TimerClock.suspending.now.nanoseconds - before.nanoseconds
            if gap < shortest { (shortest, now, reading) = (gap, own, before) }
        }
        self = now.advanced(by: reading.duration(to: instant))
    }
}
