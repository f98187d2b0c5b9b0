/// How a thread waits for a lock that another thread holds. A pure value: it tells the next step, and knows no lock.
package struct Backoff {
    /// What the thread does before it tries again.
    package enum Step: Hashable, Sendable {
        /// Pause the processor this many times.
        case pause(Int)
        /// Give the processor to another thread.
        case yield
        /// Let the kernel wait for the lock.
        case wait
    }

    // A pause takes some tens of nanoseconds. The first pauses together take as long as several critical sections.
    // With shorter pauses, two threads that took the lock by turns did half as much work together as one thread alone,
    // because the memory that it protects moved back and forth between their processors.
    private static var firstPauses: Int { 64 }
    private static var lastPauses: Int { 256 }

    /// How many rounds of pauses remain.
    private var rounds = 4
    private var pauses = Self.firstPauses

    package init() {}

    /// Decides on the next step.
    ///
    /// - Parameter isRealTime: whether the thread has a real-time policy. Such a thread never yields. With
    ///   SCHED_DEADLINE that would give away the rest of its period (sched_yield(2)), and with SCHED_FIFO only threads
    ///   of the same priority would run. Asked once for each round.
    /// - Returns: the step. After ``Step/wait`` there is no other.
    package mutating func next(_ isRealTime: @autoclosure () -> Bool) -> Step {
        while rounds > 0 {
            if pauses <= Self.lastPauses {
                defer { pauses *= 2 }
                return .pause(pauses)
            }
            (rounds, pauses) = (rounds - 1, Self.firstPauses)
            if !isRealTime() { return .yield }
        }
        return .wait
    }
}
