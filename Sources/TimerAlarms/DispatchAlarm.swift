internal import CTimerKernel
package import Dispatch
internal import Synchronization
package import TimerKernel

/// One strict Dispatch timer source, on its own serial queue or on a queue of the host.
///
/// This class avoids three mistakes that end or silence a process that uses such a source directly. It never
/// releases the source before activating it. It never sets a deadline that Dispatch takes for one of another clock.
/// Its initialiser throws in a process in which Dispatch cannot work.
package final class DispatchAlarm: TimerAlarm {
    /// The source, and its last setting.
    private struct State {
        let source: any DispatchSourceTimer
        var first: TimerInstant?
        var period: UInt64?

        /// Applies the last setting.
        func schedule() {
            guard let first else { return source.schedule(deadline: .distantFuture) }
            if first.clock == .wall {
                let (seconds, nanoseconds) = first.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
                let time = timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds))
                return source.schedule(wallDeadline: DispatchWallTime(timespec: time), leeway: .nanoseconds(0))
            }
            let time = DispatchTime(uptimeNanoseconds: first.nanoseconds)
            let repeating = period.map { DispatchTimeInterval.nanoseconds(Int($0)) } ?? .never
            source.schedule(deadline: time, repeating: repeating, leeway: .nanoseconds(0))
        }
    }

    private let clock: TimerClock
    private let state: Lock<State>
    /// Stored before the source is activated, and read when no thread holds the alarm any more. The source's lock
    /// orders both, so release and acquire are enough.
    private let isActive = Atomic(false)
    /// Stored before `stop` returns, with release, so a firing that begins after that sees it. It guards no other
    /// memory.
    private let isStopped = Atomic(false)

    /// The clocks on which Swift can set a Dispatch timer. A deadline on the wall clock follows the clock's steps in
    /// both directions.
    package static var clocks: Set<TimerClock> { [.suspending, .wall] }

    /// - Parameters:
    ///   - clock: one of ``clocks``.
    ///   - queue: the queue on which the alarm fires, or nil for a new serial queue.
    /// - Throws: `TimerError` if the system refuses something that Dispatch will need, or if the clock shows a time
    ///   that is later than all of Dispatch's instants.
    package init(_ clock: TimerClock, queue: DispatchQueue? = nil) throws(TimerError) {
        precondition(Self.clocks.contains(clock), "Dispatch has no such clock")
        if let error = Self.error(.unavailable, at: clock.now) { throw error }
        try DispatchPreflight.check(clock)
        let queue = queue ?? DispatchQueue(label: "timer.dispatch", qos: .userInteractive)
        let source = DispatchSource.makeTimerSource(flags: .strict, queue: queue)
        source.schedule(deadline: .distantFuture)
        self.clock = clock
        state = Lock(State(source: source))
    }

    deinit {
        state.withLock { state in
            state.source.cancel()
            // Releasing an inactive source ends the process.
            if !isActive.load(ordering: .acquiring) { state.source.activate() }
        }
    }

    package var now: TimerInstant { clock.now }

    package func start(
        onFire: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (TimerError) -> Void
    ) throws(TimerError) {
        state.withLock { state in
            state.source.setEventHandler { [weak self] in
                guard let self, !self.isStopped.load(ordering: .acquiring) else { return }
                onFire()
            }
            isActive.store(true, ordering: .releasing)
            state.source.activate()
        }
    }

    package func set(_ deadline: TimerInstant?) throws(TimerError) {
        if let deadline, deadline.nanoseconds > Self.last, let error = Self.error(.backendFailed, at: now) {
            throw error
        }
        set(deadline.map(Self.safe), nil)
    }

    /// Repeats by itself on the suspending clock, with periods of up to a day. Dispatch adds whole periods to the
    /// deadline, in nanoseconds, so rounding errors do not add up.
    package func set(_ first: TimerInstant, every period: UInt64) throws(TimerError) -> Bool {
        guard clock == .suspending, (1...Self.day).contains(period), Self.safe(first) == first else {
            try set(first)
            return false
        }
        set(first, period)
        return true
    }

    private func set(_ first: TimerInstant?, _ period: UInt64?) {
        state.withLock { state in
            (state.first, state.period) = (first, period)
            state.schedule()
        }
    }

    package func stop() {
        isStopped.store(true, ordering: .releasing)
        state.withLock { $0.source.cancel() }
    }

    /// In nanoseconds.
    private static let day: UInt64 = 86_400_000_000_000

    /// Dispatch's last instant, because it reads the clock from the two highest bits of a time: after 146 years; on the
    /// wall clock, in the year 2116.
    package static let last: UInt64 = 1 << 62 - 1

    /// A deadline after Dispatch's last instant fires early and is set again. Values 0 and 1 are reserved: on the wall
    /// clock they never come.
    private static func safe(_ deadline: TimerInstant) -> TimerInstant {
        TimerInstant(nanoseconds: min(max(deadline.nanoseconds, 2), last), clock: deadline.clock)
    }

    /// Why Dispatch cannot wait for a deadline after its last instant; nil if it can for now. Once its last instant has
    /// come, such a deadline would fire at once, again and again.
    package static func error(_ code: TimerError.Code, at now: TimerInstant) -> TimerError? {
        if now.nanoseconds < last { return nil }
        let reason = "the \(now.clock) clock is past Dispatch's last instant, which the wall clock shows in 2116"
        return TimerError(code, "waiting with Dispatch (\(reason); set the clock, or use timerfd)")
    }
}

extension DispatchAlarm: RenewedAlarm {
    /// A source that repeats goes on with its own period: from its first deadline, so that it keeps its grid.
    package func renew() { state.withLock { $0.schedule() } }

    /// A deadline that is due when a source is set needs no timer of the kernel, whose failure libdispatch hides.
    package var mayLimp: Bool { true }
}

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
