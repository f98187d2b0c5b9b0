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
    /// The source, and what it was last set to.
    private struct State {
        let source: any DispatchSourceTimer
        var first: TimerInstant?
        var period: UInt64?

        /// Does what was last set.
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

    /// What is due when a source is set needs no timer of the kernel, and libdispatch does not tell if that fails.
    package var mayLimp: Bool { true }
}
