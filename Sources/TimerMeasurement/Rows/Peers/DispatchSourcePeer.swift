internal import Dispatch
internal import TimerAlarms
internal import TimerCore

/// A repeating Dispatch timer source, as strict as there is.
final class DispatchSourcePeer: Ticking {
    private let probe: Probe
    private let source: Lock<any DispatchSourceTimer>
    private let isStopped = StopFlag()

    /// Starts it. Dispatch ends the process where timers cannot work in it, so that is to be looked at before.
    ///
    /// - Parameters:
    ///   - probe: what hears of the ticks.
    ///   - queue: a serial queue, where they come.
    init(_ probe: Probe, on queue: DispatchQueue) {
        self.probe = probe
        let source = DispatchSource.makeTimerSource(flags: .strict, queue: queue)
        source.schedule(
            deadline: DispatchTime(uptimeNanoseconds: probe.deadlines.start.nanoseconds),
            repeating: .nanoseconds(Int(probe.deadlines.period)),
            leeway: .nanoseconds(0)
        )
        self.source = Lock(source)
        self.source.withLock { source in
            source.setEventHandler { [weak self] in
                let now = KernelClock.now(.suspending)
                self?.tick(at: now)
            }
            // At once, for releasing a source that was never activated ends the process.
            source.activate()
        }
    }

    deinit { stop() }

    private func tick(at now: TimerInstant) {
        guard !isStopped.isSet else { return }
        // Dispatch counts the deadlines that passed before it looked. Counted again here, one that has passed meanwhile would
        // be taken for missed, and its own call, which comes at once, for the next one's.
        let fires = source.withLock { UInt64($0.data) }
        if !probe.record(at: now, .fires(fires)) { stop() }
    }

    /// Dispatch has no way to say that a source does not work.
    var failure: TimerError? { nil }

    func stop() {
        isStopped.set()
        source.withLock { $0.cancel() }
    }
}
