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
        /// How late the wake-ups were.
        var wakeUps = BatchSums()

        /// The number of ticks.
        var ticks: UInt64 { lateness.count &+ afterStep }
    }

    @safe @exclusivity(unchecked) private(set) var numbers = Numbers()
    /// The clock of these numbers.
    private let clock: TimerClock
    /// Whether a handler has returned.
    private var hasRun = false
    /// When the latest handler was called, and how long it ran, in nanoseconds.
    private var lastStart: UInt64 = 0
    private var lastTime: UInt64 = 0
    /// The errors of the last two handlers that threw one, with the number of ticks that had been counted then. Two,
    /// because the last run may be that of an earlier tick while a handler has thrown but not returned.
    private var errors: [(ticks: UInt64, words: String)] = []

    init(_ clock: TimerClock) { self.clock = clock }

    /// The latest call of a handler.
    var lastRun: PreciseTimer.HandlerRun? {
        guard hasRun else { return nil }
        return PreciseTimer.HandlerRun(
            start: TimerInstant(nanoseconds: lastStart, clock: clock),
            end: TimerInstant(nanoseconds: lastStart + lastTime, clock: clock),
            error: errors.first { $0.ticks + 1 == numbers.ticks }?.words
        )
    }

    /// Notes the error of a handler whose tick is counted when it has returned.
    func noteError(_ words: String) { errors = errors.suffix(1) + [(numbers.ticks, words)] }

    /// Counts a tick.
    @inline(__always) func count(_ delivered: DeliveredTick, isAfterStep: Bool) {
        numbers.missed = numbers.missed.saturatingAdding(delivered.expiration.missed)
        if isAfterStep {
            numbers.afterStep &+= 1
            return
        }
        if delivered.lateness >= numbers.lateness.longest { numbers.longestSince = delivered.expiration.deadline }
        numbers.lateness.add(delivered.lateness)
    }

    /// Counts a wake-up, in nanoseconds without the clock's steps.
    @inline(__always) func countWakeUp(time: Int64, lateness: UInt64) {
        numbers.wakeUps.add(time: time, lateness: lateness)
    }

    /// Counts the time of a tick's handler, in nanoseconds. With a step of the clock in it, it is only that of the last
    /// run.
    @inline(__always) func count(_ delivered: DeliveredTick, handlerTime: UInt64, hasStep: Bool) {
        (hasRun, lastStart, lastTime) = (true, delivered.instant, handlerTime)
        if !hasStep { numbers.handlerTime.add(handlerTime) }
    }
}
