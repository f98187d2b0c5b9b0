#if Libevent
internal import CLibevent

/// An event base of a program that does not care about timers: a coarse clock, cached time, no locks.
@safe
package final class HostEventBase: Sendable {
    package nonisolated(unsafe) let base: OpaquePointer

    package init() {
        guard let base = unsafe event_base_new() else { preconditionFailure("there are descriptors for an event base") }
        unsafe self.base = base
    }

    deinit { unsafe event_base_free(base) }

    /// Runs the loop until no event is left.
    package func dispatch() { _ = unsafe event_base_dispatch(base) }

    /// Runs the loop once, without waiting.
    package func runOnce() { _ = unsafe event_base_loop(base, EVLOOP_NONBLOCK) }
}
#endif
