#if RunLoop
package import TimerKernel

/// The run loop backend of a build with the trait `RunLoop`.
package enum RunLoopBackend {
    /// Nil: it can be used.
    package static var whyUnavailable: String? { nil }

    /// A new alarm, not started, whose thread gets these settings.
    package static func makeAlarm(_ setup: ThreadSetup) throws(TimerError) -> any TimerAlarm {
        RunLoopAlarm(setup: setup)
    }
}
#endif
