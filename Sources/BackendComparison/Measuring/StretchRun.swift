internal import PreciseTimer

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

    /// Measures. The calling thread waits meanwhile, and calls `watch` every 100 ms, which returns whether to go on.
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
