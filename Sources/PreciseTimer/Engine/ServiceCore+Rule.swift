internal import TimerKernel

/// Timers whose deadlines a rule computes. To the scheduler each is a timer with one deadline, which gets another one
/// in time: before the handler is called, and when the wall clock was set.
extension ServiceCore {
    /// Adds a timer whose deadlines a rule computes.
    @inline(never)
    func admit(_ record: Record, by rule: DeadlineRule, _ service: AnyObject) throws(TimerError) -> PreciseTimer {
        record.onDemand.extras.chain = DeadlineChain(rule, deadline: .max)
        record.intercept { [weak record] tick in record.map { self.goOn($0, tick) } ?? tick }
        let watch = clock == .wall ? try watchRule(of: record) : nil
        if let watch {
            let onEnd = record.onDemand.extras.onEnd
            record.onDemand.extras.onEnd = { [weak record] reason in
                if let record { watch.remove(record) }
                onEnd?(reason)
            }
        }
        do throws(TimerError) {
            let (first, looks) = try first(of: rule)
            locked(inForkedChild: ()) { _ in record.side?.extras.chain?.deadline = first }
            let timer = try admit(record, .once(at: TimerInstant(nanoseconds: first, clock: clock)), service)
            recompute(record, ifLookedAtSince: looks)
            return timer
        } catch {
            watch?.remove(record)
            throw error
        }
    }

    /// Moves a timer on to its next deadline. Called in each delivery, before the handler, without the lock. Returns
    /// the tick with its true number, and with the missed deadlines.
    func goOn(_ record: Record, _ tick: PreciseTimer.Tick) -> PreciseTimer.Tick {
        typealias Begun = (DeadlineChain, isOfChain: Bool, sequence: UInt64, LatePolicy, end: UInt64, looks: Int)
        let begun = locked(inForkedChild: nil) { state -> Begun? in
            guard var chain = record.side?.extras.chain else { return nil }
            let isOfChain = chain.deadline == tick.deadline.nanoseconds
            if isOfChain {
                (chain.served, chain.deadline) = (chain.deadline, .max)
                record.side?.extras.chain = chain
            }
            // The last tick of a timer that is finished stands for all deadlines before that.
            let policy = record.isFinishing ? .skip : record.side?.policy ?? .skip
            return (chain, isOfChain, record.sequence, policy, record.end, state.ruleLooks)
        }
        // Without a chain, the timer has got another kind of schedule.
        guard let (chain, isOfChain, sequence, policy, end, looks) = begun else { return tick }
        // An extra tick does not move the deadlines, nor does one of a schedule that was replaced meanwhile.
        if !isOfChain { return tick.with(index: chain.index, missed: 0) }
        let (next, missed) = chain.following(at: min(tick.delivered.nanoseconds, end), on: clock, policy)
        let failure = locked(inForkedChild: nil) { state -> ServiceState.Failure? in
            if missed > 0, !record.hasEnded { state.observer?.missed(missed, by: record) }
            // If the user has rescheduled the timer meanwhile, its new deadline stays.
            guard record.sequence == sequence, !record.hasEnded, var new = record.side?.extras.chain else { return nil }
            new.index = new.index.saturatingAdding(missed).saturatingAdding(1)
            new.burst = next.map { $0 <= tick.delivered.nanoseconds } ?? false ? new.burst + 1 : 0
            return state.move(record, new, to: next)
        }
        if let failure { fail(failure) }
        recompute(record, ifLookedAtSince: looks)
        return tick.with(index: chain.index, missed: missed)
    }

    /// Computes the next deadline anew, because the wall clock or the time zone may have changed. A deadline that has
    /// passed stays: its tick is due. Whoever is computing a deadline of the timer at this moment does so once more.
    func recompute(_ record: Record) {
        let begun = locked(inForkedChild: nil) { state -> (DeadlineChain, UInt64)? in
            state.ruleLooks &+= 1
            // The chain of a timer that has ended is released without the lock.
            guard !record.hasEnded, record.place >= 0, let chain = record.side?.extras.chain else { return nil }
            return chain.deadline == .max ? nil : (chain, record.sequence)
        }
        guard let (chain, sequence) = begun else { return }
        let now = now.nanoseconds
        guard now < chain.deadline, let next = chain.rule.next(after: chain.origin(at: now), on: clock) else { return }
        let (isLate, failure) = locked(inForkedChild: (false, nil)) { state -> (Bool, ServiceState.Failure?) in
            let new = record.hasEnded ? nil : record.side?.extras.chain
            guard let new, new.rule == chain.rule else { return (false, nil) }
            if new.deadline == .max || record.sequence != sequence { return (true, nil) }
            return (false, new.deadline == next ? nil : state.move(record, new, to: next))
        }
        if let failure { fail(failure) }
        if isLate { recompute(record) }
    }

