internal import Synchronization
internal import TimerAlarms
internal import TimerKernel

/// The one object of a timer. It lives while the timer goes on, a tick of it is on its way, or its handle is held.
typealias Record = TimerRecord<UserSide>

/// The user's side of a timer: whose it is, what is called, and where.
///
/// The service's lock protects everything but two fields. The target is only read. The handler is called by the
/// delivering thread, and released by the thread that says the farewell, when no delivery can run any more. That thread
/// also takes what the ``Extras`` have for it. So nobody may copy the whole.
@safe struct UserSide: UserFacts, ~Copyable {
    /// What few timers need.
    struct Extras: UserExtras {
        /// The timer's name.
        var label: String?
        /// Called with the reason when the timer has ended.
        var onEnd: (@Sendable (PreciseTimer.EndReason) -> Void)?
        /// Whether the user is told of the end. The library may have its own use for ``onEnd``.
        var tellsEnd = false
        /// Those who wait for the return of the last handler.
        var waiting: [HandlerWait] = []
        /// The error that ended the timer, of its handler or its backend.
        var error: (any Error)?
        /// The statistics, while they are collected.
        var counts: TickCounts?
        /// The present deadlines, if a rule computes them.
        var chain: DeadlineChain?
    }

    // This order leaves no padding: a million timers are a million records.
    /// The destination of the ticks.
    let destination: Destination
    /// Whether the target is the timer's handle.
    let handleIsTarget: Bool
    /// Whether a rule may compute the deadlines, because the ticks are intercepted.
    fileprivate(set) var isComputed = false
    /// Whether somebody waits for the return of the last handler.
    fileprivate var isAwaited = false
    fileprivate let line: UInt32
    fileprivate let file: UnsafePointer<UInt8>
    /// The target; nil if it was released. It must not be released under a lock: this may be the last reference.
    fileprivate(set) weak var target: AnyObject?
    fileprivate var handler: Handler?
    /// The number of delivered ticks.
    var ticks: UInt64 = 0
    /// How late the last tick was, in nanoseconds.
    var lastLateness: UInt64 = 0
    /// The thread or task that runs the handler.
    var runner = Runner.nobody
}

extension Record {
    /// A timer that no service knows yet. A target is the handle if there is none: ``adopt(_:)``.
    @inline(__always) convenience init(
        _ request: borrowing TimerRequest,
        _ destination: Destination,
        target: AnyObject?,
        _ handler: Handler?
    ) {
        let user = unsafe UserSide(
            destination: destination,
            handleIsTarget: target == nil,
            line: UInt32(clamping: request.line),
            file: request.file,
            target: target,
            handler: destination.isPlain ? handler.map(request.checked) : handler
        )
        self.init(user, policy: request.policy, tolerance: request.tolerance, isPaused: request.isPaused)
        guard request.label != nil || request.onEnd != nil else { return }
        onDemand.extras.label = request.label
        onDemand.extras.onEnd = request.onEnd
        onDemand.extras.tellsEnd = request.onEnd != nil
    }

    /// Makes the handle the target, in the forms without one. Called once, before a service knows the timer.
    func adopt(_ handle: PreciseTimer) { if user.handleIsTarget { user.target = handle } }

    /// Lets a function see each tick before the handler, and change it. Called once, before a service knows the timer.
    /// A mailbox has no handler: its consumer calls the function.
    func intercept(_ change: @escaping @Sendable (PreciseTimer.Tick) -> PreciseTimer.Tick) {
        user.isComputed = true
        user.handler = user.handler?.passing(isPlain: user.destination.isPlain, change)
    }

    // MARK: Calling the handler of a decided tick, outside any lock

    /// Calls the handler. Returns nil, without a call, if the target was released.
    func call(_ due: Due, woke: TimerInstant, _ alarm: any TimerAlarm) -> Served? {
        guard let target = user.target, let handler = user.handler else { return nil }
        // The clock is read last, when all else is ready for the call.
        let tick = PreciseTimer.Tick(due, woke: woke, delivered: alarm.now(notBefore: woke))
        handler.call(target, tick)
        return Served(due: due, lateness: tick.nanosecondsLate)
    }

    /// Calls the handler in a task, on its actor if it has one. Returns nothing as served, without a call, if the
    /// target was released.
    func call(
        _ due: Due,
        woke: TimerInstant,
        _ alarm: any TimerAlarm,
        on actor: isolated (any Actor)?,
        as identity: TaskDelivery
    ) async -> (Served?, HandlerFailure?) {
        let tick = PreciseTimer.Tick(due, woke: woke, delivered: alarm.now)
        let served = Served(due: due, lateness: tick.nanosecondsLate)
        return await TaskDelivery.$current.withValue(identity) {
            guard let target = user.target, let handler = user.handler else { return (nil, nil) }
            return (served, await handler.callInTask(actor, target, tick))
        }
    }

