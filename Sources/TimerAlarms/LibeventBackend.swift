#if Libevent
package import TimerKernel

/// The libevent backend of a build with the package trait `Libevent`.
package enum LibeventBackend {
    /// The reason why it is unavailable; nil, since it is available.
    package static var whyUnavailable: String? { nil }

    /// A new alarm, not yet started, whose thread gets these settings.
    package static func makeAlarm(_ clock: TimerClock, _ setup: ThreadSetup) throws(TimerError) -> any TimerAlarm {
        try LibeventAlarm(clock, setup: setup)
    }

    /// A new alarm on an event base of the host, not yet started.
    package static func makeAlarm(
        attachedTo base: OpaquePointer,
        _ clock: TimerClock
    ) throws(TimerError) -> any TimerAlarm {
        try unsafe EventBaseAlarm(base, clock)
    }
}
#endif
