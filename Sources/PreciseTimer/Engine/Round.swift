internal import TimerAlarms
internal import TimerKernel

/// The next action of a round, without the lock.
enum Step: ~Copyable {
    /// Call a handler here, and come back with the delivery.
    case call(Record, Expiration)
    /// Send a tick to its destination.
    case send(Record)
    /// Ask again: a teardown came first, or much work remains, and other threads may need the lock.
    case again
    /// The round is over, and the alarm is set.
    case sleep
}

/// The steps from a firing of the alarm to the handlers that need the lock.
extension ServiceState {
    /// Begins a round. Returns nil if an earlier epoch's alarm has fired.
    mutating func beginRound(_ epoch: Int) -> (alarm: any TimerAlarm, woke: TimerInstant)? {
        guard epoch == self.epoch, let alarm else { return nil }
        var woke = alarm.now
        // An alarm that fires early on purpose leaves time for the decision, which is made as of the deadline. The wait
        // for it comes at the end: `now(notBefore:)`.
        if let next = scheduler.nextWakeTime, next > woke.nanoseconds, next - woke.nanoseconds <= alarm.lead {
            woke = TimerInstant(nanoseconds: next, clock: clock)
        }
        observer?.checkClock(at: woke.nanoseconds)
        scheduler.beginRound(at: woke.nanoseconds)
        return (alarm, woke)
    }

    /// The step after another one: puts back the timer that was just called, if any, finds the first one that is due,
    /// and decides on its tick.
    @inline(__always) mutating func step(
        _ epoch: Int,
        at woke: TimerInstant,
        after last: borrowing Step,
        _ delivered: DeliveredTick?,
        by thread: Runner
    ) -> Step {
        switch last {
        case .call(let record, _):
            putBack(record, delivered, decidedAt: woke)
            // The teardown comes before the next decision, because `onEnd` may change the next timer.
            if !teardown.isEmpty { return .again }
        default: break
        }
        guard epoch == self.epoch else { return .sleep }
        guard let record = scheduler.firstDue()?.record else {
            if scheduler.hasDue { return .again }
            arm(scheduler.endRound(at: scheduler.hasDeferred ? now?.nanoseconds ?? 0 : 0))
            return .sleep
        }
        if case .inline = record.user.destination, let expiration = scheduler.begin(record, at: woke.nanoseconds) {
            record.user.runner = thread
            return .call(record, expiration)
        }
        scheduler.send(record)
        return .send(record)
    }

    /// Decides the tick of a hop that has arrived. No tick if the timer has ended, is paused, or was rescheduled to a
    /// later deadline; a timer that goes on is then back in the queue.
    mutating func begin(_ record: Record, at instant: TimerInstant, by runner: Runner) -> Expiration? {
        observer?.checkClock(at: instant.nanoseconds)
        bringExtraForward(record)
        if let expiration = scheduler.begin(record, at: instant.nanoseconds) {
            record.user.runner = runner
            return expiration
        }
        // A timer that had ended was finalized when it ended.
        if let order = scheduler.putBack(record, decidedAt: instant.nanoseconds, now: instant.nanoseconds) {
            arm(order)
        } else {
            end(record, .completed)
        }
        return nil
    }

    /// Ends a delivery: the timer waits for its next deadline, has ended, or is on its way again. No tick was delivered
    /// if the target was released.
    mutating func putBack(
        _ record: Record,
        _ delivered: DeliveredTick?,
        decidedAt instant: TimerInstant,
        byHop: Bool = false
    ) {
        record.user.runner = .nobody
        if let delivered {
            record.user.ticks &+= 1
            record.user.lastLateness = delivered.lateness
        } else {
            end(record, record.endingIfTargetIsGone, sparesTask: true)
        }
        if byHop { bringExtraForward(record) }
        // The clock is read only for a timer whose next tick depends on it.
        let now = record.countsFromReturn ? self.now ?? instant : instant
        let order = scheduler.putBack(record, decidedAt: instant.nanoseconds, byHop: byHop, now: now.nanoseconds)
        if observer != nil, let delivered { observe(record, delivered) }
        if order == nil || record.hasEnded { return concludeDelivery(of: record) }
        // There are orders only outside a round.
        if let order, order != .leave { arm(order) }
    }

