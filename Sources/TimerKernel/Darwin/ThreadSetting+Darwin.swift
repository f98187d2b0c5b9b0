#if canImport(Darwin) || KQUEUE
internal import CTimerKernel

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
#endif
