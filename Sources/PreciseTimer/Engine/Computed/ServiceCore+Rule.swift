internal import TimerKernel

/// Timers whose deadlines a rule computes: each before the handler of the previous one is called, and again after the
/// wall clock was set. The rule is the user's code, so it is asked without the lock. Each method that asks it notes the
/// number of ``ServiceState/clockChecks`` before it asks, and calls ``recompute(_:since:)`` when it has the answer.
extension ServiceCore {
    /// What a rule is asked in a delivery.
    private struct Question {
        let rule: DeadlineRule
        let sequence: UInt64
        let checks: Int
        /// Up to which instant deadlines that have passed share the tick; 0 if each has its own.
        let limit: UInt64
        let isLastTick: Bool
    }

    /// Adds a timer whose deadlines a rule computes.
    @inline(never)
    func register(_ record: Record, by rule: ScheduleRule, _ service: AnyObject) throws(TimerError) -> PreciseTimer {
        let rare = record.needRare()
        if clock == .wall { rare.ruleWatch = try watchRule(of: record) }
        do throws(TimerError) {
            let checks = locked { $0.clockChecks }
            let (rule, schedule) = try begin(rule)
            (rare.beganComputed, rare.rule) = (true, rule)
            let timer = try register(record, schedule, service)
            recompute(record, since: checks)
            return timer
        } catch {
            rare.ruleWatch?.remove(record)
            throw error
        }
    }

    /// Gives a timer another rule. A deadline that the current one has served does not come again.
    ///
    /// - Throws: `TimerError` if the rule has no deadline, or if the timer began with another kind of schedule.
    @inline(never) func reschedule(_ record: Record, by rule: ScheduleRule) throws(TimerError) {
        if lock.isOfAnotherProcess { throw .inForkedChild("rescheduling a timer") }
        let known = locked { state in
            record.rare.flatMap { $0.beganComputed ? (state.clockChecks, $0.latestDeadline) : nil }
        }
        guard let (checks, latest) = known else {
            let attempted = "rescheduling to \(rule.name()) a timer that began with another kind of schedule"
            throw TimerError(.invalidSchedule, "\(attempted) (end it and schedule a new one)")
        }
        let (own, schedule) = try begin(rule, after: latest)
        try reschedule(record, schedule, by: own)
        recompute(record, since: checks)
    }

    /// Lets a timer go on to its next deadline, while the tick of this one is being delivered. Returns the tick with
    /// the missed deadlines; nil if the timer has ended.
    @inline(never) func advance(_ record: Record, _ expiration: Expiration, at now: TimerInstant) -> Expiration? {
        // As in a handler, the target is there while the rule is asked.
        guard let target = record.user.target else { return expiration }
        defer { withExtendedLifetime(target) {} }
        let question = locked(inForkedChild: nil) { state -> Question? in
            // The timer may have got another schedule, or have ended.
            guard record.timing.awaitsComputation, !record.hasEnded, let rule = record.rare?.rule else { return nil }
            return Question(
                rule: rule,
                sequence: record.sequence,
                checks: state.clockChecks,
                limit: record.timing.restEnd(at: now.nanoseconds),
                isLastTick: !record.takesOrders || record.timing.isCountedOut
            )
        }
        var (latest, missed) = (expiration.deadline, UInt64(0))
        if let question {
            let answer = question.rule.next(after: expiration.deadline, skippingTo: question.limit, on: clock)
            (latest, missed) = (answer.latest, answer.missed)
            locked(inForkedChild: ()) { _ in
                // If the user has rescheduled the timer, its new deadline stays.
                guard record.sequence == question.sequence, !record.hasEnded else { return }
                record.timing.advance(to: question.isLastTick ? nil : answer.next, missed: missed)
                record.rare?.latestDeadline = answer.latest
            }
            recompute(record, since: question.checks)
        }
        if locked(inForkedChild: false, { _ in record.hasEnded }) { return nil }
        let (oldest, span) = (expiration.deadline, latest - expiration.deadline)
        return Expiration(index: expiration.index, deadline: oldest, span: span, missed: missed)
    }

