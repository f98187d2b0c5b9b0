internal import TimerCore

/// The statistics of a timer or a service while they are collected. Its memory is fixed, so that counting a tick
/// allocates nothing. The service's lock protects it.
@safe
final class TickCounts {
    /// The numbers, as they are copied under the lock.
    struct Numbers {
        var missed: UInt64 = 0
        /// The deadline of the tick with the greatest lateness.
        var longestSince: UInt64 = 0
        /// How late the ticks were. It has one entry for each tick.
        var lateness = LogHistogram()
        var handlerTime = LogHistogram()
    }

    @safe @exclusivity(unchecked) private(set) var numbers = Numbers()

    /// Counts a tick.
    @inline(__always)
    func count(_ served: Served) {
        numbers.missed &+= served.due.missed
        if served.lateness >= numbers.lateness.longest { numbers.longestSince = served.due.deadline }
        numbers.lateness.add(served.lateness)
    }

    /// Counts the time of a handler.
    @inline(__always)
    func countHandler(_ nanoseconds: UInt64) { numbers.handlerTime.add(nanoseconds) }
}
