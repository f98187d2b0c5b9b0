package import Dispatch
internal import Glibc
internal import Synchronization
package import TimerCore

/// One strict Dispatch timer source, on a serial queue of its own or on one of the host's.
///
/// What kills or silences a process that uses such a source by hand is kept out here: the source is never released
/// before it was activated, its deadline is never one that Dispatch takes for one of another clock, and a process in
/// which Dispatch cannot work gets an error from the initialiser.
package final class DispatchAlarm: TimerAlarm {
    private let clock: TimerClock
    private let source: Lock<any DispatchSourceTimer>
    private let isActive = Atomic(false)
    private let isStopped = Atomic(false)

    /// The clocks that a Dispatch timer can be set on from Swift. A deadline on the wall clock follows its steps both
    /// ways.
    package static var clocks: Set<TimerClock> { [.suspending, .wall] }

    /// - Parameters:
    ///   - clock: one of ``clocks``.
    ///   - queue: where it fires; a serial queue of its own where none is given.
    /// - Throws: `TimerError` where the system refuses what Dispatch is going to need.
    package init(_ clock: TimerClock, queue: DispatchQueue? = nil) throws(TimerError) {
        precondition(Self.clocks.contains(clock), "Dispatch has no such clock")
        try DispatchPreflight.check(clock)
        let queue = queue ?? DispatchQueue(label: "timer.dispatch", qos: .userInteractive)
        let source = DispatchSource.makeTimerSource(flags: .strict, queue: queue)
        source.schedule(deadline: .distantFuture)
        self.clock = clock
        self.source = Lock(source)
    }

    deinit {
        source.withLock { source in
            source.cancel()
            // Releasing an inactive source ends the process.
            if !isActive.load(ordering: .acquiring) { source.activate() }
        }
    }

    package var now: TimerInstant { KernelClock.now(clock) }

    package func start(
        onFire: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (TimerError) -> Void
    ) throws(TimerError) {
        source.withLock { source in
            source.setEventHandler { [weak self] in
                guard let self, !self.isStopped.load(ordering: .acquiring) else { return }
                onFire()
            }
            isActive.store(true, ordering: .releasing)
            source.activate()
        }
    }

    package func set(_ deadline: TimerInstant?) {
        source.withLock { source in
            guard let deadline = deadline.map(Self.safe) else { return source.schedule(deadline: .distantFuture) }
            if clock == .wall {
                source.schedule(wallDeadline: DispatchWallTime(timespec: timespec(deadline)), leeway: .nanoseconds(0))
            } else {
                let time = DispatchTime(uptimeNanoseconds: deadline.nanoseconds)
                source.schedule(deadline: time, leeway: .nanoseconds(0))
            }
        }
    }

    /// Goes on by itself on the suspending clock, for periods of up to a day: Dispatch adds whole periods to the deadline,
    /// in nanoseconds, so nothing adds up.
    package func set(_ first: TimerInstant, every period: UInt64) -> Bool {
        guard clock == .suspending, (1...Self.day).contains(period), Self.safe(first) == first else {
            set(first)
            return false
        }
        source.withLock { source in
            let time = DispatchTime(uptimeNanoseconds: first.nanoseconds)
            source.schedule(deadline: time, repeating: .nanoseconds(Int(period)), leeway: .nanoseconds(0))
        }
        return true
    }

    package func stop() {
        isStopped.store(true, ordering: .releasing)
        source.withLock { $0.cancel() }
    }

    /// In nanoseconds.
    private static let day: UInt64 = 86_400_000_000_000

    /// Dispatch reads the two highest bits of a time as the clock that it is of, so a deadline stays below them (146
    /// years, on the wall clock in 2116); it fires early then and is set again. The lowest values are words of its own:
    /// on the wall clock, 0 and 1 never come.
    private static func safe(_ deadline: TimerInstant) -> TimerInstant {
        TimerInstant(nanoseconds: min(max(deadline.nanoseconds, 2), 1 << 62 - 1), clock: deadline.clock)
    }
}
