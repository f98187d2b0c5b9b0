internal import HostSystem
package import PreciseTimer
package import TimerResults

/// Measures one row for one turn.
protocol TurnRun {
    /// Measures. The calling thread waits meanwhile, and calls `watch` every 100 ms, which returns whether to go on.
    func measure(_ watch: () -> Bool) throws(MeasurementError) -> (Turn, Cost, wasStopped: Bool)
}

extension PlannedRow {
    /// Prepares a turn.
    ///
    /// - Parameters:
    ///   - plan: the plan of the row.
    ///   - goal: the number of deadlines that each timer must account for.
    /// - Returns: a run that has not begun.
    func run(_ plan: MeasurementPlan, goal: UInt64) -> any TurnRun {
        switch row.mechanism {
        case .backend, .peer, .reference: RowRun(planned: self, plan: plan, goal: goal)
        case .referee: RefereeRun(planned: self, plan: plan, goal: goal)
        }
    }
}

extension Cost {
    /// The cost in an account of the kernel.
    init(_ usage: ResourceUsage) {
        self.init(
            cpu: usage.cpuNanoseconds,
            wakeUps: usage.voluntarySwitches,
            contextSwitches: usage.voluntarySwitches + usage.involuntarySwitches
        )
    }
}

/// A row under a load, before it is measured.
package struct PlannedRow: Hashable, Sendable {
    package let row: Row
    package let load: Load

    package init(row: Row, load: Load) {
        self.row = row
        self.load = load
    }

    /// The usual time of a turn beyond that of its deadlines, to begin and to end.
    func overhead(period: Duration) -> Duration {
        RowRun.preparation(goal: 0, timers: 1) + LoadRun.lead(of: load) + row.lead(period: period)
            + .milliseconds(row.mechanism == .referee ? 65 : 2)
    }

    /// The name in the results.
    package var key: RowKey { RowKey(row: row.name, kind: row.kind, load: load.name) }
}

/// Decides when to give up a row that does not tick.
package struct Patience: Hashable, Sendable {
    /// The longest time without a tick.
    package let limit: Duration
    private var ticks = 0
    private var lastChange: TimerInstant

    /// Begins to wait.
    package init(limit: Duration, now: TimerInstant) {
        self.limit = limit
        lastChange = now
    }

    /// Whether to give up, after this number of ticks up to now.
    package mutating func isOver(ticks: Int, now: TimerInstant) -> Bool {
        if ticks != self.ticks {
            self.ticks = ticks
            lastChange = now
        }
        return lastChange.duration(to: now) > limit
    }
}

/// Lets cyclictest measure for one turn.
struct RefereeRun: TurnRun {
    let planned: PlannedRow
    let plan: MeasurementPlan
    let goal: UInt64

    /// The longest sleep of the waiting thread.
    private static let slice = Duration.milliseconds(100)
    /// How much longer than its deadlines cyclictest may take before it is interrupted. It needs some 60 ms to start,
    /// and more on a busy machine. It also skips deadlines, and then needs longer for its number of wake-ups.
    private static let grace = Duration.seconds(3)
    /// How long cyclictest may take to end after that.
    private static let longestEnd = Duration.seconds(5)

    func measure(_ watch: () -> Bool) throws(MeasurementError) -> (Turn, Cost, wasStopped: Bool) {
        do {
            let load = try LoadRun(planned.load, on: nil)
            defer { load.stop() }
            load.begin()
            return try run(watch)
        } catch {
            throw .failed("\(planned.row.name): \(error)")
        }
    }

    private func run(_ watch: () -> Bool) throws -> (Turn, Cost, wasStopped: Bool) {
        guard let path = Cyclictest.path else { throw Problem("it is not installed") }
        let start = SystemClock.now(plan.clock)
        var child = try ChildProcess(
            path,
            Cyclictest.arguments(period: plan.period, clock: plan.clock, loops: goal),
            timerSlack: Cyclictest.timerSlack
        )
        let (end, wasInterrupted, wasStopped) = try wait(for: &child, watch)
        // A signal that comes before cyclictest handles it ends it at once.
        guard end.code == 0 || wasInterrupted else {
            let lines = child.errorText.split(separator: "\n").filter { !$0.hasPrefix("WARN") }
            throw Problem("it failed: \(lines.first ?? "it gave no reason")")
        }
        let deadlines = Deadlines(start: start, period: plan.period.wholeNanoseconds)
        let text = child.outputText
        // An interruption before the first wake-up leaves a turn without ticks. A busy machine may start it that
        // late.
        if wasInterrupted, (try? CyclictestOutput(text, isComplete: false)) == nil {
            return (Turn([Recording(of: deadlines, goal: goal)]), Cost(end.usage), wasStopped)
        }
        let output = try CyclictestOutput(text, isComplete: !wasInterrupted)
        return (Turn([output.recording(of: deadlines, goal: goal)]), Cost(end.usage), wasStopped)
    }

    /// Waits for the end. Interrupts cyclictest if it takes too long, or if `watch` returns false.
    private func wait(
        for child: inout ChildProcess,
        _ watch: () -> Bool
    ) throws(Problem) -> (ChildProcess.End, wasInterrupted: Bool, wasStopped: Bool) {
        let due = SystemClock.now(.suspending).advanced(by: plan.period * goal)
        var (interrupted, wasStopped): (TimerInstant?, Bool) = (nil, false)
        while true {
            let now = SystemClock.now(.suspending)
            if let end = child.poll() { return (end, interrupted != nil, wasStopped) }
            if let interrupted {
                // The deinit of the child kills it.
                if now > interrupted.advanced(by: Self.longestEnd) { throw Problem("it does not end") }
            } else {
                wasStopped = !watch()
                if wasStopped || now > due.advanced(by: Self.grace) {
                    child.interrupt()
                    interrupted = now
                }
            }
            SystemClock.sleep(
                until: now < due
                    ? min(due, now.advanced(by: Self.slice)) : now.advanced(by: .milliseconds(5))
            )
        }
    }
}
