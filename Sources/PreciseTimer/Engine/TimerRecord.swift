internal import TimerAlarms
@_spi(Engine) internal import TimerCore

/// All that a service knows of one timer, in one object: its numbers, where its ticks go, and what is called there.
///
/// It lives as long as the timer goes on, a tick of it is on its way, or its handle is held. The service's lock protects
/// it. Two things are touched without the lock: the target, which is only read, and the handler, which is called by who
/// delivers and released by who says the ``Farewell``, when nobody delivers any more. That is why it is
/// `@unchecked Sendable`.
@safe
class TimerRecord: TimerEntry, @unchecked Sendable {
    /// What few timers have. Made on demand.
    final class Extras {
        /// The timer's name.
        var label: String?
        /// Whom its ending is told.
        var onEnd: (@Sendable (PreciseTimer.EndReason) -> Void)?
        /// What to do when the running handler has returned.
        var waiting: [@Sendable () -> Void] = []
        /// Why the backend failed, if that ended the timer.
        var error: TimerError?
    }

    // In this order there are no holes: a million timers are a million records.
    private final let line: UInt32
    /// Where the ticks go.
    final let destination: Destination
    private final let file: UnsafePointer<UInt8>
    @safe @exclusivity(unchecked) private final var extras: Extras?
    /// How many ticks there were.
    @safe @exclusivity(unchecked) final private(set) var ticks: UInt64 = 0
    /// How late the last of them was, in nanoseconds.
    @safe @exclusivity(unchecked) private final var lastLateness: UInt64 = 0
    /// Who runs the handler.
    @safe @exclusivity(unchecked) final var runner = Runner.nobody

    init(_ request: borrowing TimerRequest, _ destination: Destination) {
        self.destination = destination
        unsafe file = request.file
        line = UInt32(clamping: request.line)
        super.init()
        setRules(policy: request.policy, tolerance: request.tolerance, isPaused: request.isPaused)
        guard request.label != nil || request.onEnd != nil else { return }
        onDemand.label = request.label
        onDemand.onEnd = request.onEnd
    }

    /// The extras, for something to be noted there.
    final var onDemand: Extras {
        if let extras { return extras }
        let new = Extras()
        extras = new
        return new
    }

    // MARK: The user's side

    /// The target, while it exists. Not to be released under a lock: it may be the last reference.
    var target: AnyObject? { nil }

    /// The actor that the handler is isolated to; nil if there is none, or it is the target and gone.
    var actor: (any Actor)? { nil }

    /// Whether the handle is the target.
    var handleIsTarget: Bool { false }

    /// Takes the handle as the target. Called once, before a service knows of the timer.
    func adopt(_ handle: PreciseTimer) {}

    /// Calls the handler with its target. Returns false, without a call, if the target is gone.
    func deliver(_ tick: PreciseTimer.Tick) -> Bool { true }

    /// Calls the handler on its actor. Returns false, without a call, if the target is gone.
    func deliver(_ tick: PreciseTimer.Tick, on actor: isolated any Actor) async -> Bool { true }

    /// Releases the handler, with what it captured.
    func releaseHandler() {}

    // MARK: What is known

    /// The timer's name.
    final var label: String? { extras?.label }

    /// Where in the user's code it was scheduled.
    final var callSite: (file: String, line: UInt) { unsafe (String(cString: file), UInt(line)) }

    /// Why the timer ends if its target is gone.
    final var endingIfTargetIsGone: Ending { handleIsTarget ? .handleReleased : .targetReleased }

    /// How the timer ended; nil if it goes on.
    final var endReason: PreciseTimer.EndReason? {
        switch ending {
        case .goesOn: nil
        case .completed: .completed
        case .cancelled: .cancelled
        case .targetReleased: .targetReleased
        case .handleReleased: .handleReleased
        case .serviceShutDown: .serviceShutDown
        case .backendFailed: .backendFailed(extras?.error ?? TimerError(.backendFailed, "running a service"))
        }
    }

    /// How late its last tick was; nil if it had none.
    final var latenessOfLastTick: Duration? { ticks == 0 ? nil : Duration(wholeNanoseconds: lastLateness) }

    /// Counts a tick.
    final func count(_ lateness: UInt64) {
        ticks += 1
        lastLateness = lateness
    }

    /// Does what is left to do when the timer has ended and nobody can call the handler any more, outside of any lock.
    /// Called once. Whoever hears of the end finds released what the handler had captured.
    final func sayFarewell() {
        releaseHandler()
        guard let extras else { return }
        if let onEnd = extras.onEnd.take(), let endReason { onEnd(endReason) }
        let waiting = extras.waiting
        extras.waiting = []
        for resume in waiting { resume() }
    }
}
