#if canImport(Darwin) || KQUEUE
// What Linux has and a Mac does not, or not yet.

/// The check of the descriptors that a library is about to need. On a Mac the loops of Dispatch and of Foundation need
/// ports of Mach in their place. For libevent nothing is tried.
package enum EventLoopTrial {
    package static func check(_ count: Int = 0, spare: Int = 0) throws(TimerError) {}
}

/// The process's limit on real-time threads: a Mac has none.
package enum RealTimeLimit {
    package static var nanoseconds: UInt64? { nil }

    package static func allows(stretch: UInt64) -> Bool { true }
}

/// The kernel's threads that stand between a timer and a real-time thread: a Mac has none.
package enum RealTimeKernel {
    package static var expiresTimersInThreads: Bool { false }
}

/// A sleep that needs no timer of the kernel: a Mac has no thread that such a timer would wait for.
final class WakeUp: Sendable {
    static func ofThisSystem() throws(TimerError) -> WakeUp? { nil }

    func signal() throws(TimerError) {}
    func wait(_ nanoseconds: UInt64, orFor timer: CInt?) throws(TimerError) {}
}

/// What the kernel says of a thread of this process: nothing yet on a Mac.
struct ThreadState {
    let isRunnable: Bool
    let ran: UInt64

    init?(of thread: some CustomStringConvertible) { nil }

    static var anyIsStopped: Bool { false }
    static var runnableWorkers: [String: UInt64] { [:] }
}

/// A watch for steps of the wall clock and for suspensions. A Mac has none yet: making one throws, so the methods are
/// never called.
package final class WallClockWatch: Sendable {
    /// - Throws: `TimerError`, in any case.
    package init(longestSleep: Duration = .seconds(60)) throws(TimerError) {
        throw TimerError(.unavailable, "watching the wall clock (not on a Mac: only Dispatch follows its steps there)")
    }

    package func start(
        onCheck: @escaping @Sendable (ClockChanges) -> Void,
        onFailure: @escaping @Sendable (TimerError) -> Void
    ) throws(TimerError) {}

    package func stop() {}
}
#endif
