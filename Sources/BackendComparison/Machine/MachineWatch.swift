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
        // Time that is stolen beside our own programs disturbs no turn without them.
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

/// How long programs of the whole machine waited for a processor: "pressure stall information" (the kernel's
/// Documentation/accounting/psi.rst).
enum Pressure {
    /// Nanoseconds since the start of the machine in which at least one thread was ready to run and had no processor;
    /// nil if the kernel does not count them.
    static var current: UInt64? { ProcFile.text("/proc/pressure/cpu").flatMap { waiting(in: $0) } }

    /// Reads the text of /proc/pressure/cpu: `some avg10=0.00 avg60=0.00 avg300=0.00 total=1234`, in microseconds.
    static func waiting(in text: String) -> UInt64? {
        let some = text.split(separator: "\n").first { $0.hasPrefix("some ") }?.split(separator: " ")
        return some?.first { $0.hasPrefix("total=") }.flatMap { UInt64($0.dropFirst(6)) }.map { $0 &* 1000 }
    }
}

/// The time of processors together since the start of the machine, in nanoseconds.
///
/// The kernel counts it in hundredths of a second.
struct ProcessorTime: Hashable, Sendable {
    /// The time for programs and for the kernel's own work.
    let busy: UInt64
    /// The time for which other guests of the same host had the processors that this machine wanted.
    let stolen: UInt64
    /// All time, idle time included.
    let total: UInt64

    /// The time up to now of some processors, or of all if none is named; nil if the kernel does not say.
    static func current(of processors: [Int] = []) -> ProcessorTime? {
        ProcFile.text("/proc/stat").flatMap { ProcessorTime($0, of: processors) }
    }
}

extension ProcessorTime {
    /// The time of some processors together, or of all if none is named, from the text of /proc/stat; nil if one of
    /// them is not shown. A line has user, nice, system, idle, iowait, irq, softirq and steal (proc_stat(5)). Guests of
    /// this machine follow, whose time the first two include.
    init?(_ text: String, of processors: [Int] = []) {
        let wanted = processors.isEmpty ? ["cpu"] : Set(processors.map { "cpu\($0)" })
        let times = text.split(separator: "\n").filter { $0.hasPrefix("cpu") }.map { $0.split(separator: " ") }
            .filter { wanted.contains(String($0[0])) }
            .map { line -> [UInt64] in line.dropFirst().prefix(8).compactMap { UInt64($0) }.map { $0 &* 10_000_000 } }
        guard times.count == wanted.count, times.allSatisfy({ $0.count == 8 }) else { return nil }
        func sum(_ columns: [Int]) -> UInt64 { times.reduce(0) { sum, time in columns.reduce(sum) { $0 &+ time[$1] } } }
        self.init(busy: sum([0, 1, 2, 5, 6]), stolen: sum([7]), total: sum(Array(0..<8)))
    }
}

/// The average number of threads that run or wait for a processor or a disk.
enum LoadAverage {
    /// The average of the last minute; nil if the kernel does not say.
    static var current: Double? { ProcFile.line("/proc/loadavg").flatMap { lastMinute(in: $0) } }

    /// Reads the text of /proc/loadavg (proc_loadavg(5)).
    static func lastMinute(in text: String) -> Double? {
        text.split(separator: " ").first.flatMap { Double($0) }
    }
}
