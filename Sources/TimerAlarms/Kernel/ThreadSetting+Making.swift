internal import CLinuxTimers
internal import Glibc

/// The system calls of the settings. Each returns the kernel's refusal, or nil.
extension ThreadSetting {
    /// Makes the setting, for the calling thread or for the process.
    func make() -> Errno? {
        switch self {
        case .affinity: setAffinity()
        case .timerSlack(let nanoseconds): Self.refusal { timer_slack_set(UInt(nanoseconds)) }
        case .policy(let policy): policy.make()
        case .lockedMemory: Self.refusal { memory_lock() }
        case .idleLatency: preconditionFailure("a file keeps the latency")
        }
    }

    /// The kernel's mask of the processors; nil for other settings.
    var mask: [UInt]? {
        guard case .affinity(let processors) = self else { return nil }
        var words = [UInt](repeating: 0, count: (processors.max() ?? 0) / UInt.bitWidth + 1)
        for processor in processors { words[processor / UInt.bitWidth] |= 1 << UInt(processor % UInt.bitWidth) }
        return words
    }

    private func setAffinity() -> Errno? {
        let (before, wanted) = (Self.present, mask ?? [])
        if let refusal = Self.set(wanted) { return refusal }
        // The kernel drops the processors that do not exist or are not allowed, and sets the rest.
        if Self.present.starts(with: wanted) { return nil }
        _ = Self.set(before)
        return Errno(EINVAL)
    }

    private static func set(_ mask: [UInt]) -> Errno? {
        refusal { unsafe thread_affinity_set(mask, UInt(mask.count * MemoryLayout<UInt>.size)) }
    }

    /// The calling thread's mask of processors, with room for all that the kernel could have.
    private static var present: [UInt] {
        var mask = [UInt](repeating: 0, count: 1024)
        _ = unsafe thread_affinity(&mask, UInt(mask.count * MemoryLayout<UInt>.size))
        return mask
    }

    fileprivate static func refusal(_ call: () -> CInt) -> Errno? {
        if case .failure(let errno) = SystemCall.retrying(call) { errno } else { nil }
    }
}

extension ThreadSetting.Policy {
    /// Threads that the thread creates later get the ordinary policy (SCHED_FLAG_RESET_ON_FORK of
    /// sched_setattr(2)).
    fileprivate func make() -> Errno? {
        ThreadSetting.refusal {
            switch self {
            case .fifo(let priority): thread_policy_set(CInt(SCHED_FIFO), UInt32(priority), 0, 0, 0)
            case .roundRobin(let priority): thread_policy_set(CInt(SCHED_RR), UInt32(priority), 0, 0, 0)
            case .deadline(let runtime, let deadline, let period):
                thread_policy_set(CInt(SCHED_DEADLINE), 0, runtime, deadline, period)
            }
        }
    }
}
