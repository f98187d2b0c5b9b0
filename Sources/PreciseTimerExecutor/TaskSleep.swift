#if compiler(>=6.3) && compiler(<6.4)
internal import PreciseTimer
internal import Synchronization
internal import TimerKernel
@_spi(ExperimentalScheduling) public import _Concurrency

/// `Task.sleep` of the executor's tasks, on the service's alarm.
///
/// The runtime looks for this conformance by itself. The protocol is an experiment of Swift 6.3 (SE-0505, which was
/// returned for revision), and so is this file. Without it, `Task.sleep` waits on the default executor.
@_spi(ExperimentalScheduling) extension TimerExecutor: SchedulingExecutor {
    /// Adds the end of a sleep of this length.
    @_spi(ExperimentalScheduling)
    public func enqueue<C: Clock>(
        _ job: consuming ExecutorJob,
        after delay: C.Duration,
        tolerance: C.Duration?,
        clock: C
    ) {
        enqueue(job, at: clock.now.advanced(by: delay), tolerance: tolerance, clock: clock)
    }

    /// Adds the end of a sleep until this instant.
    @_spi(ExperimentalScheduling)
    public func enqueue<C: Clock>(
        _ job: consuming ExecutorJob,
        at instant: C.Instant,
        tolerance: C.Duration?,
        clock: C
    ) {
        let sleep = Sleep(UnownedJob(job)) { try await clock.sleep(until: instant, tolerance: tolerance) }
        // A step of the wall clock would move the end of a sleep.
        if let realClock, realClock != .wall, let deadline = TimerInstant(instant, of: clock) {
            let schedule = realClock == deadline.clock ? PreciseTimer.Schedule.once(at: deadline) : nil
            wait(for: sleep, until: deadline, schedule, tolerance: max(.zero, tolerance as? Duration ?? .zero))
        } else {
            if realClock == nil { noteStray() }
            sleep.runElsewhere()
        }
    }

    /// Without a schedule, waits for the time that remains.
    private func wait(
        for sleep: Sleep,
        until deadline: TimerInstant,
        _ schedule: PreciseTimer.Schedule? = nil,
        tolerance: Duration = .zero
    ) {
        let rest = max(.zero, deadline.clock.now.duration(to: deadline))
        do throws(TimerError) {
            try PreciseTimer.schedule(
                schedule ?? .once(after: rest),
                on: service,
                tolerance: tolerance,
                label: "a sleep of a task",
                file: site.file,
                line: site.line,
                target: self,
                onEnd: { if $0 != .completed { sleep.runElsewhere() } },
                handler: { executor, _ in
                    // The service may have another clock than the sleep, and the system may have been suspended.
                    if deadline.clock.now < deadline {
                        executor.wait(for: sleep, until: deadline)
                    } else if let job = sleep.take() {
                        executor.run(QueuedJob(job: job, kind: .sleep))
                    }
                }
            )
        } catch {
            sleep.runElsewhere()
        }
    }
}

/// The job at the end of one sleep, which runs once.
private final class Sleep: Sendable {
    private let job: UnownedJob
    private let wait: @Sendable () async throws -> Void
    private let isTaken = Atomic(false)

    init(_ job: UnownedJob, _ wait: @escaping @Sendable () async throws -> Void) { (self.job, self.wait) = (job, wait) }

    /// The job; nil if it was taken before.
    func take() -> UnownedJob? { isTaken.exchange(true, ordering: .relaxed) ? nil : job }

    /// Waits for the rest of the time, and runs the job, on the default executor.
    func runElsewhere() {
        guard let job = take() else { return }
        let wait = wait
        Task.detached {
            // Nothing cancels this task, and the sleeping task is woken whatever happens.
            try? await wait()
            globalConcurrentExecutor.enqueue(job)
        }
    }
}

extension TimerInstant {
    /// The same instant of the kernel's clock; nil if the clock is not one of Swift's two.
    fileprivate init?<C: Clock>(_ instant: C.Instant, of clock: C) {
        switch (clock, instant) {
        case (let clock as ContinuousClock, let instant as ContinuousClock.Instant):
            self.init(clock.systemEpoch.duration(to: instant), .continuous)
        case (let clock as SuspendingClock, let instant as SuspendingClock.Instant):
            self.init(clock.systemEpoch.duration(to: instant), .suspending)
        default: return nil
        }
    }

    private init(_ duration: Duration, _ clock: TimerClock) {
        self = TimerInstant(nanoseconds: 0, clock: clock).advanced(by: max(.zero, duration))
    }
}
#endif
