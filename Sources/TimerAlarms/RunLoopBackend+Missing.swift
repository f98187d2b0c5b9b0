#if !RunLoop
package import TimerKernel

/// The run loop backend of a build without the trait `RunLoop`, which does not link Foundation.
package enum RunLoopBackend {
    /// Why it cannot be used.
    package static var whyUnavailable: String? { "this build of PreciseTimer has the package trait RunLoop disabled" }

    /// Refuses.
    package static func makeAlarm(_ setup: ThreadSetup) throws(TimerError) -> any TimerAlarm {
        throw TimerError(.unavailable, "starting the run loop backend (the package trait RunLoop is disabled)")
    }
}
#endif
