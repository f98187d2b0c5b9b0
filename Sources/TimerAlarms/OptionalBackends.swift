package import TimerKernel

/// The libevent backend, if the package trait `Libevent` is enabled.
package enum LibeventBackend {
    #if Libevent
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
    #else
    package static var whyUnavailable: String? { "this build of PreciseTimer has the package trait Libevent disabled" }

    package static func makeAlarm(_ clock: TimerClock, _ setup: ThreadSetup) throws(TimerError) -> any TimerAlarm {
        throw TimerError(.unavailable, "starting the libevent backend (the package trait Libevent is disabled)")
    }

    package static func makeAlarm(
        attachedTo base: OpaquePointer,
        _ clock: TimerClock
    ) throws(TimerError) -> any TimerAlarm {
        throw TimerError(.unavailable, "attaching to a libevent base (the package trait Libevent is disabled)")
    }
    #endif
}

/// The run loop backend, if the package trait `RunLoop` is enabled: without it, the library does not link Foundation.
package enum RunLoopBackend {
    #if RunLoop
    /// The reason why it is unavailable; nil, since it is available.
    package static var whyUnavailable: String? { nil }

    /// A new alarm, not started, whose thread gets these settings.
    package static func makeAlarm(_ setup: ThreadSetup) throws(TimerError) -> any TimerAlarm {
        RunLoopAlarm(setup: setup)
    }
    #else
    package static var whyUnavailable: String? { "this build of PreciseTimer has the package trait RunLoop disabled" }

    package static func makeAlarm(_ setup: ThreadSetup) throws(TimerError) -> any TimerAlarm {
        throw TimerError(.unavailable, "starting the run loop backend (the package trait RunLoop is disabled)")
    }
    #endif
}
