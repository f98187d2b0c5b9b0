#if os(Linux)
internal import Glibc

/// A function that a preloaded library has, or that Glibc hides from Swift; nil if there is none. Integers are passed
/// to variable arguments as to any others.
package func function<Function>(_ name: String, as type: Function.Type) -> Function? {
    unsafe dlsym(nil, name).map { unsafe unsafeBitCast($0, to: type) }
}

/// Limits of the process that the kernel keeps, by its numbers, of which Glibc shows only some to Swift.
package enum Limit: UInt32 {
    case fileSize = 1
    case processes = 6
    /// Before all descriptors are refused, a test calls `DispatchDescriptors.open()`: Dispatch ends the process if it
    /// cannot open its own.
    case descriptors = 7
    case lockedMemory = 8
    case realTimePriority = 14
    /// Processor time of a real-time thread without a sleep, in microseconds.
    case realTime = 15

    /// Sets the limit, but not above that for unprivileged processes.
    package func set(_ soft: UInt64) {
        let number = __rlimit_resource_t(rawValue)
        var limit = rlimit()
        _ = unsafe getrlimit(number, &limit)
        limit.rlim_cur = min(rlim_t(soft), limit.rlim_max)
        _ = unsafe setrlimit(number, &limit)
    }
}
#endif
