#if Libevent
internal import CLibevent
internal import Synchronization
internal import TimerCore

/// Making event bases for threads.
enum LibeventBase {
    /// libevent's locks have to be chosen before the first base exists.
    private static let usesThreads = evthread_use_pthreads() == 0

    /// A new base with some flags, which the caller frees.
    static func make(_ flags: [event_base_config_flag]) throws(TimerError) -> OpaquePointer {
        guard usesThreads else { throw TimerError(.unavailable, "preparing libevent for threads") }
        guard let configuration = unsafe event_config_new() else {
            throw TimerError(.systemRefused, "configuring libevent")
        }
        defer { unsafe event_config_free(configuration) }
        // An epoll, a timer and an event descriptor, and a pair of sockets, without which libevent ends the process.
        try SpareDescriptors.check(6)
        // Only epoll has the precise timer: to fall back to another method would be to lose it in silence.
        for method in ["poll", "select"] { unsafe event_config_avoid_method(configuration, method) }
        for flag in flags { unsafe event_config_set_flag(configuration, CInt(flag.rawValue)) }
        guard let base = unsafe event_base_new_with_config(configuration) else {
            throw TimerError(.systemRefused, "creating a libevent base (it needs descriptors)")
        }
        return unsafe base
    }
}
#endif
