internal import Dispatch
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

    init(_ state: consuming sending ServiceState, setup: ThreadSetup) {
        clock = state.clock
        steppingAlarm = state.steppingAlarm
        self.setup = setup
        self.state = state
    }

    /// Runs `body` on the state while the lock is held.
    @inline(__always)
    func locked<Result: ~Copyable, Failure: Error>(
        _ body: (inout ServiceState) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock.acquire()
        defer { lock.release() }
        return try body(&state)
    }

    /// The same. In a forked child, where the lock may be held for ever, returns `answer` instead.
    @inline(__always)
    func locked<Result: ~Copyable>(
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
        let handle = PreciseTimer(record, of: self)
        record.adopt(handle)
        if lock.isOfAnotherProcess { throw .inForkedChild("scheduling a timer") }
        let plan = try schedule.plan(on: clock)
        while true {
            // Another process was ruled out above.
            let (isAdmitted, failure) = locked { state -> (Bool, ServiceState.Failure?) in
                guard state.isCaredFor, let grid = state.grid(plan) else { return (false, nil) }
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

    /// Ends a timer. Returns true for the call that ended it.
    @discardableResult
    func end(_ record: Record, _ ending: TimerEnding) -> Bool {
        end(record, ending, nil).isEnding
    }

    /// Ends a timer. `mustWait` is true if the handler is running and the caller is not inside it; `resume` is then
    /// called when the handler has returned and the farewell was said.
    func end(
        _ record: Record,
        _ ending: TimerEnding,
        _ resume: (@Sendable () -> Void)?
    ) -> (isEnding: Bool, mustWait: Bool) {
        let (isOver, service, mustWait) = locked(inForkedChild: (nil, nil, false)) { state in
            let isOver = state.end(record, ending)
            return (isOver, state.takeServiceIfIdle(), resume.map(record.awaitReturn) ?? false)
        }
        if isOver == true { record.sayFarewell() }
        withExtendedLifetime(service) {}
        return (isOver != nil, mustWait)
    }

    func pause(_ record: Record) -> Bool {
        locked(inForkedChild: false) { $0.scheduler.pause(record) }
    }

    func resume(_ record: Record) -> Bool {
        carryOut { $0.scheduler.resume(record) }.0
    }

    func fire(_ record: Record) -> Bool {
        carryOut { state in state.now.flatMap { state.scheduler.fire(record, at: $0.nanoseconds) } }.0
    }

    func reschedule(_ record: Record, _ schedule: PreciseTimer.Schedule) throws(TimerError) {
        let plan = try schedule.plan(on: clock)
        let (isDone, failure) = carryOut { state in
            state.grid(plan).flatMap { state.scheduler.reschedule(record, on: $0) }
        }
        if let failure { throw failure.error }
        if isDone { return }
        if lock.isOfAnotherProcess { throw .inForkedChild("rescheduling a timer") }
        let reason = locked { _ in record.endReason }.map { ", \($0)" } ?? ""
        let remedy = "schedule a new one, or schedule it .onDemand to set it again and again"
        throw TimerError(.timerEnded, "rescheduling a timer that has ended\(reason) (\(remedy))")
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

    // MARK: Facts

    /// The time on the service's clock.
    var now: TimerInstant { nowOfAlarm ?? clock.now }

    /// The time on the clock of a running alarm.
    var nowOfAlarm: TimerInstant? { alarm?.now }

    /// The service's alarm if its wall clock is not the kernel's, also after a shutdown.
    let steppingAlarm: (any SteppingAlarm)?

    /// The alarm of a running service.
    var alarm: (any TimerAlarm)? { locked(inForkedChild: nil) { $0.alarm } }

    /// How many timers have not ended.
    var pendingCount: Int { locked { $0.scheduler.count } }

    /// When the earliest timer is due for a look. O(n log n) if n timers were postponed, so for virtual time only.
    var nextLook: TimerInstant? {
        let next = locked { state in
            state.scheduler.settle(atMost: .max)
            return state.scheduler.nextLook
        }
        return next.map { TimerInstant(nanoseconds: $0, clock: clock) }
    }

    /// A timer's name.
    func label(of record: Record) -> String? { locked(inForkedChild: nil) { _ in record.label } }

    /// The next deadline of a timer that has not ended.
    func nextDeadline(of record: Record) -> TimerInstant? {
        let next = locked(inForkedChild: .max) { _ in record.hasEnded ? .max : record.nextDeadline }
        return TimerInstant(nanoseconds: next, clock: clock).unlessNever
    }

    /// The period of a timer that has not ended.
    func period(of record: Record) -> Duration? {
        locked(inForkedChild: nil) { _ in record.hasEnded ? nil : record.nominalPeriod }
    }

    /// A timer's name, place, state and schedule.
    func description(of record: Record) -> String {
        let (label, state, period) = locked(inForkedChild: (nil, nil, nil)) { _ in
            (
                record.label,
                record.endReason.map(PreciseTimer.State.ended) ?? (record.isPaused ? .paused : .scheduled),
                record.hasEnded ? nil : record.nominalPeriod
            )
        }
        let (file, line) = record.callSite
        let name = label.map { "timer \"\($0)\"" } ?? "timer"
        let facts = [state.map { "\($0)" } ?? "of the parent process", period.map { "every \($0.text)" }]
        return "\(name) (\(file):\(line)): " + facts.compactMap(\.self).joined(separator: ", ")
    }

    /// The state of a timer. If its target was released, this ends the timer.
    func currentState(of record: Record) -> PreciseTimer.State {
        if lock.isOfAnotherProcess { return .ended(.backendFailed(.inForkedChild("reading a timer"))) }
        let (reason, isPaused) = locked { _ in (record.endReason, record.isPaused) }
        if let reason { return .ended(reason) }
        // Only the target is promoted here, never the handler's captures: `cancel()` must be the one to
        // release those.
        if record.user.target != nil { return isPaused ? .paused : .scheduled }
        end(record, record.endingIfTargetIsGone)
        return .ended(locked { _ in record.endReason } ?? .targetReleased)
    }

    /// What a caller wants to know of each timer that has not ended, read in portions, so that other threads get the
    /// lock in between.
    func survey<Facts>(_ facts: (Record, _ isTargetAlive: Bool) -> Facts) -> [Facts] {
        var (found, seen) = ([Facts](), Set<ObjectIdentifier>())
        var position = locked(inForkedChild: 0) { $0.scheduler.count }
        // Held to the end: an `ObjectIdentifier` is unique only while its object lives.
        var records: [Record] = []
        while position > 0 {
            let sights = locked { $0.see(Scheduler<UserSide>.portion, below: position, facts) }
            position -= Scheduler<UserSide>.portion
            for (record, facts, _) in sights where seen.insert(ObjectIdentifier(record)).inserted {
                records.append(record)
                found.append(facts)
            }
        }
        return found
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
        if isEnding, isUnused { record.warnOfDroppedHandle() }
        #endif
    }

    /// Ends all timers and the alarm. Returns whether there was a service to end.
    ///
    /// Enters the group, if there is one, for each running handler that the caller is not inside of. The group is left
    /// when the handler has returned and, if this call ends the timer, the farewell was said.
    @discardableResult
    func shutdown(_ handlers: DispatchGroup? = nil) -> Bool {
        let error = TimerError(.shutDown, "scheduling on a service that was shut down")
        return close(.serviceShutDown, run: nil, error, handlers)
    }

    /// Enters a group for each running handler that the caller is not inside of. Asks in portions, so that other
    /// threads get the lock in between.
    private func awaitHandlers(_ handlers: DispatchGroup) {
        var position = locked(inForkedChild: 0) { $0.scheduler.runningCount }
        while position > 0 {
            position = locked(inForkedChild: 0) { state in
                let end = min(position, state.scheduler.runningCount)
                let begin = max(0, end - Scheduler<UserSide>.portion)
                for position in begin..<end {
                    let record = state.scheduler.running(at: position)
                    if record.awaitReturn({ handlers.leave() }) { handlers.enter() }
                }
                return begin
            }
        }
    }

    /// Ends all timers, because the backend has failed.
    func fail(_ failure: ServiceState.Failure) {
        close(.backendFailed, run: failure.run, failure.error)
    }

    /// Ends the alarm and, in portions, all timers. If `run` is given and is not the current run, this does nothing.
    @discardableResult
    private func close(
        _ ending: TimerEnding,
        run: Int?,
        _ error: TimerError,
        _ handlers: DispatchGroup? = nil
    ) -> Bool {
        let remains = locked(inForkedChild: nil) { $0.close(run: run, answering: error) }
        // No handler begins any more. After the timers have ended, a handler could return unseen, and its thread could
        // still be saying the farewell.
        if let handlers { awaitHandlers(handlers) }
        guard let remains else { return false }
        remains.alarm?.stop()
        setup.release()
        while true {
            // A callback may fork, and its child comes here, too.
            let ended = locked(inForkedChild: ServiceState.Ended()) { $0.endClosing(ending, error) }
            if ended.count == 0 { return true }
            for record in ended.records { record.sayFarewell() }
        }
    }
}

extension TimerInstant {
    /// The instant; nil if it is never.
    var unlessNever: TimerInstant? { isNever ? nil : self }
}

extension TimerError {
    /// For a call on the parent's service in a forked child.
    static func inForkedChild(_ attempted: String) -> TimerError {
        TimerError(.forked, "\(attempted) (its service belongs to the parent process)")
    }
}
