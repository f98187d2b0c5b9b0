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

/// Counts of lengths in nanoseconds, in buckets whose width grows with the length: at most an eighth of it. All lengths
/// have a bucket, and the memory is fixed, as in "HdrHistogram" by Gil Tene.
package struct LogHistogram: Sendable {
    /// The number of buckets.
    package static var size: Int { 496 }

    // What every length changes comes first, close together.
    /// The sum of the lengths; saturates.
    package private(set) var total: UInt64 = 0
    /// The greatest length.
    package private(set) var longest: UInt64 = 0
    /// How many lengths each bucket has.
    package private(set) var counts = InlineArray<496, UInt64>(repeating: 0)

    package init() {}

    /// The number of lengths. Adds up the buckets.
    package var count: UInt64 { (0..<Self.size).reduce(0) { $0 &+ counts[$1] } }

    /// Counts a length. Constant time. Returns whether no earlier one is longer.
    @discardableResult
    @inline(__always) package mutating func add(_ length: UInt64) -> Bool {
        // Every length has a bucket, so nothing checks the index.
        unsafe counts[unchecked: Self.bucket(of: length)] &+= 1
        let (sum, overflow) = total.addingReportingOverflow(length)
        total = overflow ? .max : sum
        if length < longest { return false }
        longest = length
        return true
    }

    /// The bucket of a length. Lengths below 8 have their own. Each octave from there on has eight buckets.
    @inline(__always) package static func bucket(of length: UInt64) -> Int {
        // The length without its last bits is 8 to 15, and below 8 in the first octave.
        let shift = UInt64(truncatingIfNeeded: 60 &- (length | 8).leadingZeroBitCount)
        return Int(truncatingIfNeeded: shift &* 8 &+ length &>> shift)
    }

    /// The greatest length in a bucket.
    package static func greatest(in bucket: Int) -> UInt64 {
        if bucket < 8 { return UInt64(bucket) }
        let octave = UInt64(bucket >> 3 + 2)
        let first = UInt64(8 | bucket & 7) << (octave - 3)
        return first | (1 << (octave - 3) - 1)
    }
}
