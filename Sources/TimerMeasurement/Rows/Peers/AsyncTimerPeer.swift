internal import AsyncAlgorithms
internal import TimerAlarms
internal import TimerCore

/// A task that iterates over an `AsyncTimerSequence` of swift-async-algorithms, which misses nothing: what is late comes at
/// once, one after the other.
///
/// The sequence has no start: its grid begins a period after the iteration does. So the iteration begins a period before
/// the first deadline, and what it begins late is no lateness of its ticks; but for the way from the main actor to the
/// sequence, where they are delivered there.
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
        let period = Duration(wholeNanoseconds: probe.deadlines.period)
        let beginning = probe.deadlines.beginning
        guard (try? await Task.sleep(until: SuspendingClock.Instant(beginning), clock: .suspending)) != nil else {
            return
        }
        let now = KernelClock.now(.suspending)
        let delay = Int64(clamping: now.nanoseconds) - Int64(clamping: beginning.nanoseconds)
        for await _ in AsyncTimerSequence(interval: period, clock: .suspending) {
            let now = KernelClock.now(.suspending)
            guard !Task.isCancelled, probe.record(at: now.shifted(by: -delay), .calls) else { return }
        }
    }

    /// The sequence ends where it is cancelled only.
    var failure: TimerError? { nil }

    func stop() { task.cancel() }
}
