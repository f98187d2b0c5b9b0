internal import TimerAlarms
internal import TimerKernel

/// Runs a service: holds its state under one lock, and carries out the callers' requests. No object of the user is
/// called or released while the lock is held.
///
/// Handles keep it alive longer than the service: the handle of an ended timer can still say how the timer ended
/// after the service's thread has ended.
///
/// It is `@unchecked Sendable` because `state` is touched only inside `locked`, between acquiring and
/// releasing the lock.
final class ServiceCore: @unchecked Sendable {
    let lock = Mutex()
    // The lock already excludes other threads, so run-time access checks are not needed.
    @safe @exclusivity(unchecked) private var state: ServiceState
    /// Held by the thread that starts the service. Other threads that need the service wait for it.
    let starting = Lock(false)
    /// The clock of all instants.
    let clock: TimerClock
    /// What was asked for the service's thread, and what came of it.
    let setup: ThreadSetup
    /// The service's alarm if its wall clock is not the kernel's, also after a shutdown.
    let steppingAlarm: (any SteppingAlarm)?

    init(_ state: consuming sending ServiceState, setup: ThreadSetup) {
        clock = state.clock
        steppingAlarm = state.steppingAlarm
        self.setup = setup
        self.state = state
    }

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

    /// Adds a timer, and sets the alarm if the timer's first deadline is the earliest of all. Returns the
    /// timer's handle.
    func admit(
        _ record: Record,
        _ schedule: PreciseTimer.Schedule,
        _ service: AnyObject
    ) throws(TimerError) -> PreciseTimer {
        if schedule.special != nil, let rule = schedule.special?.rule { return try admit(record, by: rule, service) }
        let handle = PreciseTimer(record, of: self)
        record.adopt(handle)
        if lock.isOfAnotherProcess { throw .inForkedChild("scheduling a timer") }
        let plan = try schedule.plan(on: clock)
        while true {
            // Another process was ruled out above.
            let (isAdmitted, failure) = locked { state -> (Bool, ServiceState.Failure?) in
                if record.isPaused { state.hold(record) }
                guard state.isSupervised, let grid = state.grid(plan, of: record) else { return (false, nil) }
                let failure = state.admit(record, on: grid, service)
                // The caller gets the error, and no timer existed, so `onEnd` must not be called.
                if failure != nil { record.onDemand.extras.onEnd = nil }
                return (true, failure)
            }
            if let failure {
                fail(failure)
                throw failure.error
            }
            if isAdmitted { return handle }
            try prepare()
        }
    }

    // MARK: Control

    /// Ends a timer. Returns true for the call that ended it, but not if somebody was told before that its target had.
    @discardableResult func end(_ record: Record, _ ending: TimerEnding, _ wait: HandlerWait? = nil) -> Bool {
        let (isOver, task, service) = locked(inForkedChild: (nil, nil, nil)) { state in
            let isOver = state.end(record, record.isOrphan ? record.endingIfTargetIsGone : ending)
            let task = isOver == false ? record.taskToCancel : nil
            if let wait { record.awaitReturn(wait) }
            return (isOver, task, state.takeServiceIfIdle())
        }
        task?.cancel()
        if isOver == true { record.sayFarewell() }
        withExtendedLifetime(service) {}
        // Read without the lock, as by the farewell: a timer that has ended stays as it is.
        return isOver != nil && !record.isOrphan
    }

    /// Ends a timer whose handler threw an error, which `onError` was told or not. The handler is still running.
    func end(_ record: Record, failed error: any Error, isTold: Bool) {
        let isUnheard = locked(inForkedChild: false) { state in
            guard state.end(record, .failed) != nil else { return false }
            record.onDemand.extras.error = error
            return !isTold && !record.onDemand.extras.tellsEnd
        }
        #if DEBUG
        if isUnheard { TimerWarning.unheardError.write(for: record, "\(error)") }
        #endif
    }

    func pause(_ record: Record, keeping kept: PreciseTimer.PauseKeeping) -> Bool {
        locked(inForkedChild: false) { state in
            // Its last tick could not come.
            if record.isFinishing { return false }
            guard state.scheduler.pause(record) else { return false }
            if case .remaining = kept { state.hold(record) }
            return true
        }
    }

