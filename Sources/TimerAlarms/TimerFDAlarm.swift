internal import Synchronization
package import TimerKernel

/// One thread that sleeps in `read` on one timerfd until the deadline or, with a ``Spinner``, until shortly before it,
/// and then reads the clock in a loop.
///
/// Only the thread arms the timerfd, before it sleeps. Another thread that sets an earlier deadline while this thread
/// sleeps sets the timerfd, too, which wakes it correctly, so the alarm needs neither epoll nor a second descriptor. In
/// all other cases setting the alarm is no more than storing a number.
package final class TimerFDAlarm: TimerAlarm {
    private let timer: TimerDescriptor
    private let clock: TimerClock
    private let setup: ThreadSetup
    /// Decides on spinning; nil for an alarm that only sleeps.
    package let spinner: Spinner?
    /// What the thread begins with.
    private let gaps: ShortGaps
    /// The deadline in nanoseconds; the greatest number if there is no deadline.
    ///
    /// This and ``wakesBy`` are sequentially consistent. A setter stores the deadline and then reads `wakesBy`; the
    /// thread stores `wakesBy` and then reads the deadline. With release and acquire both could read the old values,
    /// and the wake-up would be lost: `SleeperTests` in `TimerCoreTests` show it for either side.
    private let deadline = Atomic<UInt64>(.max)
    /// While the thread sleeps, when it will wake at the latest. 0 while it is awake: it then reads the deadline
    /// again before it sleeps.
    private let wakesBy = Atomic<UInt64>(0)
    /// Stored before `stop` sets the timer, and read after each other setting of it. The kernel's lock on the timer
    /// orders the settings and what comes before and after them: the wake-up is the last setting, or the thread or the
    /// setter that undid it sees this.
    private let isStopped = Atomic(false)
    private let home = Process.generation

    /// - Parameters:
    ///   - clock: the clock of the deadlines.
    ///   - setup: the thread's settings.
    ///   - spinner: decides on spinning; nil for an alarm that only sleeps.
    ///   - gaps: decides on sleeping; nil for the usual.
    /// - Throws: `TimerError` if the system refuses the descriptor.
    package init(
        _ clock: TimerClock,
        setup: ThreadSetup = ThreadSetup(),
        spinner: Spinner? = nil,
        gaps: ShortGaps? = nil
    ) throws(TimerError) {
        timer = try TimerDescriptor(clock)
        self.clock = clock
        self.setup = setup
        self.spinner = spinner
        self.gaps = gaps ?? ShortGaps(beside: spinner?.report.plan.budgetShare ?? 0)
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

    // MARK: The thread

    private func run(_ onFire: () -> Void, _ onFailure: (TimerError) -> Void) {
        var gaps = gaps
        if !RealTimeLimit.allows(stretch: gaps.longestStretch) { gaps = .none }
        do throws(TimerError) {
            while !isStopped.load(ordering: .sequentiallyConsistent) {
                let next = deadline.load(ordering: .sequentiallyConsistent)
                let (hasCome, wait) = try wait(for: next, &gaps, onFire)
                if hasCome {
                    // The firing uses the deadline up, unless it was replaced in the meantime.
                    let change = deadline.compareExchange(
                        expected: next,
                        desired: .max,
                        ordering: .sequentiallyConsistent
                    )
                    if change.exchanged, !isStopped.load(ordering: .sequentiallyConsistent) { fire(onFire) }
                }
                spinner?.learn(from: wait)
            }
        } catch {
            onFailure(error)
        }
    }

    /// A handler may fork: a child that returns from it must not touch the parent's timerfd.
    private func fire(_ onFire: () -> Void) {
        onFire()
        if Process.generation != home { Thread.end() }
    }

    /// Fetches what the next firing needs into the processor's caches, while there is time: by a firing that finds
    /// nothing due.
    private func warmCaches(_ onFire: () -> Void) { fire(onFire) }

    /// Waits until a deadline or, if it spins, until ``lead`` before it. Returns false if the thread must begin anew:
    /// the deadline was replaced, the clock was set back, or a minute has passed. If the process closes the descriptor
    /// from outside, a blocked reader is not told; its next read finds out.
    private func wait(
        for next: UInt64,
        _ gaps: inout ShortGaps,
        _ onFire: () -> Void
    ) throws(TimerError) -> (hasCome: Bool, SpinPlan.Wait) {
        var wait = SpinPlan.Wait(woke: now.nanoseconds)
        if wait.woke >= next { return (true, wait) }
        let gap = next - wait.woke
        let choice = gap > ShortGaps.longest ? .sleep : gaps.choice(for: gap, at: wait.woke)
        if choice == .stayAwake {
            let hasCome = spin(until: next, gap, &wait)
            // If the host stood still meanwhile, that time does not count.
            gaps.pay(min(wait.end - min(wait.woke, wait.end), gap), at: wait.end)
            // The spinner's budget does not pay for it.
            return (hasCome, SpinPlan.Wait(woke: wait.end))
        }
        let margin = next == .max ? 0 : min(spinner?.margin(before: next) ?? 0, next)
        let alarm = min(next - margin, wait.woke + Self.minute)
        if wait.woke < alarm {
            let before = choice == .measureSleep ? Thread.processorTime : nil
            guard try sleep(until: alarm, for: next) else { return (false, wait) }
            if let before, let after = Thread.processorTime { gaps.learn(price: after - before) }
            wait = SpinPlan.Wait(alarm: alarm, woke: now.nanoseconds)
        }
        guard wait.woke >= next - margin else { return (false, wait) }
        if wait.woke >= next { return (true, wait) }
        if isStillWaiting(for: next) { warmCaches(onFire) }
        return (spin(until: next, margin, &wait), wait)
    }

    /// Sleeps until an instant, or until another thread sets an earlier deadline or stops the alarm. Returns false if
    /// one of the two happened before the sleep.
    private func sleep(until alarm: UInt64, for next: UInt64) throws(TimerError) -> Bool {
        try timer.set(TimerInstant(nanoseconds: alarm, clock: clock))
        // From here on, other threads wake this one. What they did before is seen now.
        wakesBy.store(alarm, ordering: .sequentiallyConsistent)
        defer { wakesBy.store(0, ordering: .sequentiallyConsistent) }
        guard isStillWaiting(for: next) else { return false }
        try timer.wait()
        return true
    }

    /// Reads the clock until ``lead`` before a deadline. Returns false if the thread must begin anew.
    private func spin(until next: UInt64, _ margin: UInt64, _ wait: inout SpinPlan.Wait) -> Bool {
        let early = next - min(lead, margin)
        while wait.end < early {
            // A clock that was set back has left the margin.
            guard isStillWaiting(for: next), wait.end >= next - margin else { return false }
            wait.end = now.nanoseconds
        }
        spinner?.fires(for: next, at: wait.end)
        // The service waits for the rest.
        wait.end = max(wait.end, next)
        return true
    }

    private func isStillWaiting(for next: UInt64) -> Bool {
        deadline.load(ordering: .sequentiallyConsistent) == next && !isStopped.load(ordering: .sequentiallyConsistent)
    }

    // MARK: Other threads

    package func set(_ deadline: TimerInstant?) throws(TimerError) {
        let next = deadline?.nanoseconds ?? .max
        self.deadline.store(next, ordering: .sequentiallyConsistent)
        // A sleeping thread that wakes early enough, or even too early, begins anew and sleeps on.
        let wakesBy = wakesBy.load(ordering: .sequentiallyConsistent)
        let alarm = next - min(next, spinner?.lastMargin ?? 0)
        guard alarm < wakesBy else { return }
        try timer.set(TimerInstant(nanoseconds: alarm, clock: clock))
        // This setting may have undone the wake-up of a concurrent stop. Or the thread has woken meanwhile, and sleeps
        // again until an earlier instant, which this setting has replaced.
        let isAsBefore = self.wakesBy.load(ordering: .sequentiallyConsistent) == wakesBy
        if !isAsBefore || isStopped.load(ordering: .sequentiallyConsistent) { wake() }
    }

    package func stop() {
        isStopped.store(true, ordering: .sequentiallyConsistent)
        wake()
    }

    /// Wakes the thread, which begins anew. The kernel does not refuse a past instant on an open timerfd, and a thread
    /// that has ended needs no waking.
    private func wake() { try? timer.set(TimerInstant(nanoseconds: 0, clock: clock)) }

    /// In nanoseconds.
    private static let minute: UInt64 = 60_000_000_000
}
