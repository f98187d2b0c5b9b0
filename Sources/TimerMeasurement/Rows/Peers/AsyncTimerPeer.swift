internal import AsyncAlgorithms
internal import TimerAlarms
internal import TimerCore

/// A task that iterates over an `AsyncTimerSequence` of swift-async-algorithms, which misses nothing: what is late comes at
/// once, one after the other.
///
/// The sequence has no start: its grid begins a period after the iteration does. So the iteration begins a period before
/// the first deadline, as closely as it can be done, which costs 200 µs on a processor in each turn. All its lateness is
/// too large by what the iteration begins late: below 1 µs as a rule, and as much as the sleep before it is late where that
/// is more than the 200 µs.
final class AsyncTimerPeer: Ticking {
    private let task: Task<Void, Never>

    /// Nanoseconds that are spun through after a sleep: more than most sleeps are late.
    private static let spun: UInt64 = 200_000

    init(_ probe: Probe, deliver place: HandlerPlace) {
        task =
            place == .main
            ? Task { @MainActor in await Self.run(probe, isolation: MainActor.shared) }
            : Task { await Self.run(probe, isolation: nil) }
    }

    deinit { task.cancel() }

    private static func run(_ probe: Probe, isolation: isolated (any Actor)?) async {
        let period = Duration(wholeNanoseconds: probe.deadlines.period)
        let beginning = probe.deadlines.start.advanced(by: .zero - period)
        let sleepEnd = SuspendingClock.Instant(beginning.advanced(by: .zero - Duration(wholeNanoseconds: spun)))
        guard (try? await Task.sleep(until: sleepEnd, clock: .suspending)) != nil else { return }
        while KernelClock.now(.suspending) < beginning {}
        for await _ in AsyncTimerSequence(interval: period, clock: .suspending) {
            let now = KernelClock.now(.suspending)
            guard !Task.isCancelled, probe.record(at: now, .calls) else { return }
        }
    }

    /// The sequence ends where it is cancelled only.
    var failure: TimerError? { nil }

    func stop() { task.cancel() }
}
