internal import TimerAlarms
internal import TimerCore

/// What runs a service: its state under one lock, and the way of each timer through it. Nothing of the user's is called
/// or released while the lock is held.
///
/// It outlives the service where a handle does: the handles of ended timers can be asked how they ended, when the
/// service's thread has long gone.
final class ServiceCore: Sendable {
    let state: Lock<ServiceState>
    /// Held by the thread that starts the service, while others that need it started wait.
    let starting = Lock(false)
    /// The process that made the service: threads do not survive a fork, and a lock may be held for ever there.
    private let processID = Process.id

    /// The clock that all instants are of.
    private let clock: TimerClock

    init(_ state: sending ServiceState) {
        clock = state.scheduler.clock
        self.state = Lock(state)
    }

    /// Whether this is a forked child of the process that made the service. Asked before the lock is taken.
    var isOfAnotherProcess: Bool { Process.id != processID }

    /// Changes the state. Where the alarm turns out not to work any more, all timers end.
    func change<Result: Sendable>(_ body: (inout sending ServiceState) -> Result) -> Result {
        let (result, hasFailed) = state.withLock { (body(&$0), $0.hasFailed) }
        if hasFailed, let failure = state.withLock({ $0.takeFailure() }) { fail(failure) }
        return result
    }

    // MARK: Scheduling

    /// Takes a timer in, whose destination is made from its handle, and sets the alarm if its first deadline is the
    /// earliest of all.
    func admit(
        _ schedule: PreciseTimer.Schedule,
        _ rules: TimerRules,
        _ description: Description,
        service: TimerService,
        handleIsTarget: Bool,
        destination: (PreciseTimer) -> Destination
    ) throws(TimerError) -> PreciseTimer {
        if isOfAnotherProcess { throw .inForkedChild("scheduling a timer") }
        try schedule.validate(on: clock)
        while true {
            let admission = state.withLock { state -> (timer: PreciseTimer, failure: ServiceState.Failure?)? in
                guard let alarm = state.readyAlarm else { return nil }
                let id = state.admit(schedule.grid(from: alarm.now), rules, service: service)
                let timer = PreciseTimer(id, of: self, label: description.label, isTarget: handleIsTarget)
                let failure = state.takeFailure()
                let record = Record(description, destination(timer), handleIsTarget: handleIsTarget)
                // If the schedule is refused there was no timer whose end could be heard.
                if failure != nil { record.description.onEnd = nil }
                state.keep(id, record)
                return (timer, failure)
            }
            guard let admission else {
                try prepare()
                continue
            }
            guard let failure = admission.failure else { return admission.timer }
            fail(failure)
            throw failure.error
        }
    }

    // MARK: From deadline to handler

    /// The alarm has fired: delivers what is due, and sets the alarm for what comes next.
    func fire(_ run: Int) {
        guard var round = change({ $0.look(run) }) else { return }
        var delivered: Called?
        while true {
            let step = change { $0.advance(&round, after: delivered, of: self) }
            delivered = nil
            switch step {
            case .deliver(let delivery): delivered = delivery.perform(of: self, readingClockOf: round.alarm)
            case .send(let hop, let road): road.send(hop)
            case .bid(let box): box.perform()
            case .done: return
            }
        }
    }

    /// Decides on the tick of a hop that has arrived; nil where there is none any more.
    func begin(_ hop: Hop, lookedAt look: TimerInstant, by runner: Runner?) -> Call? {
        change { $0.begin(hop.claim, woke: hop.woke, lookedAt: look, by: runner) }
    }

    /// Ends the delivery of a hop. True where another late tick is to be delivered by it.
    func finish(_ delivered: Called) -> Bool {
        var (farewell, again) = change { $0.finish(delivered) }
        farewell?.perform()
        return again != nil
    }

    /// The actor of a timer that has not ended; nil if the actor is gone, too.
    func actor(of timer: TimerID) -> (any Actor)? {
        state.withLock { $0.record(of: timer).destination?.isolatedRecipient?.actor }
    }

    // MARK: Control

    /// Ends a timer. True for the call that ended it.
    @discardableResult
    func end(_ timer: TimerID, _ reason: PreciseTimer.EndReason) -> Bool {
        if isOfAnotherProcess { return false }
        guard var farewell = change({ $0.end(timer, reason) }) else { return false }
        farewell.perform()
        return true
    }

    /// Ends a timer, and says whether a handler is running that the caller is not inside of; `resume` is called when it
    /// has returned.
    func end(
        _ timer: TimerID,
        _ reason: PreciseTimer.EndReason,
        _ resume: @escaping @Sendable () -> Void
    ) -> (isEnding: Bool, mustWait: Bool) {
        if isOfAnotherProcess { return (false, false) }
        var (farewell, mustWait) = change { state in
            let farewell = state.end(timer, reason)
            let record = state.record(of: timer)
            guard let runner = record.runner, !runner.isCaller else { return (farewell, false) }
            record.waiting.append(resume)
            return (farewell, true)
        }
        farewell?.perform()
        return (farewell != nil, mustWait)
    }

