internal import TimerAlarms
internal import TimerKernel

/// What comes next in a look, to be done without the lock.
enum Step: ~Copyable {
    /// Call a handler here.
    case call(Record, Due)
    /// Send a tick to its destination.
    case send(Record)
    /// Say the farewell of a timer. The service is there if this was its last timer.
    case sayFarewell(Record, AnyObject?)
    /// Tell those who wait for a last handler that its timer goes on.
    case tell([HandlerWait])
    /// Ask again: much work remains, and other threads may need the lock.
    case askAgain
    /// The look is over, and the alarm is set.
    case sleep
    /// The look is over, and the alarm could not be set.
    case fail(ServiceState.Failure)
}

/// The steps from a firing of the alarm to the handlers that need the lock.
extension ServiceState {
    /// Begins a look. Returns nil if an earlier run's alarm has fired.
    mutating func beginLook(_ run: Int) -> (alarm: any TimerAlarm, woke: TimerInstant)? {
        guard run == self.run, let alarm else { return nil }
        var woke = alarm.now
        // An alarm that fires early on purpose leaves time for the decision, which is made as of the deadline. The wait
        // for it comes at the end: `now(notBefore:)`.
        if let next = scheduler.nextLook, next > woke.nanoseconds, next - woke.nanoseconds <= alarm.lead {
            woke = TimerInstant(nanoseconds: next, clock: clock)
        }
        scheduler.beginLook(at: woke.nanoseconds)
        return (alarm, woke)
    }

    /// The step after another one: puts back the timer that was just called, if any, finds the first one that is due,
    /// and decides on its tick.
    mutating func step(_ run: Int, lookedAt woke: TimerInstant, after last: borrowing Step, _ served: Served?) -> Step {
        switch last {
        case .call(let record, _):
            if let failure = putBack(record, served, lookedAt: woke) { return .fail(failure) }
            // The farewell comes before the next decision, because `onEnd` may change the next timer.
            if record.hasEnded { return .sayFarewell(record, takeServiceIfIdle()) }
            if record.hasLeftWaiting { return .tell(record.takeWaiting()) }
        default: break
        }
        guard run == self.run else { return .sleep }
        guard let record = scheduler.firstDue() else {
            if scheduler.hasDue { return .askAgain }
            if let failure = arm(scheduler.endLook()) { return .fail(failure) }
            return .sleep
        }
        if case .inline = record.user.destination, let due = scheduler.begin(record, at: woke.nanoseconds) {
            record.user.runner = .thisThread
            return .call(record, due)
        }
        scheduler.send(record)
        return .send(record)
    }

    /// Decides the tick of a hop that has arrived. No tick if the timer has ended, is paused, or was rescheduled to a
    /// later deadline; a timer that goes on is then back in its queue.
    mutating func begin(_ record: Record, lookedAt look: TimerInstant, by runner: Runner) -> (Due?, Failure?) {
        if let due = scheduler.begin(record, at: look.nanoseconds) {
            record.user.runner = runner
            return (due, nil)
        }
        return (nil, arm(scheduler.putBack(record, lookedAt: look.nanoseconds, now: look.nanoseconds)))
    }

    /// Ends a delivery: the timer waits for its next deadline, has ended, or is on its way again. Nothing was served if
    /// the target was released. Returns a failure if the alarm refuses.
    mutating func putBack(
        _ record: Record,
        _ served: Served?,
        lookedAt look: TimerInstant,
        byHop: Bool = false
    ) -> Failure? {
        record.user.runner = .nobody
        if let served {
            record.user.ticks += 1
            record.user.lastLateness = served.lateness
            if let observer, observer.isAwake { observer.delivered(record, served, now: now?.nanoseconds) }
        } else {
            endAfterDelivery(record, record.endingIfTargetIsGone)
        }
        // The clock is read only for a timer whose next deadline depends on it.
        let now = record.awaitsReturn ? self.now ?? look : look
        let order = scheduler.putBack(record, lookedAt: look.nanoseconds, byHop: byHop, now: now.nanoseconds)
        if record.ending == .completed, let observer { observer.ended(record) }
        if record.hasLeftWaiting, record.isAwaitedAsLast { endAfterDelivery(record, .cancelled) }
        // There are no orders during a look.
        if case .leave = order { return nil }
        return arm(order)
    }

    // Not inlined: few deliveries take this way, and that of the others stays short.
    @inline(never) private mutating func endAfterDelivery(_ record: Record, _ ending: TimerEnding) {
        _ = end(record, ending)
    }

    /// Carries out the scheduler's order for the alarm. Returns a failure if the alarm refuses.
    mutating func arm(_ order: AlarmOrder) -> Failure? {
        guard let alarm else { return nil }
        do throws(TimerError) {
            switch order {
            case .leave: break
            case .disarm: try alarm.set(nil)
            case .set(let nanoseconds):
                let deadline = TimerInstant(nanoseconds: nanoseconds, clock: clock)
                if let period = scheduler.periodFromNext {
                    if try alarm.set(deadline, every: period) { scheduler.alarmGoesOn(every: period) }
                } else {
                    try alarm.set(deadline)
                }
            }
            return nil
        } catch {
            return Failure(error: error, run: run)
        }
    }
}

/// The steps from a firing of the alarm to the handlers that run without the lock.
extension ServiceCore {
    /// Called when the alarm fires: delivers the due ticks, then sets the alarm for the next deadline.
    func fired(_ run: Int) {
        guard let (alarm, woke) = locked(inForkedChild: nil, { $0.beginLook(run) }) else { return }
        var step = Step.askAgain
        var served: Served?
        while true {
            step = locked(inForkedChild: .sleep) { $0.step(run, lookedAt: woke, after: step, served) }
            switch step {
            case .call(let record, let due): served = record.call(due, woke: woke, alarm)
            case .send(let record):
                _ = alarm.now(notBefore: woke)
                setup.asOrdinaryThread {
                    record.user.destination.send(Hop(core: self, record: record, woke: woke, alarm: alarm))
                }
            case .sayFarewell(let record, _): setup.asOrdinaryThread { record.sayFarewell() }
            case .tell(let waiting): for wait in waiting { wait.handlerReturned(goesOn: true) }
            case .askAgain: break
            case .sleep: return reportSlowHandlers()
            case .fail(let failure): return fail(failure)
            }
        }
    }

    /// Decides the tick of a hop that has arrived; nil if the timer must not tick.
    func begin(_ hop: Hop, lookedAt look: TimerInstant, by runner: Runner) -> Due? {
        let (due, failure) = locked(inForkedChild: (nil, nil)) { $0.begin(hop.record, lookedAt: look, by: runner) }
        if let failure { fail(failure) }
        return due
    }

    /// Ends the delivery of a hop. Returns true if the same hop must deliver another late tick.
    func finish(_ hop: Hop, lookedAt look: TimerInstant, _ served: Served?) -> Bool {
        let record = hop.record
        var left: [HandlerWait] = []
        let (failure, isOver, again, service) = locked(inForkedChild: (nil, false, false, nil)) { state in
            let failure = state.putBack(record, served, lookedAt: look, byHop: true)
            if record.hasLeftWaiting { left = record.takeWaiting() }
            return (failure, record.hasEnded, record.whereabouts == .onItsWay, state.takeServiceIfIdle())
        }
        reportSlowHandlers()
        if let failure { fail(failure) }
        if isOver { record.sayFarewell() }
        for wait in left { wait.handlerReturned(goesOn: true) }
        withExtendedLifetime(service) {}
        return again
    }
}
