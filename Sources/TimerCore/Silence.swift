/// Tells a silent alarm from a late one, from looks about a second apart. A pure value.
///
/// Looks are counted, because a process that stood still has had no chance to fire. Time is measured, because looks may
/// come faster than they should.
package struct Silence: Sendable {
    /// How many further looks must find the alarm overdue for the same instant.
    package static var looks: Int { 5 }
    /// How much time must have passed between the first and the last of them, in nanoseconds. Looks come at whole
    /// seconds, give or take a little.
    package static var length: UInt64 { 4_500_000_000 }

    /// The instant for which the alarm was overdue at the last look.
    private var overdue: UInt64?
    /// When a look first found that.
    private var since: UInt64 = 0
    private var count = 0

    package init() {}

    /// Adds a look. Constant time.
    ///
    /// - Parameters:
    ///   - overdue: the instant for which the alarm is overdue; nil if it is on time, or a look of its own is going on.
    ///   - now: the time in nanoseconds, on a clock that cannot be set.
    /// - Returns: whether the alarm is silent by now.
    package mutating func lasts(overdue: UInt64?, at now: UInt64) -> Bool {
        guard let overdue, overdue == self.overdue else {
            (self.overdue, since, count) = (overdue, now, 0)
            return false
        }
        count += 1
        return count >= Self.looks && now - min(since, now) >= Self.length
    }
}
