/// Decides when a real-time thread that is behind must sleep once, before the process's limit on such threads ends the
/// process (``RealTimeLimit``). A pure value but for its beginning; lengths are in nanoseconds of processor time.
package struct RealTimeRest: Sendable {
    /// The processor time without a sleep after which one is due: half of the limit, since a handler needs the rest.
    private let stretch: UInt64
    private var sleeps: Int?
    /// The processor time at the last sleep.
    private var ran: UInt64 = 0

    /// For the calling thread; nil if it has no real-time policy, or the process no limit.
    init?() {
        guard !RealTimeLimit.allows(stretch: .max), let limit = RealTimeLimit.nanoseconds else { return nil }
        self.init(limit: limit)
    }

    package init(limit: UInt64) { stretch = limit / 2 }

    /// Decides whether the thread must sleep now.
    ///
    /// - Parameters:
    ///   - ran: the processor time that the thread has used so far; nil if the system does not tell.
    ///   - sleeps: how many times it has slept so far; nil if the system does not tell.
    /// - Returns: whether it must sleep; always true if the system does not tell.
    package mutating func isDue(ran: UInt64?, sleeps: Int?) -> Bool {
        guard let ran, let sleeps else { return true }
        if sleeps != self.sleeps { (self.sleeps, self.ran) = (sleeps, ran) }
        return ran - min(self.ran, ran) >= stretch
    }
}
