internal import TimerAlarms
internal import TimerKernel

/// Runs a service: holds its state under one lock, and carries out the callers' requests. While the lock is held, no
/// object of the user is released, and only one is called: the alarm, if it is the user's own ``TimerAlarm``.
///
/// Handles keep it alive longer than the service: the handle of an ended timer can still say how the timer ended
/// after the service's thread has ended.
///
/// It is `@unchecked Sendable` because `state` is touched only inside `locked` and `decide`, between acquiring and
/// releasing the lock.
final class ServiceCore: @unchecked Sendable {
    let lock = Mutex()
    // The lock already excludes other threads, so run-time access checks are not needed.
    @safe @exclusivity(unchecked) private var state: ServiceState
    /// Held by the thread that starts the service. Other threads that need the service wait for it.
    let starting = Lock(false)
    /// The thread that may be in an inline handler.
    let roundThread = RoundThread()
    /// The clock of all instants.
    let clock: TimerClock
    /// The settings of the service's thread, and their outcomes.
    let setup: ThreadSetup
    /// The service's alarm if its wall clock is not the kernel's, also after a shutdown.
    let steppingAlarm: (any SteppingAlarm)?

    init(_ state: consuming sending ServiceState, setup: ThreadSetup) {
        clock = state.clock
        steppingAlarm = state.steppingAlarm
        self.setup = setup
        self.state = state
    }

    // MARK: The lock

    /// Runs `body` on the state while the lock is held.
    @inline(__always) func locked<Result: ~Copyable, Failure: Error>(
        _ body: (inout ServiceState) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock.acquire()
        defer { lock.release() }
        return try body(&state)
    }

    /// The same. In a forked child, where the lock may be held for ever, returns `answer` instead.
    @inline(__always) func locked<Result: ~Copyable>(
        inForkedChild answer: @autoclosure () -> Result,
        _ body: (inout ServiceState) -> Result
    ) -> Result {
        if lock.isOfAnotherProcess { return answer() }
        lock.acquire()
        defer { lock.release() }
        return body(&state)
    }

    /// Runs `body` on the state while the lock is held, and then performs the teardown that it leaves. In a forked
    /// child, returns `answer` instead. A round says that it runs on the service's thread, which may have processors of
    /// its own.
    @inline(__always) func decide<Result: ~Copyable>(
        inForkedChild answer: @autoclosure () -> Result,
        onServiceThread: Bool = false,
        _ body: (inout ServiceState) -> Result
    ) -> Result {
        if lock.isOfAnotherProcess { return answer() }
        lock.acquire()
        let result = body(&state)
        if state.teardown.isEmpty {
            lock.release()
            return result
        }
        let teardown = state.teardown.take()
        lock.release()
        if onServiceThread { setup.asOrdinaryThread { perform(teardown) } } else { perform(teardown) }
        return result
    }

    /// Asks the scheduler for a decision, and gives the alarm its order. Refused if there is no order.
    @inline(__always) private func request(_ ask: (inout ServiceState) -> AlarmOrder?) -> Answer {
        decide(inForkedChild: .refused) { state in
            guard let order = ask(&state) else { return .refused }
            // Nearly every request ends here.
            if case .leave = order { return .done }
            return state.arm(order)
        }
    }

    /// The same for a request that tells only whether it was refused.
    @inline(__always) private func isDone(_ ask: (inout ServiceState) -> AlarmOrder?) -> Bool {
        if case .refused = request(ask) { false } else { true }
    }

    // MARK: The requests of handles

    /// Adds a timer, and sets the alarm if the timer must tick before all others. Returns the timer's handle.
    func register(
        _ record: consuming Record,
        _ schedule: ResolvedSchedule,
        computedBy rule: ScheduleRule? = nil,
        _ service: AnyObject
    ) throws(TimerError) -> PreciseTimer {
        if let rule { return try register(record, by: rule, service) }
        let handle = PreciseTimer(record, of: self)
        handle.record.adopt(handle)
        while true {
            let answer = decide(inForkedChild: .failed(.inForkedChild("scheduling a timer"))) {
                $0.register(handle.record, schedule, service)
            }
            switch answer {
            case .done: return handle
            case .failed(let error): throw error
            case .refused: try prepare()
            }
        }
    }

    /// Ends a timer, and lets a caller wait for its running handler. True for the one call that ended it; false if an
    /// earlier read had already reported that its target was gone.
    @discardableResult func end(_ record: Record, _ ending: TimerEnding, _ wait: HandlerWait? = nil) -> Bool {
        let endsNow = decide(inForkedChild: false) { state in
            let endsNow = state.end(record, ending)
            if let wait { record.letWait(wait) }
            return endsNow
        }
        // Read without the lock: no reader reports a released target any more.
        return endsNow && !record.user.isOrphan
    }

    /// Ends a timer whose handler threw an error, whether `onError` heard of it or not. The handler is still running.
    func end(_ record: Record, failed error: any Error, isTold: Bool) {
        let isUnheard = decide(inForkedChild: false) { state in
            guard state.end(record, .failed, sparesTask: true) else { return false }
            let rare = record.needRare()
            rare.error = error
            return !isTold && rare.onEnd == nil
        }
        if isDebugBuild, isUnheard { TimerWarning.unheardError.write(for: record, "\(error)") }
    }

