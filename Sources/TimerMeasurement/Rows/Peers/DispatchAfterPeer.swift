internal import Dispatch
internal import TimerAlarms
internal import TimerCore

/// A chain of blocks, each of which asks for the next one a period from now: its drift is what there is to see.
final class DispatchAfterPeer: Ticking {
    private let probe: Probe
    private let queue: DispatchQueue
    private let isStopped = StopFlag()

    /// Starts it. Dispatch ends the process where timers cannot work in it, so that is to be looked at before.
    ///
    /// - Parameters:
    ///   - probe: what hears of the ticks.
    ///   - queue: a serial queue, where they come.
    init(_ probe: Probe, on queue: DispatchQueue) {
        self.probe = probe
        self.queue = queue
        ask(for: DispatchTime(uptimeNanoseconds: probe.deadlines.start.nanoseconds))
    }

    private func ask(for deadline: DispatchTime) {
        queue.asyncAfter(deadline: deadline) { [weak self] in
            let now = KernelClock.now(.suspending)
            self?.tick(at: now)
        }
    }

    private func tick(at now: TimerInstant) {
        guard !isStopped.isSet, probe.record(at: now, .calls) else { return }
        ask(for: .now() + .nanoseconds(Int(probe.deadlines.period)))
    }

    /// Dispatch has no way to say that a block does not come.
    var failure: TimerError? { nil }

    /// A block that is still to come does nothing.
    func stop() { isStopped.set() }
}
