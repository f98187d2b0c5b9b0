// Which module has `timeval` depends on which one the compiler builds first.
internal import CLinuxTimers
internal import Glibc

#if Libevent
internal import CLibevent
#endif

/// What the kernel has billed to the process, or to one thread of it.
package struct ResourceUsage: Hashable, Sendable {
    /// Time on a processor, in user mode and in the kernel.
    package var cpuNanoseconds: Int64
    /// How often a thread gave up its processor to wait: each is followed by one wake-up.
    package var voluntarySwitches: Int64
    /// How often a thread was taken off its processor.
    package var involuntarySwitches: Int64

    package init(cpuNanoseconds: Int64, voluntarySwitches: Int64, involuntarySwitches: Int64) {
        self.cpuNanoseconds = cpuNanoseconds
        self.voluntarySwitches = voluntarySwitches
        self.involuntarySwitches = involuntarySwitches
    }

    /// All threads, those that have ended included.
    package static var ofAllThreads: ResourceUsage { ResourceUsage(of: wholeProcess) }

    /// All threads but the calling one, those that have ended included: what the caller does itself, as waiting or
    /// showing progress, is not in it.
    package static var ofOtherThreads: ResourceUsage {
        ResourceUsage(of: wholeProcess) - ResourceUsage(of: callingThread)
    }

    /// The kernel's RUSAGE_SELF and RUSAGE_THREAD; Glibc shows the second one to GNU sources only, and both of them to
    /// Swift as a type that its own function does not take.
    private static let wholeProcess: CInt = 0
    private static let callingThread: CInt = 1

    private init(of who: CInt) {
        var usage = rusage()
        unsafe getrusage(who, &usage)
        self.init(usage)
    }

    /// As the kernel tells it.
    init(_ usage: rusage) {
        cpuNanoseconds = Self.nanoseconds(usage.ru_utime) + Self.nanoseconds(usage.ru_stime)
        voluntarySwitches = Int64(usage.ru_nvcsw)
        involuntarySwitches = Int64(usage.ru_nivcsw)
    }

    private static func nanoseconds(_ time: timeval) -> Int64 {
        Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_usec) * 1000
    }

    /// Nothing.
    package static var none: ResourceUsage {
        ResourceUsage(cpuNanoseconds: 0, voluntarySwitches: 0, involuntarySwitches: 0)
    }

    /// What was billed to both.
    package static func + (left: ResourceUsage, right: ResourceUsage) -> ResourceUsage {
        ResourceUsage(
            cpuNanoseconds: left.cpuNanoseconds + right.cpuNanoseconds,
            voluntarySwitches: left.voluntarySwitches + right.voluntarySwitches,
            involuntarySwitches: left.involuntarySwitches + right.involuntarySwitches
        )
    }

    /// What was billed between two readings.
    package static func - (later: ResourceUsage, earlier: ResourceUsage) -> ResourceUsage {
        ResourceUsage(
            cpuNanoseconds: later.cpuNanoseconds - earlier.cpuNanoseconds,
            voluntarySwitches: later.voluntarySwitches - earlier.voluntarySwitches,
            involuntarySwitches: later.involuntarySwitches - earlier.involuntarySwitches
        )
    }
}
