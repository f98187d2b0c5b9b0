/// How many timers of a service a sweep covers at most: enough for each timer to have its turn in one of the next four
/// sweeps, however many timers end meanwhile, if the sweeps' budget suffices. A pure value.
package struct SweepQuota: Sendable {
    /// The least quota, unless there are fewer timers.
    private static var least: Int { 4_096 }

    /// The numbers of timers at the last four sweeps, the latest first.
    private var counts = SIMD4<Int>()

    package init() {}

    /// Decides on the next sweep. A quarter of the present number alone would shrink with each sweep that ends timers:
    /// the last of a million would wait for some 20 sweeps. Constant time.
    ///
    /// - Parameter count: the number of timers.
    /// - Returns: the quota of the sweep.
    package mutating func next(of count: Int) -> Int {
        counts = SIMD4(count, counts.x, counts.y, counts.z)
        return min(count, max(Self.least, (counts.max() + 3) / 4))
    }
}

/// Divides a sweep's quota into parts, and ends the sweep early once looks at living targets have used its processor
/// time: a million timers at rest take less than 1 % of a processor. A pure value.
package struct SweepBudget: Sendable {
    /// How many timers a part has. The time is read once for each part, which is a system call.
    private static var part: Int { 256 }
    /// The processor time of a sweep, in nanoseconds. There is one sweep in each second.
    private static var most: UInt64 { 8_000_000 }

    private var remaining: Int
    private var used: UInt64 = 0
    /// The thread's processor time at the beginning of the last part.
    private var last: UInt64?

    package init(for quota: Int) { remaining = quota }

    /// Decides on the next part. Constant time.
    ///
    /// - Parameters:
    ///   - time: the thread's processor time in nanoseconds; nil if the system refuses to tell it, which uses nothing.
    ///   - endedTimers: whether the last part ended timers. It used nothing then: most of its time was the user's, and
    ///     the next timers may have the same released target.
    /// - Returns: the number of timers in the part; nil if the sweep is over.
    package mutating func next(at time: UInt64?, endedTimers: Bool) -> Int? {
        if !endedTimers, let time, let last { used += time - min(last, time) }
        last = time
        guard remaining > 0, used < Self.most else { return nil }
        defer { remaining -= Self.part }
        return min(remaining, Self.part)
    }
}
