internal import Dispatch
internal import HostSystem
internal import PreciseTimer
internal import TimerResults

/// Timers of the library.
struct BackendTimers: Ticking {
    private let timers: [PreciseTimer]
    private let probes: [Probe]

    /// Schedules a timer for each probe.
    init(_ probes: [Probe], on service: TimerService, deliver place: HandlerPlace) throws(TimerError) {
        let delivery: PreciseTimer.Delivery =
            switch place {
            case .inline: .inline
            case .queue: .queue(DispatchQueue(label: "compare-backends", qos: .userInteractive))
            case .main: .mainActor
            }
        self.probes = probes
        timers = try probes.map { probe throws(TimerError) in
            let (deadlines, clock) = (probe.deadlines, probe.deadlines.start.clock)
            return try PreciseTimer.schedule(
                .every(deadlines.step, at: deadlines.start),
                on: service,
                deliver: delivery
            ) { timer, tick in
                // The clock is read first, and not taken from the library.
                let delivered = SystemClock.now(clock)
                let arrival = Recording.Arrival(
                    index: tick.index,
                    deadline: tick.deadline,
                    missed: tick.missed,
                    woke: tick.woke,
                    delivered: delivered
                )
                // The timer ends here, so that no tick costs anything between the last deadline and the next progress
                // check.
                if !probe.record(arrival) { timer.cancel() }
            }
        }
    }

    var failure: (any Error)? {
        // A backend that fails ends all its timers. So the state of one timer is enough, if its probe did not end it.
        guard let open = probes.firstIndex(where: { !$0.progress.isComplete }),
            case .ended(.backendFailed(let error)) = timers[open].state
        else { return nil }
        return error
    }

    func stop() { for timer in timers { timer.cancel() } }
}
