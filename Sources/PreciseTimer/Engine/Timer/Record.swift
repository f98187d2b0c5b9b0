internal import Synchronization
internal import TimerAlarms
internal import TimerKernel

/// Everything that the engine knows of one timer: its numbers, and the user's side of it. It is one object, and for few
/// timers another one with what they need besides. It lives while the timer goes on, a tick of it is on its way, or its
/// handle is held.
///
/// It is `@unchecked Sendable`, as its numbers are: the service's lock protects it, but for the two fields that
/// ``UserSide`` names.
final class Record: TimerRecord, @unchecked Sendable {
    /// Fields that most timers never use, allocated when one of them is needed.
    final class Rare {
        /// The timer's name.
        var label: String?
        /// Called with the reason when the timer has ended.
        var onEnd: (@Sendable (PreciseTimer.EndReason) -> Void)?
        /// Gets the errors of a handler that is called in place.
        var onError: ErrorHandler?
        /// The callers that wait for the last handler.
        fileprivate var waits: [HandlerWait] = []
        /// The error that ended the timer, of its handler or its backend.
        var error: (any Error)?
        /// The statistics, while they are collected.
        var counts: TickCounts?
        /// Whether the timer began with computed deadlines, which its current ones need not be.
        var beganComputed = false
        /// Computes the current deadlines.
        var rule: DeadlineRule?
        /// The latest of them that had a tick, or was missed.
        var latestDeadline: UInt64 = 0
        /// Recomputes them if the wall clock is set.
        var ruleWatch: RuleWatch?
    }

    @safe @exclusivity(unchecked) private(set) var rare: Rare?
    @safe @exclusivity(unchecked) var user: UserSide

    /// A timer that no service knows yet. A target is the handle if there is none: ``adopt(_:)``.
    @inline(__always) init(
        _ timing: consuming Timing,
        _ destination: Destination,
        _ site: CallSite,
        target: AnyObject?,
        _ handler: Handler?,
        label: String?,
        onEnd: (@isolated(any) @Sendable (PreciseTimer.EndReason) -> Void)?
    ) {
        user = UserSide(
            destination: destination,
            site: site,
            handleIsTarget: target == nil,
            target: target,
            handler: handler
        )
        super.init(timing: timing)
        guard label != nil || onEnd != nil else { return }
        let rare = needRare()
        (rare.label, rare.onEnd) = (label, onEnd.map(calledAtTheEnd))
    }

    /// What few timers need, made if necessary.
    func needRare() -> Rare {
        if let rare { return rare }
        let new = Rare()
        rare = new
        return new
    }
}

/// The user's side of a timer: its target, its handler, and the place of the call.
///
/// The service's lock protects everything but two fields. The target is only read. The handler is called by the
/// delivering thread, and released by the thread that finalizes the timer, when no delivery can call it any more. That
/// thread also takes what the rare fields have for it. So do not copy the whole.
struct UserSide: ~Copyable {
    // This order leaves no padding: a million timers are a million records.
    /// The destination of the ticks.
    let destination: Destination
    /// The call in the user's code that scheduled the timer.
    let site: CallSite
    /// Whether the target is the timer's handle.
    let handleIsTarget: Bool
    /// Whether a reader has seen that the target was released, which is then how the timer ends.
    fileprivate(set) var isOrphan = false
    /// The target; nil if it was released. It must not be released under a lock: this may be the last reference.
    fileprivate(set) weak var target: AnyObject?
    fileprivate var handler: Handler?
    /// The number of delivered ticks.
    var ticks: UInt64 = 0
    /// How late the last tick was, in nanoseconds.
    var lastLateness: UInt64 = 0
    /// The thread or task that runs the handler.
    var runner = Runner.nobody

    /// Whether ticks have a handler: what a task awaits has none.
    var hasHandler: Bool { if case .mailbox = destination { false } else { true } }
}

extension TimerRecord {
    /// The engine's timers are all of its own class.
    @inline(__always) var record: Record { unsafe unsafeDowncast(self, to: Record.self) }
}

extension Record {
    /// Makes the handle the target, in the forms without one. Called once, before a service knows the timer.
    func adopt(_ handle: PreciseTimer) { if user.handleIsTarget { user.target = handle } }

    /// Notes that a reader has seen that the target was released.
    func becomeOrphan() { (user.isOrphan, takesOrders) = (true, false) }

    // MARK: Calling the handler of a decided tick, outside any lock

    /// Calls the handler. Returns nil, without a call, if the target was released. The service hears of an error.
    func call(
        _ expiration: Expiration,
        woke: TimerInstant,
        _ alarm: any TimerAlarm,
        in core: ServiceCore
    ) -> DeliveredTick? {
        guard let target = user.target, let call = user.handler?.call else { return nil }
        // The clock is read last, when all else is ready for the call.
        let tick = PreciseTimer.Tick(expiration, woke: woke, delivered: alarm.now(notBefore: woke))
        do { try call(target, tick) } catch { core.handlerThrew(error, record: self, target) }
        return DeliveredTick(expiration, lateness: tick.nanosecondsLate)
    }

    /// Calls the handler in a task, on its actor if it has one. Returns no delivered tick, without a call, if the
    /// target was released.
    func call(
        _ expiration: Expiration,
        woke: TimerInstant,
        _ alarm: any TimerAlarm,
        on actor: isolated (any Actor)?,
        as identity: TaskDelivery
    ) async -> (DeliveredTick?, HandlerFailure?) {
        let tick = PreciseTimer.Tick(expiration, woke: woke, delivered: alarm.now)
        let delivered = DeliveredTick(expiration, lateness: tick.nanosecondsLate)
        return await TaskDelivery.$current.withValue(identity) {
            guard let target = user.target, let handler = user.handler else { return (nil, nil) }
            return (delivered, await handler.callInTask(actor, target, tick))
        }
    }

