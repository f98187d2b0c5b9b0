internal import TimerKernel

/// Timers whose deadlines a rule computes: each before the handler of the former one is called, and anew when the wall
/// clock was set. The rule is the user's code, so it is asked without the lock.
extension ServiceCore {
    /// What a rule is asked in a delivery.
    private struct Question {
        let rule: DeadlineRule
        let sequence: UInt64
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
            let (rule, schedule) = try begin(rule)
            (rare.beganComputed, rare.rule) = (true, rule)
            let timer = try register(record, schedule, service)
            recomputeIfOutdated(record)
            return timer
        } catch {
            rare.ruleWatch?.remove(record)
            throw error
        }
    }

    /// Gives a timer another rule. A deadline that the present one has served does not come again.
    ///
    /// - Throws: `TimerError` if the rule has no deadline, or if the timer began with another kind of schedule.
    @inline(never) func reschedule(_ record: Record, by rule: ScheduleRule) throws(TimerError) {
        if lock.isOfAnotherProcess { throw .inForkedChild("rescheduling a timer") }
        let known = locked { _ in
            record.rare.flatMap { $0.beganComputed ? ($0.generation, $0.latestDeadline) : nil }
        }
        guard let (generation, latest) = known else {
            let attempted = "rescheduling to \(rule.name()) a timer that began with another kind of schedule"
            throw TimerError(.invalidSchedule, "\(attempted) (end it and schedule a new one)")
        }
        let (own, schedule) = try begin(rule, after: latest)
        try reschedule(record, schedule, by: own, asOf: generation)
        recomputeIfOutdated(record)
    }

    /// Lets a timer go on to its next deadline, while the tick of this one is being delivered. Returns the tick with
    /// the missed deadlines; nil if the timer ended meanwhile.
    @inline(never) func advance(_ record: Record, _ expiration: Expiration, at now: TimerInstant) -> Expiration? {
        // As in a handler, the target is there while the rule is asked.
        guard let target = record.user.target else { return expiration }
        defer { withExtendedLifetime(target) {} }
        let question = locked(inForkedChild: nil) { _ -> Question? in
            // The timer may have got another schedule, or have ended.
            guard record.timing.awaitsComputation, !record.hasEnded, let rule = record.rare?.rule else { return nil }
            return Question(
                rule: rule,
                sequence: record.sequence,
                limit: record.timing.restEnd(at: now.nanoseconds),
                isLastTick: record.timing.isFinishing || record.timing.isCountedOut
            )
        }
        var (latest, missed) = (expiration.deadline, UInt64(0))
        if let question {
            let answer = question.rule.next(after: expiration.deadline, skippingTo: question.limit, on: clock)
            (latest, missed) = (answer.latest, answer.missed)
            locked(inForkedChild: ()) { _ in
                // If the user has rescheduled the timer meanwhile, its new deadline stays.
                guard record.sequence == question.sequence, !record.hasEnded else { return }
                record.timing.advance(to: question.isLastTick ? nil : answer.next, missed: missed)
                record.rare?.latestDeadline = answer.latest
            }
            recomputeIfOutdated(record)
        }
        if locked(inForkedChild: false, { _ in record.hasEnded }) { return nil }
        let (oldest, span) = (expiration.deadline, latest - expiration.deadline)
        return Expiration(index: expiration.index, deadline: oldest, span: span, missed: missed)
    }

    /// The wall clock was set, or the time zone may have changed. Whoever is computing a deadline of the timer at this
    /// moment does so once more.
    func clockWasSet(for record: Record) {
        locked(inForkedChild: ()) { _ in record.rare?.generation += 1 }
        recompute(record)
    }

    /// Computes the next deadline anew if the clock was set while it was computed.
    private func recomputeIfOutdated(_ record: Record) {
        let isOutdated = locked(inForkedChild: false) { _ in
            record.rare.map { $0.generation != $0.seenGeneration } ?? false
        }
        if isOutdated { recompute(record) }
    }

    /// Computes the next deadline anew. A deadline that has passed stays: its tick is due. So does that of a timer that
    /// is being finished: its last tick was decided on.
    private func recompute(_ record: Record) {
        typealias Known = (rule: DeadlineRule, deadline: UInt64, latest: UInt64, sequence: UInt64, generation: Int)
        let known = locked(inForkedChild: nil) { _ -> Known? in
            guard record.isAdded, record.timing.isComputed, !record.timing.isFinishing else { return nil }
            guard !record.timing.awaitsComputation, let rare = record.rare, let rule = rare.rule else { return nil }
            return (rule, record.timing.deadline, rare.latestDeadline, record.sequence, rare.generation)
        }
        guard let known else { return }
        let (now, rule) = (now.nanoseconds, known.rule)
        guard now < known.deadline, let next = rule.next(after: now, butNotBefore: known.latest, on: clock) else {
            return
        }
        let isLate = decide(inForkedChild: false) { state in
            guard record.isAdded, let rare = record.rare, rare.rule === rule, !record.timing.isFinishing else {
                return false
            }
            if record.timing.deadline != known.deadline || record.sequence != known.sequence { return true }
            rare.seenGeneration = known.generation
            if next != known.deadline { state.arm(state.scheduler.move(record, to: next)) }
            return false
        }
        if isLate { recompute(record) }
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
    /// Lets a rule compute the deadlines of a timer, or nobody. The former rule is the user's, and is released without
    /// the lock.
    mutating func follow(_ rule: DeadlineRule?, by record: Record, asOf generation: Int) {
        guard let rare = record.rare else { return }
        if let former = rare.rule { teardown.needRare().released.append(former) }
        (rare.rule, rare.seenGeneration) = (rule, generation)
        if let rule { rare.latestDeadline = rule.inherited }
    }
}
