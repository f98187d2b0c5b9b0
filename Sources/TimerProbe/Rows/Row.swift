internal import Dispatch
internal import HostSystem
package import PreciseTimer
package import TimerResults

/// A mechanism that is measured: a backend of the library, a peer, or a reference.
package struct Row: Hashable, Sendable {
    /// The source of the ticks.
    package enum Mechanism: Hashable, Sendable {
        case backend(TimerService.Backend)
        case peer(Peer)
        case reference(Reference)
        /// cyclictest, a program that measures by itself.
        case referee
    }

    package let mechanism: Mechanism
    /// The place among equal rows, from 1.
    package let number: Int

    package init(_ mechanism: Mechanism, number: Int = 1) {
        self.mechanism = mechanism
        self.number = number
    }

    /// The name in tables, in JSON and on the command line.
    package var name: String {
        let name =
            switch mechanism {
            case .backend(let backend): backend.rawValue
            case .peer(let peer): peer.rawValue
            case .reference(let reference): reference.rawValue
            case .referee: RowKey.cyclictest
            }
        return number == 1 ? name : "\(name)#\(number)"
    }

    package var kind: RowKey.Kind {
        switch mechanism {
        case .backend: .backend
        case .peer: .peer
        case .reference, .referee: .reference
        }
    }

    /// The rows of some backends. A backend that is named twice has two rows, for a comparison with itself.
    package static func of(_ backends: [TimerService.Backend]) -> [Row] {
        backends.enumerated()
            .map { position, backend in
                Row(.backend(backend), number: backends[...position].filter { $0 == backend }.count)
            }
    }
}

extension Row {
    /// The clock of the row's deadlines. Peers have the suspending clock only.
    func clock(asked: TimerClock) -> TimerClock {
        if case .peer = mechanism { .suspending } else { asked }
    }

    /// Why the row cannot be measured with a period and a clock; nil if it can.
    func problem(period: Duration, clock: TimerClock) -> String? {
        switch mechanism {
        case .backend, .reference: nil
        case .peer(let peer): peer.problem(period: period)
        case .referee: Cyclictest.problem(period: period, clock: clock)
        }
    }

    /// The time from the start to the first deadline that the row needs, beyond the time of every row.
    func lead(period: Duration) -> Duration {
        if case .peer(let peer) = mechanism { peer.lead(period: period) } else { .zero }
    }

    /// Whether the row's handlers can run at a place.
    func runs(_ place: HandlerPlace) -> Bool {
        switch mechanism {
        case .backend: true
        case .peer(let peer): peer.runs(place)
        case .reference, .referee: place == .inline
        }
    }
}

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