    /// The last steps after the timer's end, when no thread can call the handler any more. Called once, outside any
    /// lock. The handler's captures are released before `onEnd` is called.
    func sayFarewell() {
        #if DEBUG
        if hasLostItsTargetAtOnce { TimerWarning.lostTarget.write(for: self) }
        #endif
        // Last: a finished task is released, which would keep this timer alive.
        defer { if case .task(let tasks) = user.destination { tasks.cancel() } }
        user.handler = nil
        guard let side else { return }
        side.extras.chain = nil
        if let onEnd = side.extras.onEnd {
            // Other threads may read the other extras now, so this is not a `take()` in place.
            side.extras.onEnd = nil
            if let endReason { onEnd(endReason) }
        }
        for wait in takeWaiting() { wait.handlerReturned(goesOn: false) }
    }

    /// Lets a caller wait until the running handler has returned and the farewell was said. Changes nothing if no
    /// handler is running, or if the caller is inside it. For timers that end.
    func awaitReturn(_ wait: HandlerWait) {
        if user.runner != .nobody, !user.runner.isCaller { awaitLastReturn(wait) }
    }

    /// Lets a caller wait until the last handler has returned, and the farewell was said if the timer has ended then.
    func awaitLastReturn(_ wait: HandlerWait) {
        user.isAwaited = true
        onDemand.extras.waiting.append(wait)
        wait.expectReturn()
    }

    /// Those who wait for the return of the last handler, which has returned.
    func takeWaiting() -> [HandlerWait] {
        guard user.isAwaited, let side else { return [] }
        user.isAwaited = false
        defer { side.extras.waiting = [] }
        return side.extras.waiting
    }

    /// Whether somebody waits for the last handler of a timer that goes on, because that handler has set it again.
    var hasLeftWaiting: Bool { user.isAwaited && !isFinishing && !hasEnded }

    /// Whether one of those who wait wants the timer to end with its last handler in any case.
    var isAwaitedAsLast: Bool { side?.extras.waiting.contains { $0.endsTimers } ?? false }

    /// The running handler's task; nil if there is no such task, or if the caller is in it: a handler that ends its own
    /// timer may go on. For timers that end.
    var taskToCancel: TaskDestination? {
        guard case .task(let tasks) = user.destination, isInHandler, !user.runner.isCaller else { return nil }
        return tasks
    }

    /// Whether it may get another schedule. A timer that is finishing goes on only if its last handler wants that.
    var mayGoOn: Bool { !hasEnded && (!isFinishing || !isOrphan && user.runner.isCaller) }

    // MARK: Facts

    /// The timer's name.
    var label: String? { side?.extras.label }

    /// The place in the user's code that scheduled the timer.
    var callSite: (file: String, line: UInt) { unsafe (String(cString: user.file), UInt(user.line)) }

    /// The same, as it is stored.
    var site: CallSite { unsafe CallSite(user.file, user.line) }

    /// The reason the timer ends if its target is released.
    var endingIfTargetIsGone: TimerEnding { user.handleIsTarget ? .handleReleased : .targetReleased }

    /// The nominal length of a step; nil for a single deadline, and after the last tick of a schedule with a count.
    var nominalPeriod: Duration? { isCountedOut ? nil : grid.period }

    /// The latest call of the handler that has returned, if somebody timed it.
    var lastRun: PreciseTimer.HandlerRun? {
        if case .task(let tasks) = user.destination { return tasks.lastRun }
        return side?.extras.counts?.lastRun
    }

    /// How late the last tick was; nil if there was no tick.
    var latenessOfLastTick: Duration? { user.ticks == 0 ? nil : Duration(wholeNanoseconds: user.lastLateness) }

    /// How the timer ended, as far as anybody was told; nil if it goes on.
    var endReason: PreciseTimer.EndReason? {
        switch isOrphan ? endingIfTargetIsGone : ending {
        case .goesOn: nil
        case .completed: .completed
        case .cancelled: .cancelled
        case .targetReleased: .targetReleased
        case .handleReleased: .handleReleased
        case .serviceShutDown: .serviceShutDown
        case .failed: .failed(side?.extras.error ?? CancellationError())
        case .backendFailed:
            .backendFailed(side?.extras.error as? TimerError ?? TimerError(.backendFailed, "running a service"))
        }
    }
}

extension PreciseTimer.Tick {
    /// A tick that was found due at one moment and is delivered at another.
    init(_ due: Due, woke: TimerInstant, delivered: TimerInstant) {
        let clock = woke.clock
        let woke = max(woke.nanoseconds, due.deadline)
        number = due.index
        deadline = TimerInstant(nanoseconds: due.deadline, clock: clock)
        self.woke = TimerInstant(nanoseconds: woke, clock: clock)
        // A wall clock may have been set back in between.
        self.delivered = TimerInstant(nanoseconds: max(delivered.nanoseconds, woke), clock: clock)
        passed = due.missed
        isExtra = due.isExtra
    }

    /// ``lateness`` in nanoseconds.
    var nanosecondsLate: UInt64 { delivered.nanoseconds - deadline.nanoseconds }
}
