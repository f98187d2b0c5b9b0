package import HostSystem
package import PreciseTimer

/// Schedules and cancels timers at a rate. All of them are too far away to tick.
package struct ChurnLoad {
    private let service: TimerService
    private let perSecond: UInt64

    /// The shortest time between two batches. Shorter sleeps would themselves be the load.
    private static let shortestSleep = Duration.milliseconds(1)
    /// The longest sleep of the thread before it reads the stop flag.
    private static let longestSleep = Duration.milliseconds(5)

    package init(_ service: TimerService, _ perSecond: Int) {
        self.service = service
        self.perSecond = UInt64(perSecond)
    }

    /// The number of timers that the rate allows in some nanoseconds.
    package static func goal(perSecond: UInt64, after nanoseconds: UInt64) -> UInt64 {
        let (high, low) = perSecond.multipliedFullWidth(by: nanoseconds)
        return high < 1_000_000_000 ? UInt64(1_000_000_000).dividingFullWidth((high, low)).quotient : .max
    }

    /// Works until the flag is set, or the service takes no more timers. The next batch makes up for a late batch.
    /// Returns the number of scheduled timers.
    @discardableResult package func run(until isStopped: StopFlag) -> UInt64 {
        let start = TimerClock.suspending.now
        let pause = min(max(Self.shortestSleep, .seconds(1) / perSecond), Self.longestSleep)
        var (next, scheduled) = (start, UInt64(0))
        while !isStopped.isSet {
            let now = TimerClock.suspending.now
            let goal = Self.goal(perSecond: perSecond, after: now.nanoseconds - start.nanoseconds)
            while scheduled < goal, !isStopped.isSet {
                guard scheduleAndCancel() else { return scheduled }
                scheduled += 1
            }
            // The grid of batches does not depend on the time of the work.
            while next <= now { next = next.advanced(by: pause) }
            SystemClock.monotonic.sleep(until: next.nanoseconds)
        }
        return scheduled
    }

    private func scheduleAndCancel() -> Bool {
        let timer = try? PreciseTimer.schedule(.once(after: .seconds(7_200)), on: service) { _, _ in }
        return timer?.cancel() ?? false
    }
}
