internal import CLinuxTimers
internal import Glibc
internal import TimerCore

/// A thread of this process as the kernel numbers it, for reading from outside what it is billed.
package struct KernelThread: Hashable, Sendable {
    private let number: Int32

    /// The calling thread.
    package static var current: KernelThread { KernelThread(number: thread_id()) }

    /// Whether it is the thread that the process began with.
    var isMain: Bool { number == getpid() }

    /// What the kernel has billed to the thread up to now; nil once it has ended.
    ///
    /// Reading its clock has the kernel bring its account up to date. That of the whole process lags behind by up to a
    /// timer interrupt's period for every thread that is running: take one from the other only while this thread sleeps.
    package var usage: ResourceUsage? {
        // MAKE_THREAD_CPUCLOCK of the kernel: a clock of one thread, and of what the scheduler has counted.
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

    /// Whether the thread waits for something, or has ended: it is billed for nothing more until it is woken.
    package var isAsleep: Bool {
        guard let status = ProcFile.text("/proc/self/task/\(number)/status") else { return true }
        return status.split(separator: "\n").contains { $0.hasPrefix("State:\tS") }
    }

    private static func number(_ name: String, in status: String) -> Int64? {
        status.split(separator: "\n").first { $0.hasPrefix(name) }
            .flatMap { Int64($0.dropFirst(name.count).drop { $0 == "\t" || $0 == " " }) }
    }
}
