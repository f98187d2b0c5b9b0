internal import TimerKernel

/// Sums up what else the machine did in the turns, on the processors that this process may use. An account that the
/// kernel does not show is missing in the sums.
struct MachineWatch {
    /// The machine's accounts at one moment.
    struct Reading {
        /// Nanoseconds.
        var time: UInt64
        var pressure: UInt64?
        var processors: ProcessorTime?
        /// Nanoseconds of this process on a processor.
        var own: Int64?
        /// What the groups with a quota have counted.
        var throttling: [Throttling?] = []

        init(time: UInt64) { self.time = time }
    }

    /// Nanoseconds.
    private struct Sums {
        var (waiting, timeOfWaiting) = (0.0, 0.0)
        var (busy, own, timeOfOthers) = (0.0, 0.0, 0.0)
        var (stolen, timeOfStealing) = (0.0, 0.0)

        mutating func add(_ more: Sums) {
            (waiting, timeOfWaiting) = (waiting + more.waiting, timeOfWaiting + more.timeOfWaiting)
            (busy, own, timeOfOthers) = (busy + more.busy, own + more.own, timeOfOthers + more.timeOfOthers)
            (stolen, timeOfStealing) = (stolen + more.stolen, timeOfStealing + more.timeOfStealing)
        }

        /// Percent of the time in which some program waited for a processor; nil if it was not seen.
        var waitingShare: Double? { MachineWatch.percent(waiting, of: timeOfWaiting) }
        /// The kernel counts stolen time in hundredths of a second, so one or two of them count as nothing.
        var stolenShare: Double? { MachineWatch.percent(stolen < 3e7 ? 0 : stolen, of: timeOfStealing) }
        var others: Double? {
            MachineFacts.othersShare(busy: busy, own: own, of: timeOfOthers)
                .flatMap { MachineWatch.percent($0, of: 100) }
        }
    }

    private let quota: CPUQuota
    private let processors: [Int]
    /// Their number.
    let count: Int
    private var (whole, ofLap) = (Sums(), Sums())
    private var block: (load: String, start: Reading)?
    /// What the groups with a quota counted in the turns, and the nanoseconds of these turns.
    private var throttling: [Throttling?]
    private var timeOfThrottling = 0.0

    init(quota: CPUQuota = .current, processors: [Int] = Processors.relevant) {
        (self.quota, self.processors) = (quota, processors)
        count = processors.isEmpty ? Processors.online : processors.count
        throttling = quota.groups.map { _ in Throttling(periods: 0, stops: 0, nanoseconds: 0) }
    }

    /// The accounts of this machine now.
    func reading() -> Reading {
        var reading = Reading(time: TimerClock.suspending.nanoseconds)
        (reading.pressure, reading.processors) = (Pressure.current, ProcessorTime.current(of: processors))
        (reading.own, reading.throttling) = (ResourceUsage.ofAllThreads?.cpuNanoseconds, quota.accounts())
        return reading
    }

    mutating func beginLap() { ofLap = Sums() }

    /// Begins a turn under a load of ours, by its name. Turns under one load that follow each other are one block, with
    /// readings at its ends alone: at each reading the kernel weighs the pressure of its processors by whole ticks of
    /// its own, and loses much of it if the readings are close.
    mutating func beginTurn(under load: String, reading read: () -> Reading) {
        if block?.load == load { return }
        let now = read()
        end(at: now)
        block = (load, now)
    }

    /// Ends the lap with its last turn.
    mutating func endLap(reading read: () -> Reading) {
        if block != nil { end(at: read()) }
    }

    private mutating func end(at now: Reading) {
        if let block { add(from: block.start, to: now, under: block.load) }
        block = nil
    }

    /// Adds turns under a load of ours, from its readings at both ends.
    mutating func add(from before: Reading, to after: Reading, under load: String) {
        let elapsed = Double(after.time) - Double(before.time)
        let stops = zip(before.throttling, after.throttling)
            .map { before, after in before.flatMap { after?.since($0) } }
        throttling = zip(throttling, stops).map { sum, more in sum.flatMap { sum in more.map { sum.adding($0) } } }
        timeOfThrottling += elapsed
        var turn = Sums()
        // Under a load of ours, programs wait because of us. The threads of a group that its quota stops count as
        // waiting, too.
        if load == RowKey.idle, stops.allSatisfy({ $0?.nanoseconds == 0 && $0?.stops == 0 }),
            let early = before.pressure,
            let late = after.pressure, late >= early
        {
            (turn.waiting, turn.timeOfWaiting) = (Double(late - early), elapsed)
        }
        // The programs of such a load are not in our own account.
        if load == RowKey.idle, let early = before.processors, let late = after.processors {
            if late.busy >= early.busy, let own = before.own, let ownLater = after.own {
                (turn.busy, turn.own) = (Double(late.busy - early.busy), Double(ownLater) - Double(own))
                turn.timeOfOthers = elapsed * Double(count)
            }
        }
        // The programs of a load steal nothing. The count may go back after a migration.
        if let early = before.processors, let late = after.processors, late.stolen >= early.stolen {
            (turn.stolen, turn.timeOfStealing) = (Double(late.stolen - early.stolen), elapsed * Double(count))
        }
        whole.add(turn)
        // What is stolen beside programs of ours disturbs no turn without them.
        if load != RowKey.idle { (turn.stolen, turn.timeOfStealing) = (0, 0) }
        ofLap.add(turn)
    }

    var lap: Lap { Lap(waiting: ofLap.waitingShare, stolen: ofLap.stolenShare) }

    func state(loadAverage: Double?) -> MachineState {
        MachineState(
            others: whole.others,
            waiting: whole.waitingShare,
            stolen: whole.stolenShare,
            loadAverage: loadAverage,
            quota: quotaStops
        )
    }

    /// The account of the group that was stopped longest; nil without a quota, or if an account is not shown.
    private var quotaStops: QuotaStops? {
        let known = zip(quota.groups, throttling).compactMap { group, sum in sum.map { (group.limit, $0) } }
        guard known.count == quota.groups.count, let most = known.max(by: { $0.1.nanoseconds < $1.1.nanoseconds }),
            let share = Self.percent(Double(most.1.nanoseconds), of: timeOfThrottling)
        else { return nil }
        return QuotaStops(limit: most.0, periods: most.1.periods, stops: most.1.stops, share: share)
    }

    private static func percent(_ part: Double, of whole: Double) -> Double? {
        whole > 0 ? (1000 * min(max(part / whole, 0), 1)).rounded() / 10 : nil
    }
}

extension Throttling {
    fileprivate func adding(_ more: Throttling) -> Throttling {
        Throttling(
            periods: periods + more.periods,
            stops: stops + more.stops,
            nanoseconds: nanoseconds + more.nanoseconds
        )
    }
}