    /// An extra tick that was asked for is due by now, even if the clock was set back since. The clock is read here,
    /// because an earlier reading may be of a time before the call.
    private func bringExtraForward(_ record: Record) {
        if record.timing.hasExtra, let now { record.timing.bringExtraForward(to: now.nanoseconds) }
    }

    /// Shows the observer a tick whose handler has returned.
    // Not inlined: here no other thread can change the state, so neither the observer nor the alarm is retained.
    @inline(never) private mutating func observe(_ record: Record, _ delivered: DeliveredTick) {
        guard observer?.isAwake ?? false else { return }
        let (now, isAlone) = (now?.nanoseconds, scheduler.count < (record.hasEnded ? 1 : 2))
        observer?.delivered(record, delivered, now: now, isAlone: isAlone)
    }

    /// Ends the delivery of a timer that has ended, or that has no tick left.
    // Not inlined: few deliveries take this way, and that of the others stays short.
    @inline(never) private mutating func concludeDelivery(of record: Record) {
        if end(record, .completed) { return }
        observer?.ended(record)
        teardown.add(ended: record)
    }
}

/// The steps from a firing of the alarm to the handlers that run without the lock.
extension ServiceCore {
    /// Called when the alarm fires: delivers the due ticks, then sets the alarm for the next deadline.
    func fired(_ epoch: Int) {
        guard let (alarm, woke) = decide(inForkedChild: nil, { $0.beginRound(epoch) }) else { return }
        var step = Step.again
        var delivered: DeliveredTick?
        let thread = Runner.thisThread
        roundThread.enter()
        while true {
            step = decide(inForkedChild: .sleep, onServiceThread: true) {
                $0.step(epoch, at: woke, after: step, delivered, by: thread)
            }
            // Only the step after a call asks for it. Forgotten here, it is not copied from step to step, which takes
            // 8 to 22 instructions for each tick. As a part of the step it would take more.
            delivered = nil
            switch step {
            case .call(let record, let expiration):
                delivered =
                    expiration.isComputed
                    ? callComputed(record, expiration, woke: woke, alarm)
                    : record.call(expiration, woke: woke, alarm, in: self)
            case .send(let record):
                _ = alarm.now(notBefore: woke)
                setup.asOrdinaryThread {
                    record.user.destination.send(Hop(core: self, record: record, woke: woke, alarm: alarm))
                }
            case .again: break
            case .sleep:
                roundThread.leave()
                return reportSlowHandlers()
            }
        }
    }

    /// Calls the handler of a timer whose next deadline must be computed first. Nil if that ended the timer.
    @inline(never) private func callComputed(
        _ record: Record,
        _ expiration: Expiration,
        woke: TimerInstant,
        _ alarm: any TimerAlarm
    ) -> DeliveredTick? {
        advance(record, expiration, at: alarm.now(notBefore: woke))
            .flatMap { record.call($0, woke: woke, alarm, in: self) }
    }

    /// Decides the tick of a hop that has arrived, on a thread or in a task; nil if the timer must not tick.
    func begin(_ hop: Hop, at instant: TimerInstant, in task: TaskDelivery? = nil) -> Expiration? {
        let runner = task.map(Runner.task) ?? .thisThread
        let expiration = decide(inForkedChild: nil) { $0.begin(hop.record, at: instant, by: runner) }
        guard let expiration, expiration.isComputed else { return expiration }
        // The rule is inside the handler's task, too.
        let next = TaskDelivery.$current.withValue(task ?? TaskDelivery.current) {
            advance(hop.record, expiration, at: hop.alarm.now(notBefore: hop.woke))
        }
        if next == nil { _ = conclude(hop, decidedAt: instant, nil) }
        return next
    }

    /// Ends the delivery of a hop. Returns true if the same hop must deliver another late tick.
    func conclude(_ hop: Hop, decidedAt instant: TimerInstant, _ delivered: DeliveredTick?) -> Bool {
        let again = decide(inForkedChild: false) { state in
            state.putBack(hop.record, delivered, decidedAt: instant, byHop: true)
            return hop.record.stage == .dispatched
        }
        reportSlowHandlers()
        return again
    }
}
