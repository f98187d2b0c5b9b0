internal import Foundation
internal import HostSystem
package import PreciseTimer
internal import TimerKernel
internal import TimerResults

/// Measures one row for one turn: starts it, waits until its deadlines are accounted for, and reads the cost.
struct RowRun {
    let planned: PlannedRow
    let plan: MeasurementPlan
    /// The number of deadlines that each timer must account for.
    let goal: UInt64

    /// The longest sleep of the waiting thread.
    private static let slice = Duration.milliseconds(100)

    private var row: NamedRow { planned.row }

    /// The time to touch the probes' memory and to create the timers, and for the row's thread to fall asleep.
    static func preparation(goal: UInt64, timers: UInt64) -> Duration {
        .milliseconds(5) + .nanoseconds(20) * (goal * timers) + .microseconds(10) * timers
    }

    /// Measures. The calling thread waits meanwhile, and calls `watch` every 100 ms, which returns whether to go on;
    /// nil if it says no.
    func measure(_ watch: () -> Bool) throws(MeasurementError) -> TurnRecord? {
        let service = try attempt { try startService() }
        defer { service?.shutdown() }
        let load = try attempt { try LoadRun(planned.load, on: service) }
        defer { load.stop() }
        let request = plan.request
        let spin = row.mechanism == .backend(.hybrid) ? request.wishes.longestSpin.wholeNanoseconds : 0
        let lateWatch = request.why.map { LateWatch(threshold: $0.wholeNanoseconds, spin: spin) }
        let probes = makeProbes(lateWatch)
        let delay = RunDelay.ofOtherThreads
        let ticking = try attempt { try start(probes, on: service) }
        // Needed if the wait throws.
        defer { ticking.stop() }
        // The cost does not include the start. The accounts are read while the load stands still.
        guard waitForStart(of: probes, sparing: LoadRun.lead(of: planned.load), watch) else { return nil }
        let before = usage(without: load)
        load.begin()
        guard waitForStart(of: probes, watch), try wait(for: probes, of: ticking, watch) else { return nil }
        // The threads that ticked end with the ticking.
        let runDelay = RunDelay.ofOtherThreads.flatMap { after in delay.map { after.since($0) } }
        ticking.stop()
        load.halt()
        if let failure = load.failure { throw MeasurementError(failure) }
        var bill = usage(without: load).flatMap { after in before.map { after - $0 } }
        if let lateWatch { bill = bill.flatMap { all in lateWatch.usage.map { all - $0 } } }
        return TurnRecord(
            probes.map(\.result),
            bill: bill,
            runDelay: runDelay,
            late: lateWatch?.late,
            spin: service?.spin.map { SpinCuts(cuts: UInt64($0.cuts), obstacle: $0.obstacle) }
        )
    }

    /// How long a handler works.
    private var work: Duration { if case .handler(let work) = planned.load { work } else { .zero } }

    /// Starts a service for this row only, so that it has no other work.
    private func startService() throws -> TimerService? {
        guard case .backend(let backend) = row.mechanism else { return nil }
        return try plan.request.wishes.startService(on: backend, clock: plan.request.clock)
    }