    /// The first deadline of a rule, and how many looks there had been before it was computed.
    private func first(of rule: DeadlineRule) throws(TimerError) -> (UInt64, looks: Int) {
        let looks = locked(inForkedChild: 0) { $0.ruleLooks }
        return (try rule.first(after: now), looks)
    }

    /// Computes the next deadline anew if a look came while it was computed.
    private func recompute(_ record: Record, ifLookedAtSince looks: Int) {
        if locked(inForkedChild: looks, { $0.ruleLooks }) != looks { recompute(record) }
    }

    /// Gives a timer another schedule if a rule computes the former one, or the new one.
    @inline(never) func rescheduleComputed(_ record: Record, _ schedule: PreciseTimer.Schedule) throws(TimerError) {
        if let rule = schedule.special?.rule { return try reschedule(record, by: rule) }
        // A rule is the user's, and is released outside the lock.
        var former: DeadlineChain?
        defer { withExtendedLifetime(former) {} }
        try reschedule(record, on: schedule.plan(on: clock)) { former = record.side?.extras.chain.take() }
    }

    /// Gives a timer another rule.
    ///
    /// - Throws: `TimerError` if the rule has no deadline, or if the timer began with another kind of schedule: its
    ///   handler then does not ask for the next deadline.
    private func reschedule(_ record: Record, by rule: DeadlineRule) throws(TimerError) {
        let (first, looks) = try first(of: rule)
        var former: DeadlineChain?
        let (isComputed, isDone, failure) = locked(inForkedChild: (true, false, nil)) {
            state -> (Bool, Bool, ServiceState.Failure?) in
            guard record.user.isComputed else { return (false, false, nil) }
            if !record.mayGoOn || state.alarm == nil { return (true, false, nil) }
            former = record.side?.extras.chain
            return (true, true, state.move(record, DeadlineChain(rule, deadline: first), to: first, anew: true))
        }
        withExtendedLifetime(former) {}
        if let failure {
            fail(failure)
            throw failure.error
        }
        if !isComputed {
            let attempted = "rescheduling to \(rule.name) a timer that began with another kind of schedule"
            throw TimerError(.invalidSchedule, "\(attempted) (end it and schedule a new one)")
        }
        if !isDone { throw whyNotRescheduled(record) }
        recompute(record, ifLookedAtSince: looks)
    }
}

extension ServiceState {
    /// Gives a timer its next computed deadline; nil after the last one, which ends the timer when its handler has
    /// returned. A requested extra tick stays, unless the timer starts anew. Returns a failure if the alarm refuses.
    fileprivate mutating func move(
        _ record: Record,
        _ chain: DeadlineChain,
        to next: UInt64?,
        anew: Bool = false
    ) -> Failure? {
        var chain = chain
        chain.deadline = next ?? .max
        record.onDemand.extras.chain = chain
        guard let next, anew || !record.isFinishing else { return nil }
        if anew, record.isHeld { record.forgetHold() }
        let extra = anew ? .max : record.side?.extra ?? .max
        var order = scheduler.reschedule(record, on: Grid(origin: next)) ?? .leave
        // The alarm's latest order holds for both deadlines.
        if extra != .max, let other = scheduler.fire(record, at: extra), other != .leave { order = other }
        return arm(order)
    }
}

extension PreciseTimer.Tick {
    /// The tick with other counts.
    fileprivate func with(index: UInt64, missed: UInt64) -> PreciseTimer.Tick {
        let due = Due(index: index, deadline: deadline.nanoseconds, missed: missed, isExtra: isExtra)
        return PreciseTimer.Tick(due, woke: woke, delivered: delivered)
    }
}
