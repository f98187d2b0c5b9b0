internal import Dispatch
internal import Synchronization
package import TimerCore

/// One strict Dispatch timer source on a serial queue of its own.
///
/// What kills or silences a process that uses such a source by hand is kept out here: the source is never released
/// before it was activated, its deadline is never one that Dispatch takes for wall-clock time, and a process in which
/// Dispatch cannot work gets an error from the initialiser.
package final class DispatchAlarm: TimerAlarm {
    private let source: Lock<any DispatchSourceTimer>
    private let isActive = Atomic(false)
    private let isStopped = Atomic(false)

    /// - Throws: `TimerError` where the system refuses what Dispatch is going to need.
    package init() throws(TimerError) {
        try DispatchPreflight.check()
        let queue = DispatchQueue(label: "timer.dispatch", qos: .userInteractive)
        let source = DispatchSource.makeTimerSource(flags: .strict, queue: queue)
        source.schedule(deadline: .distantFuture)
        self.source = Lock(source)
    }

    deinit {
        source.withLock { source in
            source.cancel()
            // Releasing an inactive source ends the process.
            if !isActive.load(ordering: .acquiring) { source.activate() }
        }
    }

    package var now: TimerInstant { KernelClock.now(.suspending) }

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
        let time = deadline.map(Self.dispatchTime) ?? .distantFuture
        source.withLock { $0.schedule(deadline: time, leeway: .nanoseconds(0)) }
    }

    package func stop() {
        isStopped.store(true, ordering: .releasing)
        source.withLock { $0.cancel() }
    }

    /// Dispatch reads the two highest bits of a time as the clock that it is of, so a deadline stays below them (146
    /// years); it fires early then and is set again.
    private static func dispatchTime(_ deadline: TimerInstant) -> DispatchTime {
        DispatchTime(uptimeNanoseconds: min(max(deadline.nanoseconds, 1), 1 << 62 - 1))
    }
}
