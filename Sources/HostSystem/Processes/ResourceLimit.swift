internal import CLinuxTimers
internal import Glibc

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
