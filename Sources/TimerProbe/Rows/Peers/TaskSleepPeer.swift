internal import AsyncAlgorithms
internal import HostSystem
internal import PreciseTimer
internal import TimerResults

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

    private static func run(_ probe: Probe, isolation: isolated (any Actor)?) async {
        var next = SuspendingClock.Instant(probe.deadlines.start)
        while (try? await Task.sleep(until: next, clock: .suspending)) != nil {
            let now = SystemClock.now(.suspending)
            guard !Task.isCancelled, probe.record(at: now, .calls) else { return }
            next += probe.deadlines.step
        }
    }

    func stop() { task.cancel() }
}

extension SuspendingClock.Instant {
    /// An instant of the kernel's clock on Swift's clock, whose origin is not public. The result is never early. It
    /// is late by at most the time between two readings.
    init(_ instant: TimerInstant) {
        var shortest = UInt64.max
        var now = SuspendingClock.now
        var reading = SystemClock.now(.suspending)
        // The closest of ten pairs of readings: the time between the two would be lateness of all ticks.
        for _ in 0..<10 {
            let before = SystemClock.now(.suspending)
            let own = SuspendingClock.now
            let gap = SystemClock.now(.suspending).nanoseconds - before.nanoseconds
            if gap < shortest { (shortest, now, reading) = (gap, own, before) }
        }
        self = now.advanced(by: reading.duration(to: instant))
    }
}

/// A task that iterates over an `AsyncTimerSequence` of swift-async-algorithms. It misses nothing: late ticks come at
/// once, one after the other.
///
/// The sequence cannot be given a start: its grid begins a period after the iteration does. So the iteration begins a
/// period before the first deadline, and its own delay does not count as lateness of the ticks. On the main actor,
/// the way from there to the sequence does count.
final class AsyncTimerPeer: Ticking {
    private let task: Task<Void, Never>

    init(_ probe: Probe, deliver place: HandlerPlace) {
        task =
            place == .main
            ? Task { @MainActor in await Self.run(probe, isolation: MainActor.shared) }
            : Task { await Self.run(probe, isolation: nil) }
    }

    deinit { task.cancel() }

    private static func run(_ probe: Probe, isolation: isolated (any Actor)?) async {
        let deadlines = probe.deadlines
        let beginning = SuspendingClock.Instant(deadlines.beginning)
        guard (try? await Task.sleep(until: beginning, clock: .suspending)) != nil else { return }
        let delay = SystemClock.now(.suspending).nanoseconds &- deadlines.beginning.nanoseconds
        for await _ in AsyncTimerSequence(interval: deadlines.step, clock: .suspending) {
            let now = TimerInstant(nanoseconds: SystemClock.now(.suspending).nanoseconds &- delay)
            guard !Task.isCancelled, probe.record(at: now, .calls) else { return }
        }
    }

    func stop() { task.cancel() }
}
