/// Checks a schedule, and turns it into nanoseconds.
extension PreciseTimer.Schedule {
    /// The schedule in nanoseconds, on a clock.
    ///
    /// - Throws: `TimerError` if the schedule makes no sense, or starts at an instant of another clock.
    func plan(on clock: TimerClock) throws(TimerError) -> Plan {
        var plan = Plan()
        switch repetition {
        case .none: break
        case .every(let period):
            if period <= .zero { throw refusal("every \(period.text) (a period must be longer than zero)") }
            plan.repetition = .every(Period(nanoseconds: period.nanosecondsOrForever))
        case .rate(let rate, let duration):
            plan.repetition = .every(try period(of: rate, per: duration))
            if case .after = start { plan.firstStep = 1 }
        case .fixedDelay(let delay):
            if delay <= .zero { throw refusal("\(delay.text) after each return (the delay must be longer than zero)") }
            plan.repetition = .afterReturn(delay.nanosecondsOrForever)
        case .onDemand: plan.repetition = .onDemand
        }
        switch start {
        case .after(let delay):
            guard let nanoseconds = delay.nanosecondsUnlessNegative else {
                throw refusal("after \(delay.text) (a delay must not be negative)")
            }
            (plan.start, plan.isRelative) = (nanoseconds, true)
            if repetition == .none { plan.repetition = .once(nanoseconds) }
        case .at(let instant): plan.start = try nanoseconds(of: instant, on: clock)
        case .aligned(to: let instant):
            plan.start = try nanoseconds(of: instant, on: clock)
            if case .every(let period) = plan.repetition { plan.aligned = period }
        case .never: break
        }
        if special != nil { try limit(&plan) }
        return plan
    }

    /// Whether it says nothing but a period or a rate, and perhaps a count.
    var isPeriodOnly: Bool {
        let hasOnlyCount = special.map { $0.spread == nil && $0.jitter == nil && $0.span == nil } ?? true
        return switch (repetition, start) {
        case (.every(let period), .after(let delay)): hasOnlyCount && delay == period
        case (.rate, .after): hasOnlyCount
        default: false
        }
    }

    private func limit(_ plan: inout Plan) throws(TimerError) {
        guard let special else { return }
        let (count, spread, jitter, span) = (special.count, special.spread, special.jitter, special.span)
        if let count, count < 1 { throw refusal("\(count) ticks (the count must be at least 1)") }
        if let spread, spread < .zero { throw refusal("with a spread of \(spread.text) (it must not be negative)") }
        if let count { plan.count = UInt64(count) }
        if let spread { plan.spread = spread.nanosecondsOrForever }
        if let jitter {
            guard case .every(let period) = repetition, jitter >= .zero, jitter <= period else {
                throw refusal("with a jitter of \(jitter.text) (it must be from zero to the period)")
            }
            plan.bounds = Grid.Bounds(jitter: jitter.nanosecondsOrForever)
        }
        guard let span else { return }
        if span < .zero || span.nanosecondsOrForever < plan.start {
            throw refusal("for \(span.text) (that is over before the first deadline)")
        }
        plan.bounds = plan.bounds ?? Grid.Bounds()
        plan.bounds?.span = span.nanosecondsOrForever
    }

    private func period(of rate: Int, per duration: Duration) throws(TimerError) -> Period {
        let ticks = "\(rate) ticks per \(duration.text)"
        guard rate > 0, let nanoseconds = duration.nanosecondsUnlessNegative, nanoseconds > 0 else {
            throw refusal("\(ticks) (the count and the duration must be more than zero)")
        }
        if rate > nanoseconds { throw refusal("\(ticks) (there can be no more than one in a nanosecond)") }
        // Parts of forever have no known length.
        if rate > 1, nanoseconds == .max {
            throw refusal("\(ticks) (the duration is longer than 292 years: give fewer ticks in a shorter one)")
        }
        return Period(nanoseconds: nanoseconds, count: UInt64(rate))
    }

    private func nanoseconds(of instant: TimerInstant, on clock: TimerClock) throws(TimerError) -> UInt64 {
        if instant.clock == clock { return instant.nanoseconds }
        throw refusal(
            "at an instant of the \(instant.clock.rawValue) clock on a service of the \(clock.rawValue) clock "
                + "(\(instant.clock.remedy))"
        )
    }

    private func refusal(_ what: String) -> TimerError { Self.refusal(what) }
}

/// A schedule that was checked, in nanoseconds: what is left to do when its timer is queued.
struct Plan {
    /// The first deadline, without the spread: an instant, or a delay from now.
    var start: UInt64 = .max
    var isRelative = false
    /// If the first deadline is the next one after now that is a whole number of periods from the start, this period.
    var aligned: Period?
    var repetition = Grid.Repetition.none
    var firstStep: UInt64 = 0
    var count: UInt64 = .max
    /// How much later the first deadline may be, at random.
    var spread: UInt64 = 0
    /// A jitter, or an end in time.
    var bounds: Grid.Bounds?

    /// The deadlines. Reads the clock only if they depend on it. The spread is drawn from `random`.
    @inline(__always) func grid(from now: @autoclosure () -> UInt64, using random: inout SeededGenerator) -> Grid {
        var origin = isRelative ? now().saturatingAdding(start) : start
        if let aligned { origin = aligned.next(after: now(), alignedTo: start) }
        if spread > 0 { origin = origin.saturatingAdding(.random(in: 0...spread, using: &random)) }
        return Grid(origin: origin, repetition: repetition, firstStep: firstStep, count: count)
    }

    /// The bounds of a grid of this plan. Its seed is drawn from `random`. Only a schedule with a delay has a span,
    /// which is no shorter than the delay.
    func bounds(of grid: Grid, using random: inout SeededGenerator) -> Grid.Bounds? {
        var bounds = bounds
        bounds?.seed = random.next()
        if let span = bounds?.span { bounds?.end = grid.origin.saturatingAdding(span - start) }
        return bounds
    }
}

extension PreciseTimer.MissedTickPolicy {
    /// Refuses a policy that makes no sense.
    func validate() throws(TimerError) {
        if case .catchUp(let limit) = self, limit < 1 {
            throw TimerError(.invalidSchedule, "catching up at most \(limit) ticks (the limit must be at least 1)")
        }
    }

    /// The core's value for this policy.
    var latePolicy: LatePolicy {
        switch self {
        case .skip: .skip
        case .catchUp(let limit): .catchUp(limit: limit)
        case .delay: .delay
        }
    }
}

extension Grid {
    /// The nominal length of a step, or nil if there is only one deadline.
    package var period: Duration? {
        switch repetition {
        case .none, .once, .onDemand: nil
        case .every(let period): period.duration
        case .afterReturn(let delay): Duration(wholeNanoseconds: delay)
        }
    }
}

extension Period {
    /// The length of one step, truncated to whole attoseconds.
    package var duration: Duration { Duration(wholeNanoseconds: nanoseconds) / count }
}
