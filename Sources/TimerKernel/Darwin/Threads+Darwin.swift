#if canImport(Darwin) || KQUEUE
internal import CTimerKernel

/// The part of a ``Mutex`` that differs from system to system. A Mac has no lock of the kernel that lends priorities
/// but the one in a pthread mutex.
@safe struct SystemLock: ~Copyable, Sendable {
    // Allocated before the first use and freed after the last one.
    private nonisolated(unsafe) let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    init() {
        unsafe mutex.initialize(to: pthread_mutex_t())
        var attributes = pthread_mutexattr_t()
        unsafe pthread_mutexattr_init(&attributes)
        unsafe pthread_mutexattr_settype(&attributes, CInt(PTHREAD_MUTEX_ERRORCHECK))
        unsafe pthread_mutexattr_setprotocol(&attributes, CInt(PTHREAD_PRIO_INHERIT))
        let failure = unsafe pthread_mutex_init(mutex, &attributes)
        unsafe pthread_mutexattr_destroy(&attributes)
        precondition(failure == 0, "this system has no priority-inheriting mutexes (errno \(failure))")
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    /// Takes the lock if it is free.
    func claim() -> Bool { unsafe pthread_mutex_trylock(mutex) == 0 }

    /// Takes a lock that ``claim()`` has found taken.
    func wait() {
        if unsafe pthread_mutex_lock(mutex) != 0 { fatalError("a lock is taken twice on one thread") }
    }

    func release() { unsafe pthread_mutex_unlock(mutex) }
}

/// A Mac has quality-of-service classes in place of these settings, and the threads of services have the highest one.
/// So each is refused, except for a deadline.
extension ThreadSetting {
    package static func affinity(_ processors: Set<Int>) -> ThreadSetting {
        let names = processors.sorted().map(String.init)
        let attempt = "restricting a thread to the processors \(names.joined(separator: ", "))"
        return missing("affinity", names.joined(separator: ","), attempt)
    }

    package static func timerSlack(_ nanoseconds: UInt64) -> ThreadSetting {
        missing("timer slack", "\(nanoseconds) ns", "setting a thread's timer slack to \(nanoseconds) ns")
    }

    package static func slice(microseconds: UInt64) -> ThreadSetting {
        missing("slice", "\(microseconds) µs", "giving a thread a slice of \(microseconds) µs")
    }

    package static func fifo(_ priority: Int) -> ThreadSetting {
        missing("policy", "fifo:\(priority)", "making a thread real-time (SCHED_FIFO, priority \(priority))")
    }

    package static func roundRobin(_ priority: Int) -> ThreadSetting {
        missing("policy", "rr:\(priority)", "making a thread real-time (SCHED_RR, priority \(priority))")
    }

    /// A time constraint: the thread may run for the runtime in each period, before the deadline, and before all
    /// threads with a quality of service. In nanoseconds. The kernel refuses a runtime outside of 50 µs to 50 ms.
    package static func deadline(runtime: UInt64, deadline: UInt64, period: UInt64) -> ThreadSetting {
        ThreadSetting(
            name: "policy",
            asked: "deadline:\(runtime):\(deadline):\(period) ns",
            attempt: "making a thread real-time (a time constraint)",
            advice: { _ in "Ask for 50 µs to 50 ms of runtime, and for a deadline and a period of up to 4 s." },
            make: { () throws(Errno) in
                let failure = thread_deadline_set(runtime, deadline, period)
                if failure != 0 { throw Errno(failure) }
                return nil
            }
        )
    }

    package static let lockedMemory = missing("locked memory", "yes", "locking the process's memory", isOfProcess: true)

    package static func idleLatency(microseconds: Int32) -> ThreadSetting {
        let attempt = "limiting the idle latency to \(microseconds) µs"
        return missing("idle latency", "\(microseconds) µs", attempt, isOfProcess: true)
    }

    private static func missing(
        _ name: String,
        _ asked: String,
        _ attempt: String,
        isOfProcess: Bool = false
    ) -> ThreadSetting {
        ThreadSetting(
            name: name,
            asked: asked,
            attempt: attempt,
            advice: { _ in "A Mac does not have it: its services run with the quality of service .userInteractive." },
            make: { () throws(Errno) in throw Errno(ENOTSUP) },
            isOfProcess: isOfProcess
        )
    }
}

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

/// Asks the kernel for the states of this process's threads. On a Mac they are not known yet.
package final class ThreadList: Sendable {
    package init() {}

    package static var callingThread: String? { nil }

    package func keep() {}

    func file(of thread: String) -> ThreadFile? { nil }

    package var states: ThreadStates { ThreadStates(isComplete: false) }
}

/// The kept file of a thread's state: a Mac has none.
final class ThreadFile: Sendable {
    var state: ThreadState? { nil }
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
