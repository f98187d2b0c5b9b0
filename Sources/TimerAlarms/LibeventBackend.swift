#if Libevent
package import TimerCore

/// The libevent backend of a build that has it.
package enum LibeventBackend {
    /// Why it cannot be used: it can.
    package static var whyUnavailable: String? { nil }

    /// A new alarm, not started.
    package static func makeAlarm(_ clock: TimerClock) throws(TimerError) -> any TimerAlarm { try LibeventAlarm(clock) }

    /// A new alarm on somebody's event base, not started.
    package static func makeAlarm(
        attachedTo base: OpaquePointer,
        _ clock: TimerClock
    ) throws(TimerError) -> any TimerAlarm {
        try unsafe EventBaseAlarm(base, clock)
    }
}
#endif
