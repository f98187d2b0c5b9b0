internal import Foundation
internal import PreciseTimer
internal import TimerKernel

/// Measures one row for one turn: starts it, waits until its deadlines are accounted for, and reads the cost.
struct RowRun {
    let planned: PlannedRow
    let plan: MeasurementPlan

    private var request: MeasurementPlan.Request { plan.request }

    /// The time to touch the probes' memory and to create the timers, and for the row's thread to fall asleep.
    static func preparation(goal: UInt64, timers: UInt64) -> Duration {
        .milliseconds(5) + .nanoseconds(20) * (goal * timers) + .microseconds(10) * timers
    }

    /// Measures. The calling thread waits, and calls `watch` every 100 ms: it returns whether to go on. Nil if it says
    /// no.
    func measure(_ watch: () -> Bool) throws(Failure) -> TurnRecord? {
        let goal = plan.deadlinesPerTurn
        let load = try LoadRun(planned.load, for: request.period * goal + request.patience)
        let service = try planned.startService(in: request)
        defer { service?.shutdown() }
        let spin = planned.row.backend == .hybrid ? request.wishes.longestSpin.wholeNanoseconds : 0
        // What makes a row without a grid late is the row itself.
        let why = planned.key.kind == .relative ? nil : request.why
        let lateWatch = why.map { LateWatch(threshold: $0.wholeNanoseconds, spin: spin) }
        let timers = UInt64(request.timers)
        // The first tick, too, comes after a whole period.
        let lead = max(Self.preparation(goal: goal, timers: timers) + planned.load.lead, request.period)
        let start = planned.row.clock(asked: request.clock).now.advanced(by: lead)
        let deadlines = Deadlines.spread(timers, from: start, request.period)
        let probes = deadlines.map { Probe($0, goal: goal, watch: lateWatch) }
        let delay = RunDelay.ofOtherThreads
        let ticking = try planned.start(probes, on: service, in: request)
        // Needed if the wait throws.
        defer { ticking.stop() }
        let wait = Wait(delivery: request.delivery)
        // The cost does not include the start. Any closer, the waiting thread would disturb the ticking threads.
        let beginning = start.advanced(by: .microseconds(-500))
        guard wait.until(beginning.advanced(by: .zero - planned.load.lead), watch) else { return nil }
        let before = usage
        load.begin()
        guard wait.until(beginning, watch), try self.wait(for: probes, of: ticking, wait, watch) else { return nil }
        // The threads that ticked end with the ticking.
        let runDelay = RunDelay.ofOtherThreads.flatMap { after in delay.map { after.since($0) } }
        ticking.stop()
        load.halt()
        if let failure = load.failure { throw .failed(failure) }
        var bill = usage.flatMap { after in before.map { after - $0 } }
        if let lateWatch { bill = bill.flatMap { all in lateWatch.usage.map { all - $0 } } }
        return TurnRecord(
            recordings: probes.map(\.result),
            bill: bill,
            runDelay: runDelay,
            late: lateWatch?.late,
            spin: service?.spin.map { SpinCuts(cuts: UInt64($0.cuts), obstacle: $0.obstacle) },
            policy: probes[0].policy
        )
    }

    /// The kernel's bill up to now, without the thread that waits. Nil if it is not shown.
    private var usage: ResourceUsage? {
        // Handlers on the main thread share it with the wait, whose ten checks a second are then part of the cost.
        request.delivery == .main ? .ofAllThreads : .ofOtherThreads
    }

    /// Waits until the probes have all ticks. Returns false if the caller stopped it before.
    private func wait(
        for probes: [Probe],
        of ticking: any Ticking,
        _ wait: Wait,
        _ watch: () -> Bool
    ) throws(Failure) -> Bool {
        let end = probes[probes.count - 1].deadlines[plan.deadlinesPerTurn - 1].advanced(by: .milliseconds(2))
        let limit = request.period * plan.deadlinesPerTurn + request.patience
        var patience = Patience(limit: limit, now: TimerClock.suspending.now)
        while true {
            let progress = probes.map(\.progress)
            // First: the tasks of a service that has failed go on in other threads.
            if let error = ticking.failure { throw .failed("\(error)") }
            if progress.allSatisfy(\.isComplete) { return true }
            // A row without a grid serves its deadlines ever later.
            if planned.key.kind == .relative, end.clock.now >= end { return true }
            try patience.check(ticks: progress.reduce(0) { $0 + $1.ticks })
            if !watch() { return false }
            // No longer than to the end: a slice at the end of every turn would add up to seconds.
            wait.pause(until: end)
        }
    }
}

extension PlannedRow {
    /// Starts a service for this row only, so that it has no other work; nil if the row needs none.
    func startService(in request: MeasurementPlan.Request) throws(Failure) -> TimerService? {
        guard let backend = row.backend else { return nil }
        return try Failure.ofLibrary { () throws(TimerError) in
            try request.wishes.startService(on: backend, clock: row.clock(asked: request.clock))
        }
    }

    /// Makes the row tick, on its own service if it has one.
    func start(
        _ probes: [Probe],
        on service: TimerService?,
        in request: MeasurementPlan.Request
    ) throws(Failure) -> any Ticking {
        switch (row.mechanism, service) {
        case (.backend, let service?):
            return try Failure.ofLibrary { () throws(TimerError) in
                try BackendTimers(probes, on: service, deliver: request.delivery)
            }
        case (.backend, nil): preconditionFailure("a backend's row has a service")
        case (.bare(let bare), _): return try BareLoop(bare, probes, thread: request.wishes.ofThread)
        case (.taskSleep(let form), let service?):
            return try Failure.ofLibrary { () throws(TimerError) in try TaskSleep(probes, form, on: service) }
        case (.taskSleep(let form), nil): return TaskSleep(probes, form, deliver: request.delivery)
        }
    }
}

