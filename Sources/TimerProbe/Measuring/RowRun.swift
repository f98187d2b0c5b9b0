internal import Foundation
internal import HostSystem
internal import PreciseTimer
internal import TimerResults

/// Measures one row for one turn: starts it, waits until its deadlines are accounted for, and reads the cost.
struct RowRun: TurnRun {
    let planned: PlannedRow
    let plan: MeasurementPlan
    /// The number of deadlines that each timer must account for.
    let goal: UInt64

    /// The longest sleep of the waiting thread.
    private static let slice = Duration.milliseconds(100)

    private var row: Row { planned.row }

    /// The time to touch the probes' memory and to create the timers, and for the row's thread to fall asleep.
    static func preparation(goal: UInt64, timers: UInt64) -> Duration {
        .milliseconds(5) + .nanoseconds(20) * (goal * timers) + .microseconds(10) * timers
    }

    func measure(_ watch: () -> Bool) throws(MeasurementError) -> (Turn, Cost, wasStopped: Bool) {
        let service = try attempt { try startService() }
        defer { service?.shutdown() }
        let load = try attempt { try LoadRun(planned.load, on: service) }
        defer { load.stop() }
        let spin = row.mechanism == .backend(.hybrid) ? plan.wishes.longestSpin.wholeNanoseconds : 0
        let lateWatch = plan.lateThreshold.map { LateWatch(threshold: $0.wholeNanoseconds, spin: spin) }
        let probes = makeProbes(lateWatch)
        let ticking = try attempt { try start(probes, on: service) }
        // Needed if the wait throws.
        defer { ticking.stop() }
        // The cost does not include the start. The accounts are read while the load stands still.
        var wasStopped = !waitForStart(of: probes, sparing: LoadRun.lead(of: planned.load), watch)
        let before = usage(without: load)
        load.begin()
        if !wasStopped { wasStopped = !waitForStart(of: probes, watch) }
        if !wasStopped { wasStopped = try wait(for: probes, of: ticking, watch) }
        ticking.stop()
        let cuts = service?.spin.map { SpinCuts(cuts: $0.cuts, obstacle: $0.obstacle) }
        load.halt()
        let turn = Turn(probes.map(\.result), late: lateWatch?.late, spin: cuts)
        return (turn, Cost(usage(without: load) - before), wasStopped)
    }

    /// How long a handler works.
    private var work: Duration { if case .handler(let work) = planned.load { work } else { .zero } }

    /// Starts a service for this row only, so that it has no other work.
    private func startService() throws -> TimerService? {
        guard case .backend(let backend) = row.mechanism else { return nil }
        return try plan.wishes.startService(on: backend, clock: plan.clock)
    }

    /// Makes one probe for each timer. Their deadlines are spread over the period.
    private func makeProbes(_ watch: LateWatch?) -> [Probe] {
        let timers = UInt64(plan.timers)
        let lead =
            Self.preparation(goal: goal, timers: timers) + row.lead(period: plan.period)
            + LoadRun.lead(of: planned.load)
        let start = SystemClock.now(row.clock(asked: plan.clock)).advanced(by: lead)
        let period = plan.period.wholeNanoseconds
        return (0..<timers)
            .map { timer in
                // No overflow: each timer has at least ten deadlines in a day, and all together have at most 10^7.
                let offset = Duration.nanoseconds(Int64(period * timer / timers))
                let deadlines = Deadlines(start: start.advanced(by: offset), period: period)
                return Probe(deadlines, goal: goal, work: work, watch: watch)
            }
    }

    private func start(_ probes: [Probe], on service: TimerService?) throws -> any Ticking {
        switch row.mechanism {
        case .backend:
            guard let service else { preconditionFailure("a backend's row has a service") }
            return try BackendTimers(probes, on: service, deliver: plan.delivery)
        case .reference(let reference): return try ReferenceLoop(reference, probes, thread: plan.wishes.ofThread)
        case .peer(let peer): return try peer.start(probes, deliver: plan.delivery)
        case .referee: preconditionFailure("the referee measures itself")
        }
    }

    /// The kernel's bill up to now, without the threads that wait or make the load. Read it while the load stands
    /// still: see ``LoadRun/usage``.
    private func usage(without load: LoadRun) -> ResourceUsage {
        // Handlers on the main thread share it with the wait, whose ten checks a second are then part of the cost.
        (plan.delivery == .main ? ResourceUsage.ofAllThreads : .ofOtherThreads) - load.usage
    }

    /// Waits until shortly before the first deadline, or earlier by `lead`. Returns whether to go on.
    private func waitForStart(of probes: [Probe], sparing lead: Duration = .zero, _ watch: () -> Bool) -> Bool {
        // Any closer, the waiting thread would disturb the ticking threads.
        let start = probes[0].deadlines.start.advanced(by: .microseconds(-500) - lead)
        while SystemClock.now(start.clock) < start {
            if !watch() { return false }
            pause(until: start)
        }
        return true
    }

    /// Waits until the probes have all ticks. Returns whether the caller stopped it before.
    private func wait(
        for probes: [Probe],
        of ticking: any Ticking,
        _ watch: () -> Bool
    ) throws(MeasurementError) -> Bool {
        let end = probes[probes.count - 1].deadlines[goal - 1].advanced(by: .milliseconds(2))
        var patience = Patience(
            limit: plan.period * goal + work + plan.patience,
            now: SystemClock.now(.suspending)
        )
        while true {
            let progress = probes.map(\.progress)
            if progress.allSatisfy(\.isComplete) { return false }
            if let error = ticking.failure { throw .failed("\(row.name): \(error)") }
            let ticks = progress.reduce(0) { $0 + $1.ticks }
            if patience.isOver(ticks: ticks, now: SystemClock.now(.suspending)) {
                let limit = DurationText.format(nanoseconds: patience.limit.wholeNanoseconds)
                throw .failed("\(row.name): no tick for \(limit); given up")
            }
            if !watch() { return true }
            // No longer than to the end: a slice at the end of every turn would add up to seconds.
            pause(until: end)
        }
    }

    /// Waits for an instant, at most for a slice, and for 5 ms if the instant has passed.
    private func pause(until instant: TimerInstant) {
        // The wait is not on the measured clock: a step of that clock must not delay the response to Ctrl-C.
        let (now, left) = (SystemClock.now(.suspending), SystemClock.now(instant.clock).duration(to: instant))
        let next = now.advanced(by: left > .zero ? min(left, Self.slice) : .milliseconds(5))
        if plan.delivery == .main { MainThread.serve(until: next) } else { SystemClock.sleep(until: next) }
    }

    private func attempt<Outcome>(_ body: () throws -> Outcome) throws(MeasurementError) -> Outcome {
        do { return try body() } catch { throw .failed("\(row.name): \(error)") }
    }
}

/// The main thread, for handlers that are delivered there.
enum MainThread {
    /// Runs the main queue and the main run loop until an instant.
    static func serve(until end: TimerInstant) {
        while true {
            let now = SystemClock.now(end.clock)
            guard now < end else { return }
            // Without a source the run loop returns at once. The main queue is a source.
            let date = Date(timeIntervalSinceNow: now.duration(to: end) / .seconds(1))
            if !RunLoop.main.run(mode: .default, before: date) {
                SystemClock.sleep(until: min(end, now.advanced(by: .milliseconds(1))))
            }
        }
    }
}
