internal import Dispatch
internal import HostSystem
internal import PreciseTimer

/// A chain of blocks. Each block asks for the next block a period from now, so the chain drifts.
final class DispatchAfterPeer: Ticking {
    private let probe: Probe
    private let queue: DispatchQueue
    private let isStopped = StopFlag()

    /// - Parameters:
    ///   - probe: records the ticks.
    ///   - queue: the serial queue of the ticks.
    init(_ probe: Probe, on queue: DispatchQueue) {
        self.probe = probe
        self.queue = queue
        ask(for: DispatchTime(uptimeNanoseconds: probe.deadlines.start.nanoseconds))
    }

    private func ask(for deadline: DispatchTime) {
        queue.asyncAfter(deadline: deadline) { [weak self] in
            let now = SystemClock.now(.suspending)
            self?.tick(at: now)
        }
    }

    private func tick(at now: TimerInstant) {
        guard !isStopped.isSet, probe.record(at: now, .calls) else { return }
        ask(for: .now() + .nanoseconds(Int(probe.deadlines.period)))
    }

    /// A later block does nothing.
    func stop() { isStopped.set() }
}