    func pause(_ record: Record, keeping kept: PreciseTimer.PauseKeeping) -> Bool {
        locked(inForkedChild: false) { state in
            guard state.scheduler.pause(record) else { return false }
            if case .remaining = kept { state.freeze(record) }
            return true
        }
    }

    func resume(_ record: Record) -> Bool {
        isDone { state in state.now.flatMap { state.scheduler.resume(record, at: $0.nanoseconds) } }
    }

    func restart(_ record: Record) -> Bool {
        isDone { state in state.now.flatMap { state.scheduler.restart(record, at: $0.nanoseconds) } }
    }

    /// Lets a timer end after one more tick, and a caller wait for that. Returns false if it is paused or has ended,
    /// or if its service does not run.
    func finish(_ record: Record, _ wait: HandlerWait) -> Bool {
        isDone { state in
            guard !record.user.isOrphan, let now = state.now else { return nil }
            let order = state.scheduler.finish(record, at: now.nanoseconds)
            if order != nil { record.letWait(wait) }
            return order
        }
    }

    func fire(_ record: Record) -> Bool {
        isDone { state in state.now.flatMap { state.scheduler.fire(record, at: $0.nanoseconds) } }
    }

    /// Restarts a timer, on deadlines that a rule computes or on others, or changes its steps.
    @inline(__always) func reschedule(
        _ record: Record,
        _ schedule: ResolvedSchedule,
        by rule: DeadlineRule? = nil,
        keepsPhase: Bool = false
    ) throws(TimerError) {
        let answer = request { state in
            guard record.takesOrders, state.alarm != nil else { return nil }
            if keepsPhase, let now = state.now,
                let order = state.scheduler.changeSteps(record, to: schedule, at: now.nanoseconds)
            {
                return order
            }
            if record.rare?.rule != nil || rule != nil { state.follow(rule, by: record) }
            let now = state.start(of: schedule)
            if record.timing.isFrozen { state.freeze(record, at: schedule.countsFromNow ? now : nil) }
            return state.scheduler.reschedule(record, schedule, at: now)
        }
        switch answer {
        case .done: return
        case .failed(let error): throw error
        case .refused: throw whyNotRescheduled(record)
        }
    }

    /// The error of a timer that could not be rescheduled.
    func whyNotRescheduled(_ record: Record) -> TimerError {
        if lock.isOfAnotherProcess { return .inForkedChild("rescheduling a timer") }
        let (end, takesOrders) = locked { _ in (record.endReason, record.takesOrders) }
        let cause = takesOrders ? "its service ends" : "finish() was called"
        let reason = end.map { ", \($0)" } ?? ", or is about to, because \(cause)"
        let remedy = "schedule a new one, or schedule it .onDemand to set it again and again"
        return TimerError(.timerEnded, "rescheduling a timer that has ended\(reason) (\(remedy))")
    }

    /// Ends a timer whose target was its handle, which was released.
    func handleReleased(_ record: Record) {
        let isEnding = end(record, .handleReleased)
        guard isDebugBuild, isEnding else { return }
        // A delivery may be writing these facts.
        let isUnused = locked(inForkedChild: false) { _ in
            record.user.ticks == 0 && record.user.runner == .nobody && !record.timing.isOnDemand
        }
        if isUnused { TimerWarning.droppedHandle.write(for: record) }
    }
}

extension TimerError {
    /// For a call on the parent's service in a forked child.
    static func inForkedChild(_ attempted: String) -> TimerError {
        TimerError(.forked, "\(attempted) (its service belongs to the parent process)")
    }
}

/// Starting a service's alarm. This may take seconds, so it happens without the lock of the state.
extension ServiceCore {
    /// Starts the alarm if it is not running.
    func start() throws(TimerError) { try starting.withLock { _ throws(TimerError) in try startAlarm() } }

    /// Starts the alarm, and hands the service to the supervisor, if that has not been done.
    func prepare() throws(TimerError) {
        try starting.withLock { _ throws(TimerError) in
            try startAlarm()
            if !isSupervised { try Supervisor.current.add(self) }
        }
    }

    private func startAlarm() throws(TimerError) {
        // Each turn but the first follows a shutdown by other code, which was not meant for the timer that starts the
        // service.
        while try !tryStart() {}
    }

    /// Starts the alarm if it is not running. Returns false if the service was shut down.
    private func tryStart() throws(TimerError) -> Bool {
        let start = try locked { state throws(TimerError) in try state.beginStart() }
        guard let (makeAlarm, epoch) = start else { return true }
        var alarm: (any TimerAlarm)?
        do throws(TimerError) {
            let made = try makeAlarm()
            alarm = made
            try made.start(
                onFire: { self.fired(epoch) },
                onFailure: { self.fail(Teardown.Failure(error: $0, epoch: epoch)) }
            )
            // The alarm has the descriptors that it needs.
            prepareChecks()
            if try locked({ state throws(TimerError) in try state.finishStart(made) }) { return true }
            made.stop()
            return false
        } catch {
            alarm?.stop()
            locked { $0.abandonStart(makeAlarm, epoch) }
            throw error
        }
    }
}
