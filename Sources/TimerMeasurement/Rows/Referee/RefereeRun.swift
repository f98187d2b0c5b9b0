internal import TimerAlarms
internal import TimerCore

/// Has cyclictest measure for one turn.
struct RefereeRun: TurnRun {
    let planned: PlannedCase
    let plan: MeasurementPlan
    let goal: UInt64

    /// How often the waiting thread looks, in nanoseconds.
    private static let slice: UInt64 = 100_000_000
    /// How much longer than its deadlines it may take before it is asked to end, and then before it is made to. It needs
    /// some 60 ms to start, more on a busy machine; and it skips deadlines and then takes longer for its number of wake-ups.
    private static let grace: UInt64 = 3_000_000_000
    private static let longestEnd: UInt64 = 5_000_000_000

    func measure(_ watch: () -> Bool) throws(MeasurementError) -> (Turn, Cost, wasStopped: Bool) {
        do throws(TimerError) {
            let load = try LoadRun(planned.load, on: nil)
            defer { load.stop() }
            load.begin()
            return try run(watch)
        } catch {
            throw .failed(planned.row.name, error)
        }
    }

    private func run(_ watch: () -> Bool) throws(TimerError) -> (Turn, Cost, wasStopped: Bool) {
        guard let path = Cyclictest.path else { throw TimerError(.unavailable, "starting cyclictest") }
        let start = KernelClock.now(plan.clock)
        var child = try ChildProcess(
            path,
            Cyclictest.arguments(period: plan.period, clock: plan.clock, loops: goal),
            timerSlack: Cyclictest.timerSlack
        )
        let (end, wasInterrupted, wasStopped) = try wait(for: &child, watch)
        // A signal that comes before it listens for it ends it at once.
        guard end.code == 0 || wasInterrupted else { throw Self.error(child.errorText) }
        let cost = Cost(
            cpu: end.usage.cpuNanoseconds,
            wakeUps: end.usage.voluntarySwitches,
            contextSwitches: end.usage.voluntarySwitches + end.usage.involuntarySwitches
        )
        let deadlines = Deadlines(start: start, period: plan.period)
        let text = child.outputText
        // Interrupted before its first wake-up, by a machine too busy to start it or by a person: a turn without ticks.
        if wasInterrupted, (try? CyclictestOutput(text, isComplete: false)) == nil {
            return (Turn([Recording(of: deadlines, goal: goal)]), cost, wasStopped)
        }
        let output = try CyclictestOutput(text, isComplete: !wasInterrupted)
        return (Turn([output.recording(of: deadlines, goal: goal)]), cost, wasStopped)
    }

    /// Waits for its end, which it is asked for when it is time or whoever watches wants it.
    private func wait(
        for child: inout ChildProcess,
        _ watch: () -> Bool
    ) throws(TimerError) -> (ChildProcess.End, wasInterrupted: Bool, wasStopped: Bool) {
        let start = KernelClock.now(.suspending)
        let due = start.moved(by: goal * plan.period)
        var (interrupted, wasStopped): (TimerInstant?, Bool) = (nil, false)
        while true {
            let now = KernelClock.now(.suspending)
            if let end = child.poll() { return (end, interrupted != nil, wasStopped) }
            if let interrupted {
                // What hangs ends with the value that it is.
                if now > interrupted.moved(by: Self.longestEnd) {
                    throw TimerError(.backendFailed, "waiting for the end of cyclictest")
                }
            } else {
                wasStopped = !watch()
                if wasStopped || now > due.moved(by: Self.grace) {
                    child.interrupt()
                    interrupted = now
                }
            }
            let next = now < due ? min(due, now.moved(by: Self.slice)) : now.moved(by: 5_000_000)
            KernelClock.sleep(until: next)
        }
    }

    /// What it complains of, without its warnings.
    private static func error(_ text: String) -> TimerError {
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("WARN") }
        return TimerError(.backendFailed, "running cyclictest (\(lines.first ?? "it said nothing"))")
    }
}
