internal import TimerAlarms
internal import TimerKernel

/// Runs a service: holds its state under one lock, and carries out the callers' requests. No object of the user is
/// called or released while the lock is held.
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

    /// Asks the scheduler for a decision, and gives the alarm its order. Returns false if there is no order.
    @inline(__always) private func request(_ ask: (inout ServiceState) -> AlarmOrder?) -> Bool {
        decide(inForkedChild: false) { state in
            guard let order = ask(&state) else { return false }
            // Nearly every request ends here.
            if case .leave = order { return true }
            state.arm(order)
            return true
        }
    }

    // MARK: The requests of handles

    /// Adds a timer, and sets the alarm if the timer's first deadline is the earliest of all. Returns the
    /// timer's handle.
    @inline(__always) func register(
        _ record: consuming Record,
        _ schedule: PreciseTimer.Schedule,
        _ service: AnyObject
    ) throws(TimerError) -> PreciseTimer {
        if let rule = schedule.rule { return try register(record, by: rule, service) }
        return try register(record, schedule.resolved(on: clock), service)
    }

    func register(
        _ record: consuming Record,
        _ schedule: ResolvedSchedule,
        _ service: AnyObject
    ) throws(TimerError) -> PreciseTimer {
        let handle = PreciseTimer(record, of: self)
        handle.record.adopt(handle)
        while true {
            var failure: TimerError?
            let isAdded = decide(inForkedChild: nil) { state -> Bool? in
                guard state.isSupervised, state.alarm != nil else { return false }
                state.register(handle.record, schedule, service)
                if state.teardown.isEmpty { return true }
                // The caller gets the error, and no timer existed, so `onEnd` must not be called.
                failure = state.teardown.more?.failure?.error
                handle.record.cold?.onEnd = nil
                return true
            }
            if let failure { throw failure }
            guard let isAdded else { throw .inForkedChild("scheduling a timer") }
            if isAdded { return handle }
            try prepare()
        }
    }

    /// Ends a timer. Returns true for the call that ended it, but not if somebody was told before that it had ended
    /// with its target.
    @discardableResult func end(_ record: Record, _ ending: TimerEnding, _ wait: HandlerWait? = nil) -> Bool {
        let endsNow = decide(inForkedChild: false) { state in
            let endsNow = state.end(record, ending)
            if let wait { record.awaitReturn(wait) }
            return endsNow
        }
        // Read without the lock: nobody is told of a released target any more.
        return endsNow && !record.user.isOrphan
    }

    /// Ends a timer whose handler threw an error, which `onError` was told or not. The handler is still running.
    func end(_ record: Record, failed error: any Error, isTold: Bool) {
        let isUnheard = decide(inForkedChild: false) { state in
            guard state.end(record, .failed, sparesTask: true) else { return false }
            let cold = record.needCold()
            cold.error = error
            return !isTold && cold.onEnd == nil
        }
        if isDebugBuild, isUnheard { TimerWarning.unheardError.write(for: record, "\(error)") }
    }

    func pause(_ record: Record, keeping kept: PreciseTimer.PauseKeeping) -> Bool {
        locked(inForkedChild: false) { state in
            // Its last tick could not come.
            if record.timing.isFinishing { return false }
            guard state.scheduler.pause(record) else { return false }
            if case .remaining = kept { state.hold(record) }
            return true
        }
    }

    func resume(_ record: Record) -> Bool {
        request { state in
            record.user.isOrphan ? nil : state.now.flatMap { state.scheduler.resume(record, at: $0.nanoseconds) }
        }
    }

    func restart(_ record: Record) -> Bool {
        request { state in
            guard record.mayGoOn else { return nil }
            return state.now.flatMap { state.scheduler.restart(record, at: $0.nanoseconds) }
        }
    }

    /// Lets a timer end after one more tick. Returns false if it is paused or had ended, or has no last tick. The
    /// caller waits for the return of the last handler, unless it is inside a handler of the timer.
    func finish(_ record: Record, _ wait: HandlerWait) -> Bool {
        if record.user.target is any WithoutLastTick { return false }
        return request { state in
            if record.user.isOrphan { return nil }
            guard let now = state.now, let order = state.scheduler.finish(record, at: now.nanoseconds) else {
                return nil
            }
            // Nobody waits for a handler from inside, but the timer may have to end with it.
            let wait = record.user.runner.isCaller ? HandlerWait(endsTimers: wait.endsTimers) : wait
            record.awaitLastReturn(wait)
            return order
        }
    }

    func fire(_ record: Record) -> Bool {
        request { state in
            // Its last tick is on its way, or is there.
            record.timing.isFinishing ? nil : state.now.flatMap { state.scheduler.fire(record, at: $0.nanoseconds) }
        }
    }

    func reschedule(_ record: Record, _ schedule: PreciseTimer.Schedule) throws(TimerError) {
        if let rule = schedule.rule { return try reschedule(record, by: rule) }
        try reschedule(record, schedule.resolved(on: clock), by: nil)
    }

    /// Starts a timer anew, on deadlines that a rule computes or on others.
    @inline(__always) func reschedule(
        _ record: Record,
        _ schedule: ResolvedSchedule,
        by rule: DeadlineRule?,
        asOf checks: Int = 0,
        keepsPhase: Bool = false
    ) throws(TimerError) {
        var failure: TimerError?
        let isDone = request { state in
            guard record.mayGoOn, state.alarm != nil else { return nil }
            if keepsPhase, record.timing.changeSteps(to: schedule) { return .leave }
            if record.cold?.rule != nil || rule != nil { state.follow(rule, by: record, asOf: checks) }
            let now = state.start(of: schedule)
            if record.timing.isHeld { state.hold(record, at: schedule.countsFromNow ? now : nil) }
            guard let order = state.scheduler.reschedule(record, schedule, at: now) else { return nil }
            if case .leave = order { return .leave }
            state.arm(order)
            failure = state.teardown.more?.failure?.error
            return .leave
        }
        if let failure { throw failure }
        if !isDone { throw whyNotRescheduled(record) }
    }

    /// Gives a timer another period from its next deadline on, or from now on if it has none.
    func changePeriod(_ record: Record, _ schedule: PreciseTimer.Schedule) throws(TimerError) {
        let resolved = try schedule.resolved(on: clock)
        if !schedule.isPeriodOnly || read(record, { _ in record.timing.isComputed }) == true {
            let advice = "only `.every(period)` and `.rate(number, per: duration)` have a phase"
            throw PreciseTimer.Schedule.refusal("\(schedule) in the phase of another schedule (\(advice))")
        }
        try reschedule(record, resolved, by: nil, keepsPhase: true)
    }

    /// Sets a timer on demand, unless it has ended or is being finished. Returns whether it was set.
    func setUnlessFinishing(_ record: Record, to instant: TimerInstant) -> Bool {
        request { state in
            if record.hasEnded || record.timing.isFinishing { return nil }
            if record.timing.isHeld { state.hold(record) }
            let schedule = ResolvedSchedule(.at(instant.nanoseconds), .once)
            return state.scheduler.reschedule(record, schedule, at: 0)
        }
    }

    /// The error of a timer that could not be rescheduled.
    func whyNotRescheduled(_ record: Record) -> TimerError {
        if lock.isOfAnotherProcess { return .inForkedChild("rescheduling a timer") }
        let (end, isFinishing) = locked { _ in (record.endReason, record.timing.isFinishing) }
        let cause = isFinishing ? "finish() was called" : "its service ends"
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
