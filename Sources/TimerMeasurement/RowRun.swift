internal import PreciseTimer
internal import TimerAlarms
internal import TimerCore

/// Measures one row once: starts it, waits for its deadlines to be accounted for, and reads what that cost.
struct RowRun {
    let row: Row
    /// Nanoseconds between two deadlines.
    let period: UInt64
    /// How many deadlines are to be accounted for.
    let goal: UInt64

    /// How often the waiting thread looks.
    private static let slice: UInt64 = 100_000_000

    /// Measures. The calling thread sleeps meanwhile, but for a call of `watch` every 100 ms, which returns whether to
    /// go on.
    func measure(_ watch: () -> Bool) throws(MeasurementError) -> RoundResult {
        let service = try startService()
        defer { service?.shutdown() }
        // Time for the probe's memory to be touched, and for the row's thread to be asleep.
        let lead = 5_000_000 + goal * 20
        let deadlines = Deadlines(start: KernelClock.now(.suspending).moved(by: lead), period: period)
        let probe = Probe(deadlines, goal: goal)
        let before = ResourceUsage.ofOtherThreads
        let timer = try startTicking(deadlines, on: service, into: probe)
        try wait(for: probe, of: timer, until: deadlines[goal - 1], watch)
        let cost = ResourceUsage.ofOtherThreads - before
        return RoundResult(probe.result, cpu: cost.cpuNanoseconds, wakeUps: cost.voluntarySwitches)
    }

    /// A service of the row's own, so that it has nothing else to do.
    private func startService() throws(MeasurementError) -> TimerService? {
        guard case .backend(let backend) = row else { return nil }
        do throws(TimerError) { return try TimerService(backend) } catch { throw .failed(row, error) }
    }

    /// Starts what ticks. A timer ticks for as long as its handle, which is returned, is held.
    private func startTicking(
        _ deadlines: Deadlines,
        on service: TimerService?,
        into probe: Probe
    ) throws(MeasurementError) -> PreciseTimer? {
        do throws(TimerError) {
            if case .reference(let reference) = row { try reference.start(deadlines, into: probe) }
            return try service.map { service throws(TimerError) in
                try Self.schedule(deadlines, on: service, into: probe)
            }
        } catch {
            throw .failed(row, error)
        }
    }

    private static func schedule(
        _ deadlines: Deadlines,
        on service: TimerService,
        into probe: Probe
    ) throws(TimerError) -> PreciseTimer {
        let period = Duration(wholeNanoseconds: deadlines.period)
        return try PreciseTimer.schedule(.every(period, at: deadlines[0]), on: service) { timer, tick in
            // The clock itself comes first, and not the library's word for it.
            let delivered = KernelClock.now(.suspending)
            let arrival = Recording.Arrival(
                index: tick.index,
                deadline: tick.deadline,
                missed: tick.missed,
                woke: tick.woke,
                delivered: delivered
            )
            // Ended here, so that nothing ticks, and costs, between the last tick and the look of the one who waits.
            if !probe.record(arrival) { timer.cancel() }
        }
    }

    /// Sleeps until the probe has all ticks.
    private func wait(
        for probe: Probe,
        of timer: PreciseTimer?,
        until end: TimerInstant,
        _ watch: () -> Bool
    ) throws(MeasurementError) {
        var patience = Patience(
            limit: goal * period + 5_000_000_000,
            now: KernelClock.now(.suspending).nanoseconds
        )
        while true {
            let (ticks, isComplete) = probe.progress
            if isComplete { return }
            if case .ended(.backendFailed(let error)) = timer?.state { throw .failed(row, error) }
            let now = KernelClock.now(.suspending)
            if patience.isOver(ticks: ticks, now: now.nanoseconds) { throw .silent(row, waited: patience.limit) }
            if !watch() { throw .stopped }
            // The end is waited for closely: a slice at the end of every run would add up to seconds.
            let afterEnd = end.moved(by: 2_000_000)
            let next = now < afterEnd ? min(now.moved(by: Self.slice), afterEnd) : now.moved(by: 5_000_000)
            KernelClock.sleep(until: next)
        }
    }
}
