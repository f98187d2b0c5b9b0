#if Libevent
internal import CLibevent
internal import Synchronization
internal import TimerKernel

/// Creates event bases that several threads may use.
enum LibeventBase {
    /// libevent's locks must be chosen before the first base exists.
    private static let usesThreads = evthread_use_pthreads() == 0

    /// A new base with these flags, which the caller must free.
    static func make(_ flags: [event_base_config_flag]) throws(TimerError) -> OpaquePointer {
        guard usesThreads else { throw TimerError(.unavailable, "preparing libevent for threads") }
        guard let configuration = unsafe event_config_new() else {
            throw TimerError(.systemRefused, "configuring libevent")
        }
        defer { unsafe event_config_free(configuration) }
        // libevent ends the process unless it gets an epoll, a timer, an event descriptor and a pair of sockets.
        try SpareDescriptors.check(6)
        // Only epoll offers the precise timer, and libevent would fall back to another method silently.
        for method in ["poll", "select"] { unsafe event_config_avoid_method(configuration, method) }
        for flag in flags { unsafe event_config_set_flag(configuration, CInt(flag.rawValue)) }
        guard let base = unsafe event_base_new_with_config(configuration) else {
            throw TimerError(.systemRefused, "creating a libevent base (it needs descriptors)")
        }
        return unsafe base
    }
}
#endif