    func resume(_ record: Record) -> Bool {
        carryOut { state in
            if record.hasEnded || record.isOrphan { return nil }
            guard record.isHeld else { return state.scheduler.resume(record) }
            return state.now.flatMap { state.scheduler.release(record, at: $0.nanoseconds) }
        }
        .0
    }

    func restart(_ record: Record) -> Bool {
        carryOut { state in
            guard record.mayGoOn else { return nil }
            return state.now.flatMap { state.scheduler.restart(record, at: $0.nanoseconds) }
        }
        .0
    }

    /// Lets a timer end after one more tick. Returns false if it is paused or had ended, or has no last tick. The
    /// caller waits for the return of the last handler, unless it is inside a handler of the timer.
    func finish(_ record: Record, _ wait: HandlerWait) -> Bool {
        if record.user.target is any WithoutLastTick { return false }
        return carryOut { state in
            if record.isOrphan { return nil }
            guard let now = state.now, let order = state.scheduler.finish(record, at: now.nanoseconds) else {
                return nil
            }
            // Nobody waits for a handler from inside, but the timer may have to end with it.
            let wait = record.user.runner.isCaller ? HandlerWait(endsTimers: wait.endsTimers) : wait
            record.awaitLastReturn(wait)
            return order
        }
        .0
    }

    func fire(_ record: Record) -> Bool {
        carryOut { state in
            // Its last tick is on its way, or is there.
            record.isFinishing ? nil : state.now.flatMap { state.scheduler.fire(record, at: $0.nanoseconds) }
        }
        .0
    }

    func reschedule(_ record: Record, _ schedule: PreciseTimer.Schedule) throws(TimerError) {
        if record.user.isComputed || schedule.special != nil && schedule.special?.rule != nil {
            return try rescheduleComputed(record, schedule)
        }
        try reschedule(record, on: schedule.plan(on: clock)) {}
    }

    /// Gives a timer another period from its next deadline on, or from now on if it has none.
    func changePeriod(_ record: Record, _ schedule: PreciseTimer.Schedule) throws(TimerError) {
        let plan = try schedule.plan(on: clock)
        if lock.isOfAnotherProcess { throw .inForkedChild("rescheduling a timer") }
        let isDone = try locked { _ throws(TimerError) in
            if !schedule.isPeriodOnly || !record.hasEnded && record.side?.extras.chain != nil {
                let advice = "only `.every(period)` and `.rate(number, per: duration)` have a phase"
                throw PreciseTimer.Schedule.refusal("\(schedule) in the phase of another schedule (\(advice))")
            }
            let grid = Grid(origin: 0, repetition: plan.repetition, count: plan.count)
            return record.mayGoOn && record.changeSteps(to: grid)
        }
        if !isDone { try reschedule(record, schedule) }
    }

    /// Starts a timer anew. `prepare` is called under the lock if the timer goes on.
    @inline(__always) func reschedule(_ record: Record, on plan: Plan, _ prepare: () -> Void) throws(TimerError) {
        let (isDone, failure) = carryOut { state in
            guard record.mayGoOn else { return nil }
            if record.isHeld { state.hold(record) }
            return state.grid(plan, of: record)
                .flatMap { grid in
                    if !record.hasEnded { prepare() }
                    return state.scheduler.reschedule(record, on: grid)
                }
        }
        if let failure { throw failure.error }
        if !isDone { throw whyNotRescheduled(record) }
    }

    /// Sets a timer on demand, unless it has ended or is being finished. Returns whether it was set.
    func setUnlessFinishing(_ record: Record, to instant: TimerInstant) -> Bool {
        carryOut { state in
            if record.hasEnded || record.isFinishing { return nil }
            if record.isHeld { state.hold(record) }
            return state.scheduler.reschedule(record, on: Grid(origin: instant.nanoseconds))
        }
        .0
    }