/// The waiting of the thread that measures, which disturbs the ticking threads as little as it can.
struct Wait {
    let delivery: HandlerPlace

    /// The longest sleep.
    private static let slice = Duration.milliseconds(100)

    /// Calls `watch` until an instant. Returns whether to go on.
    func until(_ instant: TimerInstant, _ watch: () -> Bool) -> Bool {
        while instant.clock.now < instant {
            if !watch() { return false }
            pause(until: instant)
        }
        return true
    }

    /// Waits for an instant, at most for a slice, and for 5 ms if the instant has passed.
    func pause(until instant: TimerInstant) {
        // The wait is not on the measured clock: a step of that clock must not delay the response to Ctrl-C.
        let (now, left) = (TimerClock.suspending.now, instant.clock.now.duration(to: instant))
        let next = now.advanced(by: left > .zero ? min(left, Self.slice) : .milliseconds(5))
        if delivery == .main { MainThread.serve(until: next) } else { next.clock.sleep(until: next.nanoseconds) }
    }
}

/// Decides when to give up a row that does not tick: after the limit without a tick.
struct Patience: Sendable {
    let limit: Duration
    private var ticks = 0
    private var lastChange: TimerInstant

    init(limit: Duration, now: TimerInstant) { (self.limit, lastChange) = (limit, now) }

    /// Throws if it is time to give up, after this number of ticks up to now.
    mutating func check(ticks: Int) throws(Failure) {
        if isOver(ticks: ticks, now: TimerClock.suspending.now) { throw .failed("no tick for \(limit.text)") }
    }

    /// Whether to give up, after this number of ticks up to now.
    mutating func isOver(ticks: Int, now: TimerInstant) -> Bool {
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
                TimerClock.sleep(for: min(now.duration(to: end), .milliseconds(1)))
            }
        }
    }
}

/// Measures the long stretches of some rows at the same time, their deadlines spread over the period. Each row has one
/// timer, whatever their number in the turns: a drift is that of each timer, and the rows must leave each other room.
struct StretchRun {
    /// All under one load.
    let rows: [PlannedRow]
    let plan: MeasurementPlan

    /// The time for the last ticks.
    private static let grace = Duration.milliseconds(50)

    /// The time to start all rows, which takes a busy machine some 100 ms. The first tick comes after a whole period.
    private static func lead(_ period: Duration) -> Duration { max(.milliseconds(100), period) }

    /// How much longer a stretch takes than its deadlines.
    static func timeBesideDeadlines(_ period: Duration) -> Duration { lead(period) + grace }

    /// Measures. The calling thread waits, and calls `watch` every 100 ms: it returns whether to go on.
    /// Each row has its recording, or why it failed. That of a row without a grid is incomplete; so are all if `watch`
    /// said no.
    func measure(_ watch: () -> Bool) -> [Result<Recording, Failure>] {
        let (request, goal, load) = (plan.request, plan.deadlinesOfStretch, rows[0].load)
        let (time, count) = (request.period * goal, UInt64(rows.count))
        let loadRun: LoadRun
        do throws(Failure) { loadRun = try LoadRun(load, for: time + request.patience) } catch {
            return rows.map { _ in .failure(error) }
        }
        let services = rows.map { planned in Result { () throws(Failure) in try planned.startService(in: request) } }
        defer { for case .success(let service?) in services { service.shutdown() } }
        let lead = Self.lead(request.period)
        let starts = Set([request.clock, .suspending]).map { $0.now.advanced(by: lead) }
        let end = TimerClock.suspending.now.advanced(by: lead + time + Self.grace)
        var parts = rows.enumerated()
            .map { place, planned in
                let clock = planned.row.clock(asked: request.clock)
                let start = starts.first { $0.clock == clock } ?? clock.now
                let probe = Probe(Deadlines.spread(count, from: start, request.period)[place], goal: goal)
                return Result { () throws(Failure) in
                    try Part(probe, planned.start([probe], on: services[place].get(), in: request), request)
                }
            }
        defer { for case .success(let part) in parts { part.ticking.stop() } }
        loadRun.begin()
        let wait = Wait(delivery: request.delivery)
        while TimerClock.suspending.now < end, watch() {
            parts = parts.map { part in
                part.flatMap { part in Result { () throws(Failure) in try part.checked() } }
            }
            wait.pause(until: end)
        }
        if let failure = loadRun.failure { return rows.map { _ in .failure(.failed(failure)) } }
        return parts.map { $0.map(\.probe.result) }
    }

    /// One row that ticks.
    private struct Part {
        let probe: Probe
        let ticking: any Ticking
        private var patience: Patience

        init(_ probe: Probe, _ ticking: any Ticking, _ request: MeasurementPlan.Request) {
            (self.probe, self.ticking) = (probe, ticking)
            let limit = StretchRun.lead(request.period) + request.period + request.patience
            patience = Patience(limit: limit, now: TimerClock.suspending.now)
        }

        /// The same row. Throws if it has failed, and ends then.
        func checked() throws(Failure) -> Part {
            var part = self
            do throws(Failure) {
                if let error = ticking.failure { throw Failure.failed("\(error)") }
                if !probe.progress.isComplete { try part.patience.check(ticks: probe.progress.ticks) }
                return part
            } catch {
                ticking.stop()
                throw error
            }
        }
    }
}