    /// Makes one probe for each timer. Their deadlines are spread over the period.
    private func makeProbes(_ watch: LateWatch?) -> [Probe] {
        let timers = UInt64(plan.request.timers)
        // The first tick, too, comes after a whole period.
        let lead = max(
            Self.preparation(goal: goal, timers: timers) + LoadRun.lead(of: planned.load),
            plan.request.period
        )
        let start = row.clock(asked: plan.request.clock).now.advanced(by: lead)
        let period = plan.request.period.wholeNanoseconds
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
            return try BackendTimers(probes, on: service, deliver: plan.request.delivery)
        case .bare(let bare): return try BareLoop(bare, probes, thread: plan.request.wishes.ofThread)
        case .taskSleep: return TaskSleep(probes, deliver: plan.request.delivery)
        }
    }

    /// The kernel's bill up to now, without the threads that wait or make the load. Read it while the load stands
    /// still: see ``LoadRun/usage``. Nil if a part of it is not shown.
    private func usage(without load: LoadRun) -> ResourceUsage? {
        // Handlers on the main thread share it with the wait, whose ten checks a second are then part of the cost.
        let all = plan.request.delivery == .main ? ResourceUsage.ofAllThreads : .ofOtherThreads
        return all.flatMap { all in load.usage.map { all - $0 } }
    }

    /// Waits until shortly before the first deadline, or earlier by `lead`. Returns whether to go on.
    private func waitForStart(of probes: [Probe], sparing lead: Duration = .zero, _ watch: () -> Bool) -> Bool {
        // Any closer, the waiting thread would disturb the ticking threads.
        let start = probes[0].deadlines.start.advanced(by: .microseconds(-500) - lead)
        while start.clock.now < start {
            if !watch() { return false }
            pause(until: start)
        }
        return true
    }

    /// Waits until the probes have all ticks. Returns false if the caller stopped it before.
    private func wait(
        for probes: [Probe],
        of ticking: any Ticking,
        _ watch: () -> Bool
    ) throws(MeasurementError) -> Bool {
        let end = probes[probes.count - 1].deadlines[goal - 1].advanced(by: .milliseconds(2))
        var patience = Patience(
            limit: plan.request.period * goal + work + plan.request.patience,
            now: TimerClock.suspending.now
        )
        while true {
            let progress = probes.map(\.progress)
            if progress.allSatisfy(\.isComplete) { return true }
            if let error = ticking.failure { throw MeasurementError("\(error)") }
            let ticks = progress.reduce(0) { $0 + $1.ticks }
            if patience.isOver(ticks: ticks, now: TimerClock.suspending.now) {
                throw MeasurementError("no tick for \(patience.limit.text)")
            }
            if !watch() { return false }
            // No longer than to the end: a slice at the end of every turn would add up to seconds.
            pause(until: end)
        }
    }

    /// Waits for an instant, at most for a slice, and for 5 ms if the instant has passed.
    private func pause(until instant: TimerInstant) {
        // The wait is not on the measured clock: a step of that clock must not delay the response to Ctrl-C.
        let (now, left) = (TimerClock.suspending.now, instant.clock.now.duration(to: instant))
        let next = now.advanced(by: left > .zero ? min(left, Self.slice) : .milliseconds(5))
        if plan.request.delivery == .main {
            MainThread.serve(until: next)
        } else {
            next.clock.sleep(until: next.nanoseconds)
        }
    }

    private func attempt<Outcome>(_ body: () throws -> Outcome) throws(MeasurementError) -> Outcome {
        do { return try body() } catch { throw MeasurementError("\(error)") }
    }
}

/// Decides when to give up a row that does not tick: after the limit without a tick.
package struct Patience: Sendable {
    package let limit: Duration
    private var ticks = 0
    private var lastChange: TimerInstant

    package init(limit: Duration, now: TimerInstant) { (self.limit, lastChange) = (limit, now) }

    /// Whether to give up, after this number of ticks up to now.
    package mutating func isOver(ticks: Int, now: TimerInstant) -> Bool {
        if ticks != self.ticks { (self.ticks, lastChange) = (ticks, now) }
        return lastChange.duration(to: now) > limit
    }
}

/// The main thread, for handlers that are delivered there.
enum MainThread {
    /// Runs the main queue and the main run loop until an instant.
    static func serve(until end: TimerInstant) {
        while true {
            let now = end.clock.now
            guard now < end else { return }
            // Without a source the run loop returns at once. The main queue is a source.
            let date = Date(timeIntervalSinceNow: now.duration(to: end) / .seconds(1))
            if !RunLoop.main.run(mode: .default, before: date) {
                SystemClock.sleep(for: min(now.duration(to: end), .milliseconds(1)))
            }
        }
    }
}
