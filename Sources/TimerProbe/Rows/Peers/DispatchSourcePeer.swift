internal import Dispatch
internal import HostSystem
internal import PreciseTimer

/// A repeating Dispatch timer source, as strict as Dispatch allows.
@safe
final class DispatchSourcePeer: Ticking {
    private let probe: Probe
    // Constant, and Dispatch locks it.
    private nonisolated(unsafe) let source: any DispatchSourceTimer
    private let isStopped = StopFlag()

    /// - Parameters:
    ///   - probe: records the ticks.
    ///   - queue: the serial queue of the ticks.
    init(_ probe: Probe, on queue: DispatchQueue) {
        self.probe = probe
        let source = DispatchSource.makeTimerSource(flags: .strict, queue: queue)
        unsafe self.source = source
        source.schedule(
            deadline: DispatchTime(uptimeNanoseconds: probe.deadlines.start.nanoseconds),
            repeating: .nanoseconds(Int(probe.deadlines.period)),
            leeway: .nanoseconds(0)
        )
        source.setEventHandler { [weak self] in
            let now = SystemClock.now(.suspending)
            self?.tick(at: now)
        }
        // The release of a source that was never activated ends the process.
        source.activate()
    }

    deinit { stop() }

    private func tick(at now: TimerInstant) {
        guard !isStopped.isSet else { return }
        // Dispatch has counted the deadlines that passed before its own reading of the clock. A new count here could
        // include one more deadline, whose own call comes next: it would be taken for missed, and its call for the
        // next deadline's.
        if !probe.record(at: now, .fires(UInt64(unsafe source.data))) { stop() }
    }

    func stop() {
        isStopped.set()
        unsafe source.cancel()
    }
}

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
