internal import TimerAlarms

/// A timer that runs on time, and the handle by which it is controlled.
///
/// A timer never retains its target. It comes in two forms:
///
/// - **with a target**, it lives until the target is gone or it is cancelled, and the handle may be dropped;
/// - **without**, the handle is the target: keep it, for when it is dropped the timer ends.
///
/// ```swift
/// try PreciseTimer.schedule(.every(.milliseconds(10)), target: controller) { controller, tick in
///     controller.step(missed: tick.missed)
/// }
/// ```
///
/// All members may be used from any thread, and from inside a handler.
public final class PreciseTimer: Sendable {
    let registration: Registration
    /// Whether the timer ends with this handle.
    private let isTarget: Bool

    init(_ registration: Registration, isTarget: Bool) {
        self.registration = registration
        self.isTarget = isTarget
    }

    deinit {
        if isTarget { registration.handleReleased() }
    }

    /// Ends the timer. Returns true to the one call that ended it.
    ///
    /// After it has returned on the thread that delivers, no tick starts any more, not even one that was due at the same
    /// instant; called from another thread, at most the handler that is already running finishes. What the handler had
    /// captured is released before this returns, or when the running handler returns. Never blocks on a handler.
    /// O(log n) for n timers on the service.
    @discardableResult
    public func cancel() -> Bool { registration.end(.cancelled) }

    /// Whether the timer is still to tick, or how it ended. Notices a target that is gone.
    public var state: State { registration.currentState }
}
