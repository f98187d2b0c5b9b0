internal import CTimerKernel
internal import Dispatch
internal import Glibc
internal import Synchronization
internal import TimerKernel

/// A thread of this process, by the kernel's number. Any thread can read its account.
package struct KernelThread: Hashable, Sendable {
    private let number: Int32
    /// The number in /proc, which differs if /proc is that of another process namespace; nil if it is not shown there.
    let listedNumber: Int32?

    /// The calling thread.
    package static var current: KernelThread {
        KernelThread(number: thread_id(), listedNumber: ThreadList.callingThread.flatMap { Int32($0) })
    }

    /// Starts a detached thread as ``TimerKernel/Thread/start(_:_:)`` does, and returns once it runs. Throws
    /// `SystemError` if the system refuses the thread.
    @discardableResult package static func start(
        _ name: String,
        _ body: @escaping @Sendable () -> Void
    ) throws(SystemError) -> KernelThread {
        let (thread, hasBegun) = (Lock(current), DispatchSemaphore(value: 0))
        do throws(TimerError) {
            try Thread.start(name) {
                thread.withLock { $0 = current }
                hasBegun.signal()
                body()
            }
        } catch {
            throw SystemError(error.attempted, Errno(error.errno ?? 0))
        }
        hasBegun.wait()
        return thread.withLock(\.self)
    }

    /// The kernel's account of the thread up to now; nil once the thread has ended, or if the kernel does not show it.
    ///
    /// Reading the thread's clock makes the kernel bring this account up to date. The account of the whole process
    /// lags behind by up to a timer interrupt's period for each running thread: subtract one from the other only
    /// while this thread sleeps.
    package var usage: ResourceUsage? {
        // MAKE_THREAD_CPUCLOCK of the kernel: the clock of one thread, as the scheduler has counted it.
        let clock = clockid_t(~number << 3 | 6)
        var time = timespec()
        guard unsafe clock_gettime(clock, &time) == 0,
            let voluntary = status("voluntary_ctxt_switches:").flatMap({ Int64($0) }),
            let involuntary = status("nonvoluntary_ctxt_switches:").flatMap({ Int64($0) })
        else { return nil }
        return ResourceUsage(
            cpuNanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec),
            voluntarySwitches: voluntary,
            involuntarySwitches: involuntary
        )
    }

    /// Whether the thread waits for something, or has ended. Its account does not change until it is woken.
    package var isAsleep: Bool { status("State:").map { $0.hasPrefix("S") } ?? true }

    /// A field of the thread's status file (proc_pid_status(5)).
    private func status(_ name: String) -> Substring? {
        listedNumber.flatMap { ProcFile.text("/proc/self/task/\($0)/status") }?.split(separator: "\n")
            .first { $0.hasPrefix(name) }
            .map { $0.dropFirst(name.count).drop { $0 == "\t" || $0 == " " } }
    }
}

/// Tells a thread or a timer to end.
package final class StopFlag: Sendable {
    /// Releasing and acquiring: a thread that sees it set also sees what the setter has done before.
    private let flag = Atomic(false)

    package init() {}

    package var isSet: Bool { flag.load(ordering: .acquiring) }

    package func set() { flag.store(true, ordering: .releasing) }
}
