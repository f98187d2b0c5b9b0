package import PreciseTimer
internal import TimerAlarms
internal import TimerCore

/// Schedules and cancels timers at a rate, all of them too far away to tick.
package struct ChurnLoad {
    private let service: TimerService
    private let perSecond: UInt64

    /// Nanoseconds between two batches: shorter sleeps would be the load.
    private static let pause: UInt64 = 1_000_000
    /// Nanoseconds after which a sleeping thread looks whether it is to stop.
    private static let longestSleep: UInt64 = 5_000_000

    package init(_ service: TimerService, _ perSecond: Int) {
        self.service = service
        self.perSecond = UInt64(perSecond)
    }

    /// How many timers are to have been scheduled after so many nanoseconds: no more than the rate allows.
    package static func goal(perSecond: UInt64, after nanoseconds: UInt64) -> UInt64 {
        let (high, low) = perSecond.multipliedFullWidth(by: nanoseconds)
        return high < 1_000_000_000 ? UInt64(1_000_000_000).dividingFullWidth((high, low)).quotient : .max
    }

    /// Works until the flag is set, or the service takes no more timers; returns how many it scheduled. What was late is
    /// made up for in the next batch.
    @discardableResult package func run(until isStopped: StopFlag) -> UInt64 {
        let start = KernelClock.now(.suspending)
        let pause = min(max(Self.pause, 1_000_000_000 / perSecond), Self.longestSleep)
        var (next, scheduled) = (start, UInt64(0))
        while !isStopped.isSet {
            let now = KernelClock.now(.suspending)
            let goal = Self.goal(perSecond: perSecond, after: now.nanoseconds - start.nanoseconds)
            while scheduled < goal, !isStopped.isSet {
                guard scheduleAndCancel() else { return scheduled }
                scheduled += 1
            }
            // On the grid of batches, whatever the work took.
            while next <= now { next = next.moved(by: pause) }
            KernelClock.sleep(until: next)
        }
        return scheduled
    }

    private func scheduleAndCancel() -> Bool {
        let timer = try? PreciseTimer.schedule(.once(after: .seconds(7_200)), on: service) { _, _ in }
        return timer?.cancel() ?? false
    }
}
