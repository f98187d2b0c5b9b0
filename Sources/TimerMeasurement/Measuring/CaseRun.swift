internal import PreciseTimer
internal import TimerAlarms
internal import TimerCore

/// Measures one case for one turn: starts it, waits for its deadlines to be accounted for, and reads what that cost.
struct CaseRun: TurnRun {
    let planned: PlannedCase
    let plan: MeasurementPlan
    /// How many deadlines of each timer are to be accounted for.
    let goal: UInt64

    /// How often the waiting thread looks.
    private static let slice: UInt64 = 100_000_000

    private var row: Row { planned.row }

    func measure(_ watch: () -> Bool) throws(MeasurementError) -> (Turn, Cost, wasStopped: Bool) {
        let service = try attempt { () throws(TimerError) in try startService() }
        defer { service?.shutdown() }
        let load = try attempt { () throws(TimerError) in try LoadRun(planned.load, on: service) }
        defer { load.stop() }
        let probes = makeProbes()
        let ticking = try attempt { () throws(TimerError) in try start(probes, on: service) }
        // Also where the wait is given up.
        defer { ticking.stop() }
        // What it takes to get ready is not in the price. The accounts are read while the load stands still.
        var wasStopped = !waitForStart(of: probes, sparing: LoadRun.lead, watch)
        let before = usage(without: load)
        load.begin()
        if !wasStopped { wasStopped = !waitForStart(of: probes, watch) }
        if !wasStopped { wasStopped = try wait(for: probes, of: ticking, watch) }
        ticking.stop()
        load.halt()
        let used = usage(without: load) - before
        let cost = Cost(
            cpu: used.cpuNanoseconds,
            wakeUps: used.voluntarySwitches,
            contextSwitches: used.voluntarySwitches + used.involuntarySwitches
        )
        return (Turn(probes.map(\.result)), cost, wasStopped)
    }

    /// Nanoseconds that a handler works.
    private var work: UInt64 { if case .handler(let work) = planned.load { work } else { 0 } }

    /// A service of the row's own, so that it has nothing else to do.
    private func startService() throws(TimerError) -> TimerService? {
        guard case .backend(let backend) = row.subject else { return nil }
        return try TimerService(backend, clock: plan.clock)
    }

    /// One for each timer, whose deadlines are spread over the period.
    private func makeProbes() -> [Probe] {
        // Time for the probes' memory to be touched, for the timers to be created, and for the row's thread to be asleep.
        let timers = UInt64(plan.timers)
        let lead = 5_000_000 + goal * timers * 20 + timers * 10_000 + row.lead(period: plan.period) + LoadRun.lead
        let start = KernelClock.now(row.clock(asked: plan.clock)).moved(by: lead)
        return (0..<UInt64(plan.timers))
            .map { timer in
                // No overflow: the timer's number is below the divisor.
                let phase = plan.period.multipliedFullWidth(by: timer)
                let offset = UInt64(plan.timers).dividingFullWidth(phase).quotient
                return Probe(
                    Deadlines(start: start.moved(by: offset), period: plan.period),
                    goal: goal,
                    work: work
                )
            }
    }

    private func start(_ probes: [Probe], on service: TimerService?) throws(TimerError) -> any Ticking {
        switch row.subject {
        case .backend:
            guard let service else { preconditionFailure("a backend's row has a service") }
            return try BackendTimers(probes, on: service, deliver: plan.delivery)
        case .reference(let reference): return try ReferenceLoop(reference, probes)
        case .peer(let peer): return try peer.start(probes, deliver: plan.delivery)
        case .referee: preconditionFailure("the referee measures itself")
        }
    }

    /// What the kernel has billed so far, without the threads that wait or make the load. Read it while the load stands
    /// still: see ``LoadRun/usage``.
    private func usage(without load: LoadRun) -> ResourceUsage {
        // If handlers run on the main thread, which waits, its waiting is in the price: some ten looks a second.
        (plan.delivery == .main ? ResourceUsage.ofAllThreads : .ofOtherThreads) - load.usage
    }

    /// Waits until shortly before the first deadline, or so many nanoseconds earlier. Returns whether to go on.
    private func waitForStart(of probes: [Probe], sparing lead: UInt64 = 0, _ watch: () -> Bool) -> Bool {
        // Closer than this the waiting thread would meet those that tick.
        let start = probes[0].deadlines.start.shifted(by: -500_000 - Int64(lead))
        while KernelClock.now(start.clock) < start {
            if !watch() { return false }
            pause(until: start)
        }
        return true
    }

    /// Waits until the probes have all ticks. Returns whether it was stopped before.
    private func wait(
        for probes: [Probe],
        of ticking: any Ticking,
        _ watch: () -> Bool
    ) throws(MeasurementError) -> Bool {
        let end = probes[probes.count - 1].deadlines[goal - 1]
        var patience = Patience(
            limit: goal * plan.period + work + plan.patience,
            now: KernelClock.now(.suspending).nanoseconds
        )
        while true {
            let progress = probes.map(\.progress)
            if progress.allSatisfy(\.isComplete) { return false }
            if let error = ticking.failure { throw .failed(row.name, error) }
            let ticks = progress.reduce(0) { $0 + $1.ticks }
            if patience.isOver(ticks: ticks, now: KernelClock.now(.suspending).nanoseconds) {
                throw .silent(row.name, waited: patience.limit)
            }
            if !watch() { return true }
            // The end is waited for closely: a slice at the end of every turn would add up to seconds.
            pause(until: end.moved(by: 2_000_000))
        }
    }

    /// Waits for an instant, or a slice of time where it is further away, or a moment where it has come.
    private func pause(until instant: TimerInstant) {
        // Not on the clock that is measured: a step of it must not keep the command from hearing Ctrl-C.
        let (now, awaited) = (KernelClock.now(.suspending), KernelClock.now(instant.clock))
        let left = instant.nanoseconds - min(instant, awaited).nanoseconds
        let next = now.moved(by: left == 0 ? 5_000_000 : min(left, Self.slice))
        if plan.delivery == .main { MainThread.serve(until: next) } else { KernelClock.sleep(until: next) }
    }

    private func attempt<Outcome>(_ body: () throws(TimerError) -> Outcome) throws(MeasurementError) -> Outcome {
        do throws(TimerError) { return try body() } catch { throw .failed(row.name, error) }
    }
}
