internal import CTimerKernel
internal import Glibc
internal import TimerKernel

/// A right that an ordinary user does not have, by its number in the kernel (capabilities(7)).
enum Capability: Int, Sendable {
    /// CAP_IPC_LOCK: to lock memory without a limit.
    case lockMemory = 14
    /// CAP_SYS_NICE: to choose any scheduling policy and priority.
    case setPriority = 23

    /// Whether this process has the right; nil if the kernel does not say.
    var isHeld: Bool? { ProcFile.text("/proc/self/status").flatMap { isHeld(in: $0) } }

    /// Reads the text of /proc/self/status: the line `CapEff` has one bit for each right (proc_pid_status(5)).
    func isHeld(in status: String) -> Bool? {
        let words = status.split(separator: "\n").first { $0.hasPrefix("CapEff:") }?.split { $0 == "\t" || $0 == " " }
        guard let words, words.count == 2, let effective = UInt64(words[1], radix: 16) else { return nil }
        return effective & 1 << rawValue != 0
    }
}

/// Real-time scheduling policies.
enum RealTime {
    /// Whether the system lets a thread of this process have such a policy: a thread of its own tries it. It takes
    /// root, CAP_SYS_NICE or a limit above zero for RLIMIT_RTPRIO (sched(7)). Nil if there is no thread to try it.
    static let isAllowed: Bool? = {
        let setup = ThreadSetup([.fifo(1)])
        guard (try? setup.startThread("try.realtime") {}) != nil else { return nil }
        return setup.outcomes.values.allSatisfy { $0.refusal == nil }
    }()
}

/// Limits of this process (getrlimit(2)).
enum ResourceLimit: Sendable {
    /// RLIMIT_RTPRIO: the highest real-time priority.
    case realTimePriority
    /// RLIMIT_MEMLOCK: bytes of memory that the process may lock.
    case lockedMemory

    /// The limit that counts now, and `UInt64.max` for no limit; nil if the kernel does not say.
    var current: UInt64? {
        var limit = rlimit()
        let resource = self == .realTimePriority ? __RLIMIT_RTPRIO : __RLIMIT_MEMLOCK
        guard unsafe getrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0 else { return nil }
        // RLIM_INFINITY has all bits set, whatever the width of the type.
        return limit.rlim_cur == rlim_t.max ? .max : UInt64(limit.rlim_cur)
    }
}

/// How the system schedules a thread (sched(7)).
enum SchedulingPolicy {
    /// In a word, that of the calling thread.
    static var ofCallingThread: String {
        var parameters = sched_param()
        unsafe sched_getparam(0, &parameters)
        // Without SCHED_RESET_ON_FORK.
        let (number, priority) = (Int(sched_getscheduler(0) & 0xff), parameters.sched_priority)
        let names = ["ordinary", "fifo:\(priority)", "rr:\(priority)", "batch", "", "idle", "deadline"]
        return names.indices.contains(number) ? names[number] : "of number \(number)"
    }
}
