internal import TimerAlarms
@_spi(Engine) internal import TimerCore

/// Everything that a service knows of one timer, in one object: its numbers, its destination and its handler.
///
/// It lives while the timer goes on, a tick of it is on its way, or its handle is held. The service's lock protects
/// everything but two fields. The target is only read. The handler is called by the delivering thread, and released
/// by the thread that says the farewell, when no delivery can run any more. That is why the class is
/// `@unchecked Sendable`.
@safe
class TimerRecord: TimerEntry, @unchecked Sendable {
    /// The fields that few timers need. Made on demand.
    final class Extras {
        /// The timer's name.
        var label: String?
        /// Called with the reason when the timer has ended.
        var onEnd: (@Sendable (PreciseTimer.EndReason) -> Void)?
        /// Called when the running handler has returned and the farewell was said.
        var waiting: [@Sendable () -> Void] = []
        /// Why the backend failed, if that ended the timer.
        var error: TimerError?
        /// The statistics, while they are collected.
        @safe @exclusivity(unchecked) var counts: TickCounts?
    }

    // This order leaves no padding: a million timers are a million records.
    private final let line: UInt32
    /// The destination of the ticks.
    final let destination: Destination
    private final let file: UnsafePointer<UInt8>
    @safe @exclusivity(unchecked) private final var extras: Extras?
    /// The number of delivered ticks.
    @safe @exclusivity(unchecked) final private(set) var ticks: UInt64 = 0
    /// How late the last tick was, in nanoseconds.
    @safe @exclusivity(unchecked) private final var lastLateness: UInt64 = 0
    /// The thread or task that runs the handler.
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

    /// The extras, made if necessary.
    final var onDemand: Extras {
        if let extras { return extras }
        let new = Extras()
        extras = new
        return new
    }

    // MARK: The user's side

    /// The target; nil if it was released. The caller must not release it under a lock: it may be the last reference.
    var target: AnyObject? { nil }

    /// The actor that the handler is isolated to; nil if there is no such actor, or if it is the target
    /// and was released.
    var actor: (any Actor)? { nil }

    /// Whether the handle is the target.
    var handleIsTarget: Bool { false }

    /// Makes the handle the target, in the forms without one. Called once, before a service knows the timer.
    func adopt(_ handle: PreciseTimer) {}

    /// Calls the handler with its target. Returns false, without a call, if the target was released.
    func deliver(_ tick: () -> PreciseTimer.Tick) -> Bool { true }

    /// Calls the handler on its actor. Returns false, without a call, if the target was released.
    func deliver(_ tick: PreciseTimer.Tick, on actor: isolated any Actor) async -> Bool { true }

    /// Releases the handler and its captures.
    func releaseHandler() {}

    // MARK: Facts

    /// The timer's name.
    final var label: String? { extras?.label }

    /// The place in the user's code that scheduled the timer.
    final var callSite: (file: String, line: UInt) { unsafe (String(cString: file), UInt(line)) }

    /// The same, as it is stored.
    final var place: (file: UnsafePointer<UInt8>, line: UInt32) { unsafe (file, line) }

    /// Whether the statistics are collected.
    final var isCounted: Bool { extras.map { $0.counts != nil } ?? false }

    /// The statistics; nil if they are not collected.
    final var numbers: TickCounts.Numbers? { extras?.counts?.numbers }

    /// The reason the timer ends if its target is released.
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

    /// How late the last tick was; nil if there was no tick.
    final var latenessOfLastTick: Duration? { ticks == 0 ? nil : Duration(wholeNanoseconds: lastLateness) }

    /// Counts a tick.
    @inline(__always)
    final func count(_ served: Served) {
        ticks += 1
        lastLateness = served.lateness
        extras?.counts?.count(served)
    }

    /// Counts the time of a handler.
    @inline(__always)
    final func countHandler(_ nanoseconds: UInt64) { extras?.counts?.countHandler(nanoseconds) }

    /// Lets `resume` be called when the running handler has returned and the farewell was said. Returns false, and
    /// forgets it, if no handler is running, or if the caller is inside it. For timers that end.
    final func awaitReturn(_ resume: @escaping @Sendable () -> Void) -> Bool {
        guard runner != .nobody, !runner.isCaller else { return false }
        onDemand.waiting.append(resume)
        return true
    }

    /// The last steps after the timer's end, when no thread can call the handler any more. Called once, outside any
    /// lock. The handler's captures are released before `onEnd` is called.
    final func sayFarewell() {
        releaseHandler()
        guard let extras else { return }
        if let onEnd = extras.onEnd.take(), let endReason { onEnd(endReason) }
        let waiting = extras.waiting
        extras.waiting = []
        for resume in waiting { resume() }
    }
}