    /// The error of a timer that could not be rescheduled.
    func whyNotRescheduled(_ record: Record) -> TimerError {
        if lock.isOfAnotherProcess { return .inForkedChild("rescheduling a timer") }
        let (end, isFinishing) = locked { _ in (record.endReason, record.isFinishing) }
        let cause = isFinishing ? "finish() was called" : "its service ends"
        let reason = end.map { ", \($0)" } ?? ", or is about to, because \(cause)"
        let remedy = "schedule a new one, or schedule it .onDemand to set it again and again"
        return TimerError(.timerEnded, "rescheduling a timer that has ended\(reason) (\(remedy))")
    }

    /// Asks the scheduler for a decision, and gives the alarm its order. Returns false if there is no order. Returns
    /// a failure if the alarm refuses, which ends all timers.
    private func carryOut(_ decide: (inout ServiceState) -> AlarmOrder?) -> (Bool, ServiceState.Failure?) {
        let outcome = locked(inForkedChild: (false, nil)) { state -> (Bool, ServiceState.Failure?) in
            guard let order = decide(&state) else { return (false, nil) }
            if case .leave = order { return (true, nil) }
            return (true, state.arm(order))
        }
        if let failure = outcome.1 { fail(failure) }
        return outcome
    }

    // MARK: The end

    /// Ends a timer whose target was its handle, which was released.
    func handleReleased(_ record: Record) {
        let isEnding = end(record, .handleReleased)
        #if DEBUG
        // A delivery may be writing these facts.
        let isUnused = locked(inForkedChild: false) { _ in
            record.user.ticks == 0 && record.user.runner == .nobody && !record.isOnDemand
        }
        if isEnding, isUnused { TimerWarning.droppedHandle.write(for: record) }
        #endif
    }

    /// Ends all timers and the alarm. Returns whether there was a service to end.
    ///
    /// The caller waits for each running handler that it is not inside of and, if this call ends its timer, for the
    /// farewell.
    @discardableResult func shutdown(_ wait: HandlerWait? = nil) -> Bool {
        let error = TimerError(.shutDown, "scheduling on a service that was shut down")
        return close(.serviceShutDown, run: nil, error, wait)
    }

    /// Lets a caller wait for each running handler that it is not inside of. Asks in portions, so that other threads
    /// get the lock in between.
    private func awaitHandlers(_ wait: HandlerWait) { eachRunningTimer { $0.awaitReturn(wait) } }

    /// Calls a function with each timer whose handler is running, also with those that have ended, under the lock. Asks
    /// in portions, so that other threads get the lock in between.
    func eachRunningTimer(_ body: (Record) -> Void) {
        var position = locked(inForkedChild: 0) { $0.scheduler.runningCount }
        while position > 0 {
            position = locked(inForkedChild: 0) { state in
                let end = min(position, state.scheduler.runningCount)
                let begin = max(0, end - Scheduler<UserSide>.portion)
                for position in begin..<end { body(state.scheduler.running(at: position)) }
                return begin
            }
        }
    }

    /// Ends all timers, because the backend has failed.
    func fail(_ failure: ServiceState.Failure) { close(.backendFailed, run: failure.run, failure.error) }

    /// Ends the alarm and, in portions, all timers. If `run` is given and is not the current run, this does nothing.
    @discardableResult private func close(
        _ ending: TimerEnding,
        run: Int?,
        _ error: TimerError,
        _ wait: HandlerWait? = nil
    ) -> Bool {
        let remains = locked(inForkedChild: nil) { $0.close(run: run, answering: error) }
        // No handler begins any more. After the timers have ended, a handler could return unseen, and its thread could
        // still be saying the farewell.
        if let wait { awaitHandlers(wait) }
        guard let remains else { return false }
        remains.alarm?.stop()
        setup.release()
        while true {
            // A callback may fork, and its child comes here, too.
            let ended = locked(inForkedChild: ServiceState.Ended()) { $0.endClosing(ending, error) }
            if ended.count == 0 { return true }
            for task in ended.tasks { task.cancel() }
            for record in ended.records { record.sayFarewell() }
        }
    }
}

extension TimerError {
    /// For a call on the parent's service in a forked child.
    static func inForkedChild(_ attempted: String) -> TimerError {
        TimerError(.forked, "\(attempted) (its service belongs to the parent process)")
    }
}
