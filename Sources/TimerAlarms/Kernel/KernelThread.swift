internal import CLinuxTimers
internal import Glibc
internal import TimerCore

/// A thread of this process by its kernel id, so that other threads can read its resource usage.
package struct KernelThread: Hashable, Sendable {
    private let number: Int32

    /// The calling thread.
    package static var current: KernelThread { KernelThread(number: thread_id()) }

    /// Whether it is the first thread of the process.
    var isMain: Bool { number == getpid() }

    /// The thread's resource usage up to now, or nil if it has ended.
    ///
    /// Reading the thread's clock makes the kernel update the account of that thread. The account of the whole
    /// process lags by up to one period of the timer interrupt for every running thread. So subtract one from the
    /// other only while this thread sleeps.
    package var usage: ResourceUsage? {
        // The kernel's MAKE_THREAD_CPUCLOCK: the clock of one thread, as counted by the scheduler.
        let clock = clockid_t(~number << 3 | 6)
        var time = timespec()
        guard unsafe clock_gettime(clock, &time) == 0,
            let status = ProcFile.text("/proc/self/task/\(number)/status"),
            let voluntary = Self.number("voluntary_ctxt_switches:", in: status),
            let involuntary = Self.number("nonvoluntary_ctxt_switches:", in: status)
        else { return nil }
        return ResourceUsage(
            cpuNanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec),
            voluntarySwitches: voluntary,
            involuntarySwitches: involuntary
        )
    }

    /// Whether the thread waits or has ended, so that its usage cannot grow until it is woken.
    package var isAsleep: Bool {
        guard let status = ProcFile.text("/proc/self/task/\(number)/status") else { return true }
        return status.split(separator: "\n").contains { $0.hasPrefix("State:\tS") }
    }

    private static func number(_ name: String, in status: String) -> Int64? {
        status.split(separator: "\n").first { $0.hasPrefix(name) }
            .flatMap { Int64($0.dropFirst(name.count).drop { $0 == "\t" || $0 == " " }) }
    }
}
