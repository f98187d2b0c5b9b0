// The build order decides which module declares `sched_param`, so both are imported.
internal import CTimerKernel
internal import Dispatch
internal import Glibc
internal import Synchronization
internal import SystemPackage

/// The rights of this process that an ordinary user does not have (capabilities(7)).
package struct Capabilities: Hashable, Sendable {
    /// One right, by its number in the kernel.
    package enum Right: Int, Sendable {
        /// CAP_IPC_LOCK: to lock memory without a limit.
        case lockMemory = 14
        /// CAP_SYS_NICE: to choose any scheduling policy and priority.
        case setPriority = 23
    }

    private let effective: UInt64

    /// The rights that the kernel looks at; nil if it does not show them.
    package static var current: Capabilities? {
        ProcFile.text("/proc/self/status").flatMap { Capabilities(status: $0) }
    }

    /// Reads the text of /proc/self/status: the line `CapEff` has one bit for each right (proc_pid_status(5)).
    package init?(status: String) {
        let words = status.split(separator: "\n").first { $0.hasPrefix("CapEff:") }?.split { $0 == "\t" || $0 == " " }
        guard let words, words.count == 2, let effective = UInt64(words[1], radix: 16) else { return nil }
        self.effective = effective
    }

    /// Whether the process has a right.
    package func has(_ right: Right) -> Bool { effective & 1 << right.rawValue != 0 }
}

/// Real-time scheduling policies.
package enum RealTime {
    /// Whether the system lets a thread of this process have such a policy: a thread of its own tries it. It takes
    /// root, CAP_SYS_NICE or a limit above zero for RLIMIT_RTPRIO (sched(7)).
    package static let isAllowed: Bool = {
        let (isAllowed, hasTried) = (Outcome(), DispatchSemaphore(value: 0))
        let thread = try? KernelThread.start("try.realtime") {
            var parameters = sched_param()
            parameters.sched_priority = 1
            isAllowed.value.store(unsafe sched_setscheduler(0, SCHED_FIFO, &parameters) == 0, ordering: .relaxed)
            hasTried.signal()
        }
        guard thread != nil else { return false }
        hasTried.wait()
        return isAllowed.value.load(ordering: .relaxed)
    }()

    private final class Outcome: Sendable {
        /// Relaxed: the semaphore orders the thread's store before the caller's load.
        let value = Atomic(false)
    }
}

/// Limits of this process (getrlimit(2)).
package enum ResourceLimit: Sendable {
    /// RLIMIT_RTPRIO: the highest real-time priority.
    case realTimePriority
    /// RLIMIT_MEMLOCK: bytes of memory that the process may lock.
    case lockedMemory

    /// The limit that counts now, and `UInt64.max` for no limit; nil if the kernel does not say.
    package var current: UInt64? {
        var limit = rlimit()
        let resource = self == .realTimePriority ? __RLIMIT_RTPRIO : __RLIMIT_MEMLOCK
        guard unsafe getrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0 else { return nil }
        // RLIM_INFINITY has all bits set, whatever the width of the type.
        return limit.rlim_cur == rlim_t.max ? .max : UInt64(limit.rlim_cur)
    }
}

/// The descriptors that this process may still open.
package enum Descriptors {
    /// Opens some descriptors and closes them again, for a library that ends the process if it cannot open its own.
    ///
    /// Another thread may take the descriptors after this check, so the library may still end the process.
    ///
    /// - Parameters:
    ///   - count: the number of descriptors that the library needs.
    ///   - attempted: the purpose, for the error.
    /// - Throws: `SystemError` if that many cannot be opened.
    package static func check(_ count: Int, for attempted: String) throws(SystemError) {
        var opened: [FileDescriptor] = []
        defer { for descriptor in opened { try? descriptor.close() } }
        for _ in 0..<count {
            opened.append(
                try SystemError.attempting(attempted) {
                    try .open(FilePath("/dev/null"), .readOnly, options: .closeOnExec)
                }
            )
        }
    }
}
