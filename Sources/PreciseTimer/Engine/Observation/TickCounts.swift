internal import TimerKernel

/// The statistics of a timer or a service while they are collected. Counting a tick allocates nothing. The service's
/// lock protects it.
final class TickCounts {
    /// The numbers, as they are copied under the lock.
    struct Numbers {
        var missed: UInt64 = 0
        /// How many ticks a step of the clock made due. They have no lateness.
        var afterStep: UInt64 = 0
        /// The deadline of the tick with the greatest lateness.
        var longestSince: UInt64 = 0
        /// How late the other ticks were. It has one entry for each of them.
        var lateness = LogHistogram()
        var handlerTime = LogHistogram()

        /// The number of ticks.
        var ticks: UInt64 { lateness.count &+ afterStep }
    }

    @safe @exclusivity(unchecked) private(set) var numbers = Numbers()
    /// The clock of these numbers.
    private let clock: TimerClock
    /// When the latest handler was called, and how long it ran, in nanoseconds; `.max` if no handler has returned.
    private var lastStart: UInt64 = .max
    private var lastTime: UInt64 = 0
    /// The errors of the last two handlers that threw one, with the number of ticks that had been counted then. Two,
    /// because the last run may be that of an earlier tick while a handler has thrown but not returned.
    private var errors: [(ticks: UInt64, words: String)] = []

    init(_ clock: TimerClock) { self.clock = clock }

    /// The latest call of a handler.
    var lastRun: PreciseTimer.HandlerRun? {
        if lastStart == .max { return nil }
        return PreciseTimer.HandlerRun(
            start: TimerInstant(nanoseconds: lastStart, clock: clock),
            end: TimerInstant(nanoseconds: lastStart + lastTime, clock: clock),
            error: errors.first { $0.ticks + 1 == numbers.ticks }?.words
        )
    }

    /// Notes the error of a handler whose tick is counted when it has returned.
    func noteError(_ words: String) { errors = errors.suffix(1) + [(numbers.ticks, words)] }

    /// Counts a tick, and the time of its handler in nanoseconds, if that is known.
    @inline(__always) func count(_ delivered: DeliveredTick, isAfterStep: Bool, handlerTime: UInt64?) {
        let missed = delivered.missed
        if missed > 0 { numbers.missed = numbers.missed.saturatingAdding(missed) }
        if isAfterStep {
            numbers.afterStep &+= 1
        } else if numbers.lateness.add(delivered.lateness) {
            numbers.longestSince = delivered.deadline
        }
        if let handlerTime { numbers.handlerTime.add(handlerTime) }
    }

    /// Notes the latest call of a handler.
    func noteRun(_ delivered: DeliveredTick, time: UInt64) { (lastStart, lastTime) = (delivered.instant, time) }
}
