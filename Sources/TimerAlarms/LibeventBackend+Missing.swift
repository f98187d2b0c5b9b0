#if !Libevent
package import TimerKernel

/// The libevent backend of a build without the package trait `Libevent`.
package enum LibeventBackend {
    /// The reason why it is unavailable.
    package static var whyUnavailable: String? { "this build of PreciseTimer has the package trait Libevent disabled" }

    /// Always throws.
    package static func makeAlarm(_ clock: TimerClock, _ setup: ThreadSetup) throws(TimerError) -> any TimerAlarm {
        throw TimerError(.unavailable, "starting the libevent backend (the package trait Libevent is disabled)")
    }

    /// Always throws.
    package static func makeAlarm(
        attachedTo base: OpaquePointer,
        _ clock: TimerClock
    ) throws(TimerError) -> any TimerAlarm {
        throw TimerError(.unavailable, "attaching to a libevent base (the package trait Libevent is disabled)")
    }
}
#endif
