public import Dispatch
// The public types of the modules below (TimerInstant, TimerClock, TimerError, and the protocol TimerAlarm) belong to
// this module's surface: an import of PreciseTimer includes them and their members.
@_exported public import TimerAlarms
@_exported public import TimerKernel

/// The forms with a handler that does not await: with a target, and without one.
extension PreciseTimer {
    /// Schedules a timer for a target, which it never retains. The timer ends when the target is released.
    ///
    /// ```swift
    /// try PreciseTimer.schedule(.every(.milliseconds(10)), target: controller) { controller, tick in
    ///     controller.step(missed: tick.missed)
    /// }
    /// ```
    ///
    /// The handler is called as `deliver` says, never twice at once, and never from inside this call. It may throw, but
    /// not await: the form for a handler that awaits runs it in a task. The target is retained during each call of the
    /// handler, so its `deinit` may run there. If the target is released, the timer ends at its next deadline. If that
    /// is far away, or the timer is paused, it ends within about four seconds, or later if the service has more than
    /// 100,000 timers. The handler's captures are the caller's responsibility: a captured target stays alive. O(log n)
    /// for n timers on the service.
    ///
    /// - Parameters:
    ///   - schedule: when to tick.
    ///   - service: the running backend to use.
    ///   - tolerance: how late a tick may be on purpose; timers with a tolerance share wake-ups. Not negative.
    ///   - missedTicks: what happens to deadlines that could not be met.
    ///   - deliver: where the handler runs.
    ///   - label: a name for ``TimerService/activeTimers``.
    ///   - paused: whether the timer waits for ``PreciseTimer/resume()``, from which its deadlines then count.
    ///   - file: the file that ``TimerService/activeTimers`` names.
    ///   - line: the line that ``TimerService/activeTimers`` names.
    ///   - target: the object that the handler receives.
    ///   - onEnd: called once, with the reason the timer ended, on the thread that ended it. If a handler was
    ///     running, it is called on the handler's thread after the handler has returned. For a released target that
    ///     may be one of the library's threads. Return quickly. If it is isolated to an actor,
    ///     `{ @MainActor reason in … }`, it is called there, in a task, soon after the end.
    ///   - onError: called with the target and an error of the handler, where the handler ran; the timer then goes on.
    ///     If it throws, or is nil, the timer ends, and the reason is ``EndReason/failed(_:)``. If it is isolated to
    ///     an actor, it is called there, in a task, and the timer does not wait for it.
    ///   - handler: called with the target and the facts of the tick.
    /// - Returns: the handle, which may be dropped.
    /// - Throws: `TimerError` if the schedule makes no sense, or if the system refuses a thread or descriptor.
    @discardableResult public static func schedule<Target: AnyObject & Sendable>(
        _ schedule: Schedule,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        missedTicks: MissedTickPolicy = .skip,
        deliver: Delivery = .inline,
        label: String? = nil,
        paused: Bool = false,
        file: StaticString = #fileID,
        line: UInt = #line,
        target: Target,
        onEnd: (@isolated(any) @Sendable (EndReason) -> Void)? = nil,
        onError: (@isolated(any) @Sendable (Target, any Error) throws -> Void)? = nil,
        handler: @escaping @Sendable (Target, Tick) throws -> Void
    ) throws(TimerError) -> PreciseTimer {
        let request = try TimerRequest(tolerance, missedTicks, paused, file, line)
        let (handler, place) = (Handler(handler), deliver.destination)
        return try request.start(schedule, place, target: target, handler, onError, on: service, label, onEnd)
    }

    /// Schedules a timer whose handle is its target. Keep the handle: the timer ends when it is released. The handler
    /// receives the handle: `{ timer, tick in if door.isOpen { timer.cancel() } }` ends when the door is open.
    /// A handler that is isolated to an actor, `{ @MainActor timer, tick in lamp.isOn.toggle() }`, runs on that actor,
    /// wherever `deliver` says. Otherwise like the form with a target, which describes the parameters. If the handle is
    /// released before the first tick, a debug build reports this on standard error, with the place of this call.
    public static func schedule(
        _ schedule: Schedule,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        missedTicks: MissedTickPolicy = .skip,
        deliver: Delivery = .inline,
        label: String? = nil,
        paused: Bool = false,
        file: StaticString = #fileID,
        line: UInt = #line,
        onEnd: (@isolated(any) @Sendable (EndReason) -> Void)? = nil,
        onError: (@isolated(any) @Sendable (PreciseTimer, any Error) throws -> Void)? = nil,
        handler: @escaping @isolated(any) @Sendable (PreciseTimer, Tick) throws -> Void
    ) throws(TimerError) -> PreciseTimer {
        let request = try TimerRequest(tolerance, missedTicks, paused, file, line)
        if let handler = calledInPlace(handler) {
            let (handler, place) = (Handler(handler), deliver.destination)
            return try request.start(schedule, place, target: nil, handler, onError, on: service, label, onEnd)
        }
        return try request.start(schedule, target: nil, inTask: handler, onError: onError, on: service, label, onEnd)
    }