    func pause(_ timer: TimerID) -> Bool {
        if isOfAnotherProcess { return false }
        return change { $0.scheduler.pause(timer) }
    }

    func resume(_ timer: TimerID) -> Bool {
        if isOfAnotherProcess { return false }
        return change { $0.carryOut($0.scheduler.resume(timer)) }
    }

    func fire(_ timer: TimerID) -> Bool {
        if isOfAnotherProcess { return false }
        return change { state in
            guard let now = state.alarm?.now else { return false }
            return state.carryOut(state.scheduler.fire(timer, at: now))
        }
    }

    func reschedule(_ timer: TimerID, _ schedule: PreciseTimer.Schedule) throws(TimerError) {
        if isOfAnotherProcess { throw .inForkedChild("rescheduling a timer") }
        let failure = try state.withLock { state throws(TimerError) in
            try schedule.validate(on: clock)
            guard let now = state.alarm?.now,
                state.carryOut(state.scheduler.reschedule(timer, on: schedule.grid(from: now)))
            else { throw TimerError(.timerEnded, "rescheduling a timer that has ended (schedule a new one)") }
            return state.takeFailure()
        }
        guard let failure else { return }
        fail(failure)
        throw failure.error
    }

    // MARK: What is known

    /// The time on the service's clock.
    var now: TimerInstant {
        if isOfAnotherProcess { return KernelClock.now(clock) }
        return nowOfAlarm ?? KernelClock.now(clock)
    }

    /// The time on the clock of a running alarm.
    var nowOfAlarm: TimerInstant? { state.withLock { $0.alarm }?.now }

    /// How many timers have not ended.
    var pendingCount: Int { state.withLock { $0.scheduler.count } }

    /// How many slots there are.
    var slotCapacity: Int { state.withLock { $0.scheduler.slotCapacity } }

    /// When the alarm is to fire next.
    var nextLook: TimerInstant? { state.withLock { $0.scheduler.nextLook } }

    /// What the scheduler knows of a timer that has not ended.
    func entry(of timer: TimerID) -> TimerEntry? {
        if isOfAnotherProcess { return nil }
        return state.withLock { state in state.scheduler[timer].flatMap { $0.hasEnded ? nil : $0 } }
    }

    /// What was said of a timer, while its handler runs or its handle exists.
    func description(of timer: TimerID) -> Description { state.withLock { $0.record(of: timer).description } }

    /// How a timer stands; a target found gone ends it.
    func currentState(of timer: TimerID) -> PreciseTimer.State {
        if isOfAnotherProcess { return .ended(.backendFailed(.inForkedChild("reading a timer"))) }
        // What leaves the lock is the target, and nothing that the handler holds: that is the cancel's to release.
        let (ending, target, reason, isPaused) = state.withLock { state in
            let record = state.record(of: timer)
            let isPaused = state.scheduler[timer]?.isPaused ?? false
            return (record.ending, record.destination?.promotedTarget, record.reasonWhenTargetIsGone, isPaused)
        }
        if let ending { return .ended(ending) }
        if target != nil { return isPaused ? .paused : .scheduled }
        end(timer, reason)
        return .ended(state.withLock { $0.record(of: timer).ending } ?? reason)
    }

    /// What there is to know of the timers that have not ended.
    var snapshots: [TimerService.Snapshot] {
        if isOfAnotherProcess { return [] }
        // The promoted targets are released with the pairs, outside the lock.
        return state.withLock { $0.snapshots }.map(\.snapshot)
    }

    // MARK: The end

    /// The handle of a timer is gone; where it was the target, the timer ends.
    func handleReleased(_ timer: TimerID, isTarget: Bool) {
        if isOfAnotherProcess { return }
        var (farewell, unticked) = change { state in
            let record = state.record(of: timer)
            record.hasHandle = false
            let farewell = isTarget ? state.end(timer, .handleReleased) : nil
            state.forgetIfOver(timer)
            let hasBegun = record.ticks > 0 || record.runner != nil
            return (farewell, farewell != nil && !hasBegun ? record.description : nil)
        }
        farewell?.perform()
        assert(unticked?.warnOfDroppedHandle() ?? true)
    }

    /// Ends all timers and the alarm.
    func shutdown() {
        close(.serviceShutDown, run: nil, TimerError(.shutDown, "scheduling on a service that was shut down"))
    }

    /// The backend does not work any more: ends its timers.
    func fail(_ failure: ServiceState.Failure) {
        close(.backendFailed(failure.error), run: failure.run, failure.error)
    }

    /// Ends all timers and the alarm; of a certain run where one is given.
    private func close(_ reason: PreciseTimer.EndReason, run: Int?, _ error: TimerError) {
        if isOfAnotherProcess { return }
        var remains = state.withLock { $0.close(run: run, reason, answering: error) }
        remains.alarm?.stop()
        for position in remains.farewells.indices { remains.farewells[position].perform() }
    }
}

extension TimerError {
    /// For whatever is asked of a parent's service in a forked child.
    static func inForkedChild(_ attempted: String) -> TimerError {
        TimerError(.forked, "\(attempted) (its service belongs to the parent process)")
    }
}
