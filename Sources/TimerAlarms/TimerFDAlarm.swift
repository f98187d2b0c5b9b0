internal import Synchronization
package import TimerKernel

/// One thread that sleeps until the deadline or, with a ``Spinner``, until shortly before it, and then reads the clock
/// in a loop. ``SleeperSteps`` has what the thread does, and those that set and stop it. This class has their memory
/// and the kernel.
package final class TimerFDAlarm: TimerAlarm {
    private let timer: ThreadTimer
    private let clock: TimerClock
    private let setup: ThreadSetup
    /// Decides on spinning; nil for an alarm that only sleeps.
    package let spinner: Spinner?
    /// What the thread begins with.
    private let gaps: ShortGaps
    private let deadline = Atomic<UInt64>(.max)
    private let wakesBy = Atomic<UInt64>(0)
    private let isStopped = Atomic(false)
    private let home = Process.generation

    /// - Parameters:
    ///   - clock: the clock of the deadlines.
    ///   - setup: the thread's settings.
    ///   - spinner: decides on spinning; nil for an alarm that only sleeps.
    ///   - gaps: decides on sleeping; nil for the usual.
    ///   - sleepsByTimeOut: whether the thread sleeps by a time-out of its own; nil for a real-time thread on a kernel
    ///     that lets only those expire in time.
    /// - Throws: `TimerError` if the system refuses the descriptor.
    package init(
        _ clock: TimerClock,
        setup: ThreadSetup = ThreadSetup(),
        spinner: Spinner? = nil,
        gaps: ShortGaps? = nil,
        sleepsByTimeOut: Bool? = nil
    ) throws(TimerError) {
        let needsTimeOut = setup.asksForRealTime && RealTimeKernel.expiresTimersInThreads
        timer = try ThreadTimer(clock, sleepsByTimeOut: sleepsByTimeOut ?? needsTimeOut)
        self.clock = clock
        self.setup = setup
        self.spinner = spinner
        // A runtime is too short for gaps to be spent awake.
        let usual = setup.runtime == nil ? ShortGaps(beside: spinner?.report.plan.budgetShare ?? 0) : .none
        self.gaps = gaps ?? usual
    }

    package var now: TimerInstant { clock.now }

    /// An alarm that spins fires a little early, since the service's decision is slow after a sleep: the processor's
    /// caches are cold.
    package var lead: UInt64 { spinner?.lead ?? 0 }

    package func now(notBefore instant: TimerInstant) -> TimerInstant {
        let ready = now
        guard let spinner else { return ready }
        spinner.learn(decisionOn: instant.nanoseconds, at: ready.nanoseconds)
        return waitAwake(from: ready, until: instant)
    }

    package func start(
        onFire: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (TimerError) -> Void
    ) throws(TimerError) {
        // The thread holds the alarm, and thus the descriptor, until the thread ends.
        let name = spinner == nil ? "timer.timerfd" : "timer.hybrid"
        try setup.startThread(name) { self.run(onFire, onFailure) }
    }

    private func run(_ onFire: () -> Void, _ onFailure: (TimerError) -> Void) {
        var gaps = gaps
        if !RealTimeLimit.allows(stretch: gaps.longestStretch) { gaps = .none }
        let fire = { () throws(TimerError) in
            onFire()
            // A handler may fork: a child that returns from it must not touch the parent's descriptors.
            if Process.generation != self.home { Thread.end() }
            self.setup.restIfBehind()
        }
        do throws(TimerError) { while try waitAndFire(&gaps, fire) {} } catch { onFailure(error) }
    }

    package func set(_ deadline: TimerInstant?) throws(TimerError) { try set(to: deadline?.nanoseconds ?? .max) }

    package func stop() { try? stopAndWake() }
}

extension TimerFDAlarm: RenewedAlarm {
    /// The thread begins again. It may sleep although it should have woken: something outside disarmed the timer, or
    /// the processor that has the timer does not run. To set a deadline would then do nothing.
    package func renew() { wake() }
    package var mayLimp: Bool { false }
}

extension TimerFDAlarm: SleeperSteps {
    package typealias Failure = TimerError

    package func readDeadline() -> UInt64 { deadline.load(ordering: .sequentiallyConsistent) }
    package func store(deadline: UInt64) { self.deadline.store(deadline, ordering: .sequentiallyConsistent) }
    package func useUp(_ next: UInt64) -> Bool {
        deadline.compareExchange(expected: next, desired: .max, ordering: .sequentiallyConsistent).exchanged
    }
    package func readWakesBy() -> UInt64 { wakesBy.load(ordering: .sequentiallyConsistent) }
    package func store(wakesBy: UInt64) { self.wakesBy.store(wakesBy, ordering: .sequentiallyConsistent) }
    package func readIsStopped() -> Bool { isStopped.load(ordering: .sequentiallyConsistent) }
    package func storeIsStopped() { isStopped.store(true, ordering: .sequentiallyConsistent) }

    package func readClock() -> UInt64 { now.nanoseconds }
    package func setTimer(_ instant: UInt64) throws(TimerError) { try timer.set(instant) }
    package func sleepInKernel(until instant: UInt64) throws(TimerError) { try timer.sleep(until: instant) }
    package func shortenSleep(to instant: UInt64) throws(TimerError) { try timer.shorten(to: instant) }
    /// The kernel does not refuse a past instant on an open timer, and a thread that has ended needs no waking.
    package func wake() { try? timer.shorten(to: 0) }

    package func decideMargin(before deadline: UInt64) -> UInt64 { spinner?.margin(before: deadline) ?? 0 }
    package func readLastMargin() -> UInt64 { spinner?.lastMargin ?? 0 }
    package func fires(for deadline: UInt64, at now: UInt64) { spinner?.fires(for: deadline, at: now) }
    package func learn(from wait: SpinPlan.Wait) { spinner?.learn(from: wait) }
}