    /// Schedules a timer whose handle is its target, and whose handler asks for nothing: `{ print("tick") }`. Keep the
    /// handle: the timer ends when it is released. Otherwise like the form whose handler receives the handle, also for
    /// a handler that is isolated to an actor.
    public static func schedule(
        _ schedule: Schedule,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        missedTicks: MissedTickPolicy = .skip,
        deliver: Delivery = .inline,
        label: String? = nil,
        paused: Bool = false,
        file: StaticString = #fileID,
        line: UInt = #line,
        onEnd: (@isolated(any) @Sendable (EndReason) -> Void)? = nil,
        onError: (@isolated(any) @Sendable (PreciseTimer, any Error) throws -> Void)? = nil,
        handler: @escaping @isolated(any) @Sendable () throws -> Void
    ) throws(TimerError) -> PreciseTimer {
        let request = try TimerRequest(tolerance, missedTicks, paused, file, line)
        if let handler = calledInPlace(handler) {
            let (handler, place) = (Handler { (_: PreciseTimer, _) in try handler() }, deliver.destination)
            return try request.start(schedule, place, target: nil, handler, onError, on: service, label, onEnd)
        }
        let tasks = Destination.task(TaskDestination(handler.isolation))
        let handler = Handler(inTask: { (_: PreciseTimer, _) in try await handler() }, onError: onError)
        return try request.start(schedule, tasks, target: nil, handler, on: service, label, onEnd)
    }
}

extension PreciseTimer {
    /// Where handlers run.
    ///
    /// Wherever they run, a timer has at most one running handler, and at most one tick on its way. Deadlines that
    /// pass before the handler of that tick is called are merged into it and counted in its ``Tick/missed``.
    @nonexhaustive public enum Delivery: Sendable, CustomStringConvertible {
        /// On the alarm's thread, with the least lateness. A handler that does not return quickly makes the service's
        /// other timers late.
        case inline
        /// On a Dispatch queue, serial or concurrent. On the main queue, an ordinary handler reaches the main actor's
        /// state with `MainActor.assumeIsolated`; a handler that is isolated to it needs neither.
        case queue(DispatchQueue)

        /// The place, as in `queue com.example.work`.
        public var description: String {
            switch self {
            case .inline: "inline"
            case .queue(let queue): "queue \(queue.label)".onOneLine
            }
        }

        /// The engine's value for this delivery.
        var destination: Destination {
            switch self {
            case .inline: .inline
            case .queue(let queue): .queue(queue)
            }
        }
    }
}

extension TimerRequest {
    /// Makes the timer of a request, on a service. Without a target, its handle is the target.
    // As members of the request, the arguments would take 220 more instructions for each timer (1,847 before).
    @inline(__always) func start(
        _ schedule: PreciseTimer.Schedule,
        _ destination: Destination,
        target: AnyObject?,
        _ handler: consuming Handler?,
        telling onError: ErrorHandler? = nil,
        on service: TimerService,
        _ label: String?,
        _ onEnd: (@isolated(any) @Sendable (PreciseTimer.EndReason) -> Void)?
    ) throws(TimerError) -> PreciseTimer {
        let resolved = try schedule.resolved(on: service.core.clock)
        if isDebugBuild, destination.isPlain { handler = handler?.checked(site, label) }
        let record = Record(timing, destination, site, target: target, handler, label: label, onEnd: onEnd)
        if let onError { record.needRare().onError = onError }
        let timer = try service.core.register(record, resolved, computedBy: schedule.rule, service)
        // The record belongs to the service now.
        if isDebugBuild { service.core.warnIfTicksLeaveThread(for: destination, site) }
        return timer
    }

    /// The same with a handler that is called in place. Few timers have an `onError`.
    @inline(__always) func start<Target: AnyObject & Sendable>(
        _ schedule: PreciseTimer.Schedule,
        _ place: Destination,
        target: Target?,
        _ handler: consuming Handler,
        _ onError: (@isolated(any) @Sendable (Target, any Error) throws -> Void)?,
        on service: TimerService,
        _ label: String?,
        _ onEnd: (@isolated(any) @Sendable (PreciseTimer.EndReason) -> Void)?
    ) throws(TimerError) -> PreciseTimer {
        if let onError {
            let onError = ErrorHandler(onError)
            return try startTelling(onError, schedule, place, target: target, handler, on: service, label, onEnd)
        }
        return try start(schedule, place, target: target, handler, on: service, label, onEnd)
    }

