package import TimerKernel

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
