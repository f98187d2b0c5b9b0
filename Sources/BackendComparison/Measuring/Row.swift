internal import Dispatch
internal import PreciseTimer

/// A mechanism that is measured: a backend of the library, the same work without it, or a bare loop.
package struct NamedRow: Hashable, Sendable {
    /// The source of the ticks.
    enum Mechanism: Hashable, Sendable {
        case backend(TimerService.Backend)
        case taskSleep(TaskSleep.Form)
        case bare(Bare)
    }

    let mechanism: Mechanism
    /// The place among equal rows, from 1.
    let number: Int

    init(_ mechanism: Mechanism, number: Int = 1) {
        self.mechanism = mechanism
        self.number = number
    }

    /// The name in tables, in JSON and on the command line.
    var name: String {
        let name =
            switch mechanism {
            case .backend(let backend): backend.rawValue
            case .taskSleep(let form): form.rawValue
            case .bare(let bare): bare.rawValue
            }
        return number == 1 ? name : "\(name)#\(number)"
    }

    var kind: RowKey.Kind {
        switch mechanism {
        case .backend: .backend
        case .taskSleep(.until): .peer
        case .taskSleep(.forPeriod): .relative
        case .taskSleep(.untilOnHybrid): .executor
        case .bare: .bare
        }
    }

    /// The backend of the row's own service; nil if the row has no service.
    var backend: TimerService.Backend? {
        switch mechanism {
        case .backend(let backend): backend
        case .taskSleep(.untilOnHybrid): .hybrid
        case .taskSleep, .bare: nil
        }
    }

    /// Every row that has a name, whether this build has it or not.
    static let all: [NamedRow] =
        TimerService.Backend.allCases.map { NamedRow(.backend($0)) }
        + TaskSleep.Form.allCases.map { NamedRow(.taskSleep($0)) } + Bare.allCases.map { NamedRow(.bare($0)) }

    /// The names of all rows, as the help lists them.
    package static let (backends, peers, bareLoops) = (names(.backend), names(.peer, .relative), names(.bare))
    package static let tasks = names(.executor)

    private static func names(_ kinds: RowKey.Kind...) -> String {
        all.filter { kinds.contains($0.kind) }.map(\.name).joined(separator: ", ")
    }

    /// Reads names with commas between them. A row that is named twice is compared with itself.
    package static func parse(_ text: String) throws(Failure) -> [NamedRow] {
        var mechanisms: [Mechanism] = []
        for name in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let row = all.first(where: { $0.name == name }) else {
                throw .invalid("the rows are \(all.map(\.name).joined(separator: ", "))")
            }
            mechanisms.append(row.mechanism)
        }
        return numbered(mechanisms)
    }

    /// Rows of these mechanisms, with the number of each among its equals.
    static func numbered(_ mechanisms: [Mechanism]) -> [NamedRow] {
        mechanisms.enumerated()
            .map { place, mechanism in NamedRow(mechanism, number: mechanisms[...place].count { $0 == mechanism }) }
    }

    /// The rows without a wish: every backend that this build and a clock allow, the default one first; what people use
    /// today; and the floor. A row more would take its share of the laps from these.
    static func usual(on clock: TimerClock) -> [NamedRow] {
        let backends = [.timerFD] + TimerService.Backend.allCases.filter { $0 != .timerFD }
        return backends.map { NamedRow(.backend($0)) }.filter { $0.obstacle(on: clock) == nil }
            + [.until, .forPeriod].map { NamedRow(.taskSleep($0)) } + [NamedRow(.bare(.timerFD))]
    }
}

extension NamedRow {
    /// Why the row cannot be measured on a clock; nil if it can.
    func obstacle(on clock: TimerClock) -> String? {
        guard let backend else { return nil }
        if case .unavailable(let reason) = backend.availability { return reason }
        if case .taskSleep = mechanism { return TaskSleep.obstacleOnService }
        guard !backend.clocks.contains(clock) else { return nil }
        let able = TimerService.Backend.allCases.filter { $0.clocks.contains(clock) }.map(\.rawValue)
        return "it cannot wait on the \(clock.rawValue) clock; \(able.joined(separator: " and ")) can"
    }

    /// The clock of the row's deadlines. Tasks have the suspending clock only.
    func clock(asked: TimerClock) -> TimerClock { if case .taskSleep = mechanism { .suspending } else { asked } }

    /// Whether the row's handlers can run at a place.
    func runs(_ place: HandlerPlace) -> Bool {
        switch mechanism {
        case .backend: true
        case .taskSleep(.until), .taskSleep(.forPeriod): place != .queue
        case .taskSleep(.untilOnHybrid), .bare: place == .inline
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
            case .main: .queue(.main)
            }
        self.probes = probes
        timers = try probes.map { probe throws(TimerError) in
            let (deadlines, clock) = (probe.deadlines, probe.deadlines.start.clock)
            return try PreciseTimer.schedule(
                .every(deadlines.step, at: deadlines.start),
                on: service,
                deliver: delivery
            ) { timer, tick in
                // Read first, and here: no reading in the tick is as late as the call of the handler.
                let delivered = clock.now
                let arrival = Recording.Arrival(
                    index: UInt64(tick.index),
                    deadline: tick.deadline,
                    missed: UInt64(tick.missed),
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