    // Not inlined, so that the others pay nothing for it.
    @inline(never) private func startTelling(
        _ onError: ErrorHandler,
        _ schedule: PreciseTimer.Schedule,
        _ place: Destination,
        target: AnyObject?,
        _ handler: consuming Handler,
        on service: TimerService,
        _ label: String?,
        _ onEnd: (@isolated(any) @Sendable (PreciseTimer.EndReason) -> Void)?
    ) throws(TimerError) -> PreciseTimer {
        try start(schedule, place, target: target, handler, telling: onError, on: service, label, onEnd)
    }

    /// The same with a handler that is called in a task, on its actor if it has one.
    @inline(__always) func start<Target: AnyObject & Sendable>(
        _ schedule: PreciseTimer.Schedule,
        target: Target?,
        inTask handler: @escaping @isolated(any) @Sendable (Target, PreciseTimer.Tick) async throws -> Void,
        onError: (@isolated(any) @Sendable (Target, any Error) async throws -> Void)? = nil,
        on service: TimerService,
        _ label: String?,
        _ onEnd: (@isolated(any) @Sendable (PreciseTimer.EndReason) -> Void)?
    ) throws(TimerError) -> PreciseTimer {
        let tasks = TaskDestination(handler.isolation)
        let handler = Handler(inTask: handler, onError: onError)
        return try start(schedule, .task(tasks), target: target, handler, on: service, label, onEnd)
    }
}

extension ServiceCore {
    /// Warns if a timer's handler runs on the shared thread pool, although its service has a thread that is made to be
    /// on time. For debug builds.
    fileprivate func warnIfTicksLeaveThread(for destination: Destination, _ site: CallSite) {
        guard case .task(let tasks) = destination, tasks.isOnThreadPool else { return }
        let (isRealTime, spins) = (setup.asksForRealTime, (alarm as? TimerFDAlarm)?.spinner != nil)
        if isRealTime || spins { TimerWarning.leftThread.write(at: site, isRealTime ? "real-time" : "spinning") }
    }
}

extension Handler {
    /// The handler, which, in a debug build, tells before the process ends if it asks for the main actor while it runs
    /// elsewhere. The Swift runtime ends the process for that.
    fileprivate func checked(_ site: CallSite, _ label: String?) -> Handler {
        Handler { (target: AnyObject, tick) in
            var failure: (any Error)?
            MainActorCheck.watch {
                do { try call(target, tick) } catch { failure = error }
            } warning: {
                site.message(
                    ofHandler: label,
                    "asks for the main actor but does not run on it; isolate it, `{ @MainActor target, tick in … }`, "
                        + "and leave the assumption out"
                )
            }
            if let failure { throw failure }
        }
    }
}

/// What a caller asks of a timer besides its schedule, and that is no object of the user.
struct TimerRequest {
    /// Nanoseconds.
    let tolerance: UInt64
    let missedTicks: PreciseTimer.MissedTickPolicy
    let isPaused: Bool
    /// The call in the user's code.
    let site: CallSite

    /// - Throws: `TimerError` if the tolerance or the policy makes no sense.
    @inline(__always) init(
        _ tolerance: Duration,
        _ missedTicks: PreciseTimer.MissedTickPolicy,
        _ isPaused: Bool,
        _ file: StaticString,
        _ line: UInt
    ) throws(TimerError) {
        try missedTicks.validate()
        self.tolerance = tolerance.attoseconds == 0 ? 0 : try Self.nanoseconds(of: tolerance)
        self.missedTicks = missedTicks
        self.isPaused = isPaused
        site = CallSite(file, line)
    }

    /// The timing of the new timer.
    @inline(__always) var timing: Timing {
        Timing(
            burstLimit: missedTicks.limit,
            restartsLate: missedTicks == .delay,
            tolerance: tolerance,
            isPaused: isPaused
        )
    }

    private static func nanoseconds(of tolerance: Duration) throws(TimerError) -> UInt64 {
        if tolerance >= .zero { return tolerance.nanosecondsRoundedDown }
        let attempted = "scheduling with a tolerance of \(tolerance.text)"
        throw TimerError(.invalidSchedule, "\(attempted) (it must not be negative)")
    }
}
