internal import Dispatch
internal import PreciseTimer
internal import TimerAlarms
internal import TimerCore

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
        var timers: [PreciseTimer] = []
        for probe in probes { timers.append(try Self.schedule(probe, on: service, delivery)) }
        self.timers = timers
        self.probes = probes
    }

    private static func schedule(
        _ probe: Probe,
        on service: TimerService,
        _ delivery: PreciseTimer.Delivery
    ) throws(TimerError) -> PreciseTimer {
        let period = Duration(wholeNanoseconds: probe.deadlines.period)
        let clock = probe.deadlines.start.clock
        return try PreciseTimer.schedule(
            .every(period, at: probe.deadlines.start),
            on: service,
            deliver: delivery
        ) { timer, tick in
            // The clock itself comes first, and not the library's word for it.
            let delivered = KernelClock.now(clock)
            let arrival = Recording.Arrival(
                index: tick.index,
                deadline: tick.deadline,
                missed: tick.missed,
                woke: tick.woke,
                delivered: delivered
            )
            // Ended here, so that nothing ticks, and costs, between the last tick and the look of the one who waits.
            if !probe.record(arrival) { timer.cancel() }
        }
    }

    var failure: TimerError? {
        // A backend that fails ends all its timers: one that has not ended by itself tells.
        guard let open = probes.firstIndex(where: { !$0.progress.isComplete }),
            case .ended(.backendFailed(let error)) = timers[open].state
        else { return nil }
        return error
    }

    func stop() { for timer in timers { timer.cancel() } }
}
