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
