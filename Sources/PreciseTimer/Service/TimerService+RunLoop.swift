#if RunLoop
public import Foundation
internal import TimerAlarms
public import TimerKernel

/// A service on a run loop of the host's, in a build with the trait `RunLoop`.
extension TimerService {
    /// Starts a service on a run loop: handlers run on the thread that runs it.
    ///
    /// Call it, and use the service, on any thread. The host runs the loop in that mode and keeps it longer than the
    /// service. A service that is not shut down keeps a run of the loop from returning. Foundation never frees some
    /// hundred bytes of each service.
    ///
    /// - Parameters:
    ///   - loop: the run loop.
    ///   - mode: the mode in which timers tick; `.common` for all modes that the loop counts as common.
    /// - Throws: `TimerError` if no descriptors are left for a mode of the loop, or if the kernel has no
    ///   high-resolution timers (`highres=off`), without which Foundation's timers stand still.
    public convenience init(attachedTo loop: RunLoop, mode: RunLoop.Mode = .default) throws(TimerError) {
        try self.init(alarm: RunLoopAlarm(attachedTo: loop, mode: mode))
    }
}
#endif