    /// Recomputes the next deadline if the clock was checked since the given number of checks, or just now if that
    /// is nil, and again if it was checked during that. A deadline that has passed stays: its tick is due. So does that
    /// of a timer that takes no orders: its last tick was decided on.
    func recompute(_ record: Record, since checks: Int?) {
        typealias Known = (rule: DeadlineRule, deadline: UInt64, latest: UInt64, sequence: UInt64)
        var seen = checks
        while true {
            let known = locked(inForkedChild: nil) { state -> Known? in
                guard seen != state.clockChecks, record.isAdded, record.takesOrders, record.timing.isComputed,
                    !record.timing.awaitsComputation, let rare = record.rare, let rule = rare.rule
                else { return nil }
                seen = state.clockChecks
                return (rule, record.timing.deadline, rare.latestDeadline, record.sequence)
            }
            let now = now.nanoseconds
            guard let known, now < known.deadline else { return }
            guard let next = known.rule.next(after: now, butNotBefore: known.latest, on: clock) else { return }
            decide(inForkedChild: ()) { state in
                // If the timer has gone on, the code that let it go on has asked the rule, too.
                guard record.isAdded, record.takesOrders, record.sequence == known.sequence,
                    record.timing.deadline == known.deadline, next != known.deadline
                else { return }
                state.arm(state.scheduler.move(record, to: next))
            }
        }
    }

    /// The rule of one timer, and the schedule that begins with its first deadline.
    private func begin(
        _ rule: ScheduleRule,
        after latest: UInt64 = 0
    ) throws(TimerError) -> (DeadlineRule, ResolvedSchedule) {
        try rule.begin(at: now, seed: locked(inForkedChild: 0) { $0.scheduler.random.next() }, after: latest)
    }
}

extension ServiceState {
    /// Sets the timer's rule; nil for none. The previous rule is the user's, and is released without the lock.
    mutating func follow(_ rule: DeadlineRule?, by record: Record) {
        guard let rare = record.rare else { return }
        if let previous = rare.rule { teardown.needRare().released.append(previous) }
        rare.rule = rule
        if let rule { rare.latestDeadline = rule.inherited }
    }
}

/// Recomputes the deadlines of a service's computed schedules when the wall clock was set, and about once a
/// minute, because the time zone may have changed. It has one thread while the service has such timers.
final class RuleWatch: Sendable {
    private struct Watched { weak var record: Record? }

    private struct State {
        var records: [ObjectIdentifier: Watched] = [:]
        /// The watch of the clock, and whether it has ended by itself.
        var watch: (stop: @Sendable () -> Void, hasEnded: Lock<Bool>)?
    }

    private let state = Lock(State())

    /// Watches for a timer until it is removed.
    func add(_ record: Record, of core: ServiceCore) throws(TimerError) {
        try state.withLock { state throws(TimerError) in
            if state.watch?.hasEnded.withLock({ $0 }) ?? true {
                let hasEnded = Lock(false)
                let stop = try core.watchClock { [weak self, weak core] _ in
                    if let self, let core { self.recompute(core) }
                } onEnd: { _ in
                    hasEnded.withLock { $0 = true }
                }
                state.watch = (stop, hasEnded)
            }
            state.records[ObjectIdentifier(record)] = Watched(record: record)
        }
    }

    /// Forgets a timer. The watch ends with the last one.
    func remove(_ record: Record) {
        let watch = state.withLock(inForkedChild: nil) { state in
            state.records[ObjectIdentifier(record)] = nil
            return state.records.isEmpty ? state.watch.take() : nil
        }
        watch?.stop()
    }

    private func recompute(_ core: ServiceCore) {
        core.locked(inForkedChild: ()) { $0.clockChecks += 1 }
        for record in state.withLock({ $0.records.values.compactMap(\.record) }) { core.recompute(record, since: nil) }
    }
}

extension ServiceCore {
    /// Recomputes the deadlines of a timer when the clock was set.
    ///
    /// - Throws: `TimerError` if the system refuses a thread or a descriptor.
    func watchRule(of record: Record) throws(TimerError) -> RuleWatch {
        if lock.isOfAnotherProcess { throw .inForkedChild("scheduling a timer") }
        let watch = locked { $0.ruleWatch }
        try watch.add(record, of: self)
        return watch
    }

    /// Calls `onCheck` after each check of the clocks, about once a minute and at once after a step of the wall clock
    /// or a suspension, until the returned function is called. On virtual time it is called only for steps and
    /// suspensions. Calls `onEnd` if the watch ends by itself, with the error if there is one.
    ///
    /// - Throws: `TimerError` if the system refuses a descriptor or a thread.
    func watchClock(
        _ onCheck: @escaping @Sendable (ClockChanges) -> Void,
        onEnd: @escaping @Sendable (TimerError?) -> Void
    ) throws(TimerError) -> @Sendable () -> Void {
        if let steppingAlarm { return steppingAlarm.watchClock(onCheck) { onEnd(nil) } }
        let watch = try WallClockWatch()
        try watch.start(onCheck: onCheck) { onEnd($0) }
        return { watch.stop() }
    }
}
