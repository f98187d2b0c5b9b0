internal import TimerCore

/// The statistics of a timer or a service while they are collected. The memory is fixed, so that counting a tick
/// allocates nothing. The service's lock protects it.
///
/// It is no object, because retaining and releasing an object would cost more than counting.
@safe
struct TickCounts: ~Copyable {
    /// The numbers, as they are copied under the lock.
    struct Numbers {
        var missed: UInt64 = 0
        /// The deadline of the tick with the greatest lateness.
        var longestSince: UInt64 = 0
        /// How late the ticks were. It has one entry for each tick.
        var lateness = LogHistogram()
        var handlerTime = LogHistogram()
    }

    private let memory: UnsafeMutablePointer<Numbers>

    init() {
        unsafe memory = .allocate(capacity: 1)
        unsafe memory.initialize(to: Numbers())
    }

    deinit { unsafe memory.deallocate() }

    /// A copy of the numbers.
    var numbers: Numbers { unsafe memory.pointee }

    /// Counts a tick.
    @inline(__always)
    func count(_ served: Served) {
        unsafe memory.pointee.missed = memory.pointee.missed.saturatingAdding(served.due.missed)
        if unsafe served.lateness >= memory.pointee.lateness.longest {
            unsafe memory.pointee.longestSince = served.due.deadline
        }
        unsafe memory.pointee.lateness.add(served.lateness)
    }

    /// Counts the time of a handler.
    @inline(__always)
    func countHandler(_ nanoseconds: UInt64) { unsafe memory.pointee.handlerTime.add(nanoseconds) }
}
