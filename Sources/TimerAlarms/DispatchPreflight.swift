internal import Dispatch
internal import Synchronization
internal import TimerKernel

/// Checks that Dispatch timers can work in this process.
///
/// Dispatch does not report that they cannot. Without descriptors for its event loop it ends the process. Without a
/// descriptor for the timers of a clock they never fire. Without threads it hangs, and after a fork it is dead. So
/// each start tries what Dispatch will need, and then waits until a timer has fired, which usually takes some
/// milliseconds. From then on Dispatch keeps its descriptors. If the process closes them, no Dispatch timer fires
/// any more. The next start reports this, unless the machine is so busy that the trial's timers are due before
/// Dispatch has handled them.
enum DispatchPreflight {
    /// The process that uses Dispatch timers; 0 before the first use. All that matters is which exchange comes first,
    /// and every order of memory has that.
    private static let process = Atomic<UInt>(0)
    /// The last trial on each clock.
    private static let trials = Lock<[TimerClock: Trial]>([:])

    /// Waits for a timer on a clock, for at most five seconds. The caller must hold no lock.
    ///
    /// - Throws: `TimerError`, which names the missing resource.
    static func check(_ clock: TimerClock) throws(TimerError) {
        // If Dispatch has no idle thread it starts one, and waits forever if that fails.
        try Thread.start("timer.preflight") {}
        let id = Process.generation
        let (isFirst, user) = process.compareExchange(expected: 0, desired: id, ordering: .acquiringAndReleasing)
        if !isFirst, user != id {
            throw TimerError(.forked, "starting a Dispatch timer (Dispatch does not survive a fork)")
        }
        let last = trials.withLock { $0[clock] }
        let trial: Trial
        if let last, last.isStarting {
            trial = last
        } else {
            // Its event loop needs an epoll, an event descriptor and a timer, and another descriptor for a moment.
            try EventLoopTrial.check(1, spare: 1)
            trial = Trial()
            trials.withLock { $0[clock] = trial }
            try trial.begin(on: clock)
        }
        if !trial.succeeds(attempts: 50) {
            let causes = "it may lack threads, or its descriptors were closed"
            throw TimerError(.systemRefused, "waiting 5 s for a Dispatch timer to fire (\(causes))")
        }
    }

    /// A timer that must fire twice beside a timer in the far future: a millisecond after it was set, and then after
    /// ten times as long as it was late, but at least 1 ms and at most 100 ms.
    private final class Trial: Sendable {
        private let fired = DispatchSemaphore(value: 0)
        /// Stored with release when the timers have been started, so a thread that sees it does not share this trial,
        /// but sees what it has done.
        private let hasStarted = Atomic(false)

        /// Whether the timers are still being started, which may take until the system has a free thread. A second
        /// trial would show no more.
        var isStarting: Bool { !hasStarted.load(ordering: .acquiring) }

        /// Starts the timers on a new thread, since Dispatch may block it.
        func begin(on clock: TimerClock) throws(TimerError) {
            do throws(TimerError) { try Thread.start("timer.preflight") { self.startTimers(on: clock) } } catch {
                hasStarted.store(true, ordering: .releasing)
                throw error
            }
        }

        /// Dispatch opens the descriptor of a clock's timers when its event loop first has to wait for such a timer.
        /// It does not open it if the only timer is already due by then. So the trial begins with a timer that is an
        /// hour away. The near timer may fire before the loop has opened the descriptor, but before its second firing
        /// the loop has to wait, even if the machine is as busy as at the first.
        private func startTimers(on clock: TimerClock) {
            let queue = DispatchQueue(label: "timer.preflight")
            let far = DispatchSource.makeTimerSource(flags: .strict, queue: queue)
            far.set(after: .seconds(3600), on: clock)
            // Without a handler, libdispatch complains in the system's log.
            far.setEventHandler {}
            far.activate()
            let near = DispatchSource.makeTimerSource(flags: .strict, queue: queue)
            let first = DispatchTime.now() + .milliseconds(1)
            // Relaxed: the queue calls the handler once at a time, and orders the calls.
            let firings = Atomic(0)
            near.setEventHandler {
                guard firings.add(1, ordering: .relaxed).newValue == 2 else {
                    // A firing by the wall clock may come early, if that clock is set.
                    let now = max(DispatchTime.now(), first)
                    let late = Int(min(now.uptimeNanoseconds - first.uptimeNanoseconds, 10_000_000))
                    return near.set(after: .nanoseconds(max(1_000_000, 10 * late)), on: clock)
                }
                self.fired.signal()
                near.cancel()
                far.cancel()
            }
            near.set(after: .milliseconds(1), on: clock)
            near.activate()
            hasStarted.store(true, ordering: .releasing)
        }

        /// Waits for the second firing, some 100 ms at a time: a process that stood still has not waited long.
        func succeeds(attempts: Int) -> Bool {
            let hasFired = (0..<attempts).contains { _ in fired.wait(timeout: .now() + .milliseconds(100)) == .success }
            guard hasFired else { return false }
            // Lets the next waiting thread succeed, too.
            fired.signal()
            return true
        }
    }
}

extension DispatchSourceTimer {
    fileprivate func set(after delay: DispatchTimeInterval, on clock: TimerClock) {
        switch clock {
        case .wall: schedule(wallDeadline: .now() + delay, leeway: .nanoseconds(0))
        case .suspending, .continuous: schedule(deadline: .now() + delay, leeway: .nanoseconds(0))
        }
    }
}