    // MARK: Waiting, and the end

    /// The last steps after the timer's end, when no thread can call the handler any more. Called once, outside any
    /// lock. The handler's captures are released before `onEnd` is called.
    func finalize() {
        if isDebugBuild, hasLostItsTargetAtOnce { TimerWarning.lostTarget.write(for: self) }
        // Last: a finished task is released, which would keep this timer alive.
        defer { if case .task(let tasks) = user.destination { tasks.cancel() } }
        user.handler = nil
        guard let rare else { return }
        rare.onError = nil
        rare.rule = nil
        rare.ruleWatch?.remove(self)
        if let onEnd = rare.onEnd {
            // Other threads may read the other fields now, so this is not a `take()` in place.
            rare.onEnd = nil
            if let endReason { onEnd(endReason) }
        }
        for wait in rare.waits { wait.timerIsOver() }
        rare.waits = []
    }

    /// What a caller that ends the timer may have to wait for.
    enum Remainder { case handler, lastTick }

    /// What the caller must still wait for; nil for nothing. It does not wait for a handler that it is inside of.
    var remainder: Remainder? {
        if user.runner.isCaller { return nil }
        if user.runner != .nobody { return .handler }
        return takesOrders || endReason != nil ? nil : .lastTick
    }

    /// Lets a caller wait until nothing remains and the timer was finalized.
    func letWait(_ wait: HandlerWait) {
        if remainder == nil { return }
        needRare().waits.append(wait)
        wait.expectEnd()
    }

    /// The running handler's task; nil if there is no such task, or if the caller is in it: a handler that ends its own
    /// timer may go on. For timers that end.
    var taskToCancel: TaskDestination? {
        guard case .task(let tasks) = user.destination, isInHandler, !user.runner.isCaller else { return nil }
        return tasks
    }

    // MARK: Facts

    /// The timer's name.
    var label: String? { rare?.label }

    /// The reason the timer ends if its target is released.
    var endingIfTargetIsGone: TimerEnding { user.handleIsTarget ? .handleReleased : .targetReleased }

    /// The nominal length of a step; nil for a single deadline, and after the last tick of a schedule with a count.
    var nominalPeriod: Duration? {
        if timing.isCountedOut { return nil }
        return timing.period?.duration ?? timing.fixedDelay.map(Duration.init(wholeNanoseconds:))
    }

    /// The latest call of the handler that has returned, if it was timed.
    var lastRun: PreciseTimer.HandlerRun? {
        if case .task(let tasks) = user.destination { return tasks.lastRun }
        return rare?.counts?.lastRun
    }

    /// How late the last tick was; nil if there was no tick.
    var latenessOfLastTick: Duration? { user.ticks == 0 ? nil : Duration(wholeNanoseconds: user.lastLateness) }

    /// How the timer ended, as far as any reader has seen; nil if it goes on.
    var endReason: PreciseTimer.EndReason? {
        switch user.isOrphan ? endingIfTargetIsGone : ending {
        case .goesOn: nil
        case .completed: .completed
        case .cancelled: .cancelled
        case .targetReleased: .targetReleased
        case .handleReleased: .handleReleased
        case .serviceShutDown: .serviceShutDown
        case .failed: .failed(rare?.error ?? CancellationError())
        case .backendFailed:
            .backendFailed(rare?.error as? TimerError ?? TimerError(.backendFailed, "running a service"))
        }
    }
}

/// The thread or task that runs a handler, as one word. It tells whether a call comes from inside the handler.
struct Runner: Hashable, Sendable {
    /// An even number: the address of a thread's own data. An odd one: twice a task's number, plus one.
    /// Zero: no runner.
    private let word: UInt

    static let nobody = Runner(word: 0)

    /// The calling thread. A synchronous handler stays on one thread.
    static var thisThread: Runner { Runner(word: ThreadID.current.number) }

    /// A task for which ``TaskDelivery/current`` is this delivery.
    static func task(_ delivery: TaskDelivery) -> Runner { Runner(word: delivery.number << 1 | 1) }

    /// Whether it is a task.
    var isTask: Bool { word & 1 == 1 }

    /// Whether the caller is inside the handler.
    var isCaller: Bool { self == .thisThread || TaskDelivery.current.map { self == .task($0) } ?? false }
}

/// The thread that is in a round of a service, as a number. It may be asked for without the service's lock.
struct RoundThread: ~Copyable {
    private let word = Atomic<UInt>(0)

    /// A thread that reads 0 sees what the handlers of the last round have written.
    var number: UInt { word.load(ordering: .acquiring) }

    func enter() { word.store(ThreadID.current.number, ordering: .relaxed) }

    /// After a shutdown, another thread may be in a round of the service's next run.
    func leave() { _ = word.compareExchange(expected: ThreadID.current.number, desired: 0, ordering: .releasing) }
}

/// The handler call that a task is part of.
struct TaskDelivery: Hashable, Sendable {
    @TaskLocal static var current: TaskDelivery?

    /// Relaxed: the numbers must differ, and they order nothing.
    private static let count = Atomic<UInt>(0)

    fileprivate let number: UInt

    /// A delivery with a new number.
    init() { number = Self.count.add(1, ordering: .relaxed).newValue }
}
