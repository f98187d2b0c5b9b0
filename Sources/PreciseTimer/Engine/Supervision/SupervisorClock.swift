internal import Synchronization
internal import TimerKernel

/// The clock of the supervisor's seconds, in nanoseconds: the kernel's suspending clock, or, in a test, a faster one.
package enum SupervisorClock {
    /// Relaxed: a test sets it before its services start, and it orders no other memory.
    private static let speed = Atomic<UInt64>(1)

    /// Lets the clock run ten times as fast, for the rest of the process.
    package static func hurry() { speed.store(10, ordering: .relaxed) }

    static var now: UInt64 { scaled(TimerClock.suspending.now.nanoseconds) }

    /// The length on this clock of some nanoseconds of the kernel's clock.
    static func scaled(_ nanoseconds: UInt64) -> UInt64 { nanoseconds * speed.load(ordering: .relaxed) }

    /// Calls a body once a second, until it returns false. Slow bodies do not make the seconds longer.
    static func eachSecond(_ body: () -> Bool) {
        var next = now
        repeat {
            next = max(next + 1_000_000_000, now)
            let instant = next / speed.load(ordering: .relaxed)
            KernelClock.sleep(until: TimerInstant(nanoseconds: instant, clock: .suspending))
        } while body()
    }
}
