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
@safe
struct UserSide: UserFacts, ~Copyable {
    /// What few timers need.
    struct Extras: UserExtras {
        /// The timer's name.
        var label: String?
        /// Called with the reason when the timer has ended.
        var onEnd: (@Sendable (PreciseTimer.EndReason) -> Void)?
        /// Called when the running handler has returned and the farewell was said.
        var waiting: [@Sendable () -> Void] = []
        /// Why the backend failed, if that ended the timer.
        var error: TimerError?
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

/// What is called for a tick. The destination of the tick tells which of two kinds it is: a plain function, which is
/// called on the thread where the tick arrives, or one that is isolated to an actor.
///
/// Types are erased by casts bit for bit. They are sound: a reference is passed in the same way for every class, a
/// handler is only ever called with its own target, and in the way of its kind. Erasing the target's type saves a
/// metadata look-up for each timer; an enumeration of both kinds would take eight bytes more.
struct Handler: Sendable {
    /// In a struct, because a bare function would be wrapped when its type changes.
    private struct Plain<Target: AnyObject>: Sendable {
        let call: @Sendable (Target, PreciseTimer.Tick) -> Void
    }

    private struct Isolated: Sendable {
        let call: @Sendable (isolated any Actor, AnyObject, PreciseTimer.Tick) async -> Void
    }

    private let function: Plain<AnyObject>

    /// A plain function.
    init<Target: AnyObject>(_ call: @escaping @Sendable (Target, PreciseTimer.Tick) -> Void) {
        function = unsafe unsafeBitCast(Plain(call: call), to: Plain<AnyObject>.self)
    }

    /// A function that is isolated to an actor.
    init<Target: AnyObject & Sendable>(_ call: @escaping @isolated(any) @Sendable (Target, PreciseTimer.Tick) -> Void) {
        let isolated = Isolated { _, target, tick in
            // Does not suspend: the caller is on the actor already.
            await call(unsafe unsafeDowncast(target, to: Target.self), tick)
        }
        function = unsafe unsafeBitCast(isolated, to: Plain<AnyObject>.self)
    }

    /// A function that is isolated to its target.
    init<Target: Actor>(_ call: @escaping @Sendable (isolated Target, PreciseTimer.Tick) async -> Void) {
        let isolated = Isolated { _, target, tick in
            await call(unsafe unsafeDowncast(target, to: Target.self), tick)
        }
        function = unsafe unsafeBitCast(isolated, to: Plain<AnyObject>.self)
    }

    /// A handler of the same kind, which gets each tick as a function changes it.
    fileprivate func passing(
        isPlain: Bool,
        _ change: @escaping @Sendable (PreciseTimer.Tick) -> PreciseTimer.Tick
    ) -> Handler {
        if isPlain { return Handler { (target: AnyObject, tick) in call(target, change(tick)) } }
        let isolated = Isolated { actor, target, tick in await callOnActor(actor, target, change(tick)) }
        return Handler(unsafe unsafeBitCast(isolated, to: Plain<AnyObject>.self))
    }

    private init(_ function: Plain<AnyObject>) { self.function = function }

    /// Calls a plain function.
    var call: @Sendable (AnyObject, PreciseTimer.Tick) -> Void { function.call }

    /// Calls an isolated function.
    var callOnActor: @Sendable (isolated any Actor, AnyObject, PreciseTimer.Tick) async -> Void {
        unsafe unsafeBitCast(function, to: Isolated.self).call
    }
}

extension Record {
    /// A timer that no service knows yet. A target is the handle if there is none: ``adopt(_:)``.
    @inline(__always)
    convenience init(
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

    /// Calls the handler on its actor. Returns nil, without a call, if the target was released.
    func call(
        _ due: Due,
        woke: TimerInstant,
        _ alarm: any TimerAlarm,
        on actor: isolated any Actor,
        as identity: TaskDelivery
    ) async -> Served? {
        let tick = PreciseTimer.Tick(due, woke: woke, delivered: alarm.now)
        let hasTarget = await TaskDelivery.$current.withValue(identity) {
            guard let target = user.target, let handler = user.handler else { return false }
            await handler.callOnActor(actor, target, tick)
            return true
        }
        return hasTarget ? Served(due: due, lateness: tick.nanosecondsLate) : nil
    }

    /// The last steps after the timer's end, when no thread can call the handler any more. Called once, outside any
    /// lock. The handler's captures are released before `onEnd` is called.
    func sayFarewell() {
        user.handler = nil
        guard let side else { return }
        side.extras.chain = nil
        if let onEnd = side.extras.onEnd.take(), let endReason { onEnd(endReason) }
        let waiting = side.extras.waiting
        side.extras.waiting = []
        for resume in waiting { resume() }
    }

    /// Lets `resume` be called when the running handler has returned and the farewell was said. Returns false, and
    /// forgets it, if no handler is running, or if the caller is inside it. For timers that end.
    func awaitReturn(_ resume: @escaping @Sendable () -> Void) -> Bool {
        guard user.runner != .nobody, !user.runner.isCaller else { return false }
        onDemand.extras.waiting.append(resume)
        return true
    }

    // MARK: Facts

    /// The timer's name.
    var label: String? { side?.extras.label }

    /// The place in the user's code that scheduled the timer.
    var callSite: (file: String, line: UInt) { unsafe (String(cString: user.file), UInt(user.line)) }

    /// The same, as it is stored.
    var storedSite: (file: UnsafePointer<UInt8>, line: UInt32) { unsafe (user.file, user.line) }

    /// The reason the timer ends if its target is released.
    var endingIfTargetIsGone: TimerEnding { user.handleIsTarget ? .handleReleased : .targetReleased }

    /// The actor that the handler is isolated to; nil if there is no such actor, or if it is the target and was
    /// released.
    var actor: (any Actor)? {
        switch user.destination {
        case .inline, .queue, .mainActor, .mailbox: nil
        case .mainActorTask: MainActor.shared
        case .actor(let actor): actor
        case .targetActor: user.target as? any Actor
        }
    }

    /// The nominal length of a step; nil for a single deadline, and after the last tick of a schedule with a count.
    var nominalPeriod: Duration? { isCountedOut ? nil : grid.period }

    /// How late the last tick was; nil if there was no tick.
    var latenessOfLastTick: Duration? {
        user.ticks == 0 ? nil : Duration(wholeNanoseconds: user.lastLateness)
    }

    /// How the timer ended; nil if it goes on.
    var endReason: PreciseTimer.EndReason? {
        switch ending {
        case .goesOn: nil
        case .completed: .completed
        case .cancelled: .cancelled
        case .targetReleased: .targetReleased
        case .handleReleased: .handleReleased
        case .serviceShutDown: .serviceShutDown
        case .backendFailed: .backendFailed(side?.extras.error ?? TimerError(.backendFailed, "running a service"))
        }
    }
}

extension PreciseTimer.Tick {
    /// A tick that was found due at one moment and is delivered at another.
    init(_ due: Due, woke: TimerInstant, delivered: TimerInstant) {
        let clock = woke.clock
        let woke = max(woke.nanoseconds, due.deadline)
        index = due.index
        deadline = TimerInstant(nanoseconds: due.deadline, clock: clock)
        self.woke = TimerInstant(nanoseconds: woke, clock: clock)
        // A wall clock may have been set back in between.
        self.delivered = TimerInstant(nanoseconds: max(delivered.nanoseconds, woke), clock: clock)
        missed = due.missed
    }

    /// ``lateness`` in nanoseconds.
    var nanosecondsLate: UInt64 { delivered.nanoseconds - deadline.nanoseconds }
}
