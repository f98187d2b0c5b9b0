/// Checks a schedule, and turns it into nanoseconds.
extension PreciseTimer.Schedule {
    /// Computes the deadlines, if they are no grid.
    @inline(__always) package var rule: ScheduleRule? { modifiers == nil ? nil : modifiers?.rule }

    /// The schedule in nanoseconds, on a clock.
    ///
    /// - Throws: `TimerError` if the schedule makes no sense, or starts at an instant of another clock.
    @inline(__always) package func resolved(on clock: TimerClock) throws(TimerError) -> ResolvedSchedule {
        // The way of most time-outs is short.
        if case .after(let delay) = start, case .once = repetition, modifiers == nil,
            let nanoseconds = delay.nanosecondsUnlessNegative
        {
            return ResolvedSchedule(.after(nanoseconds), .once)
        }
        return try checked(on: clock)
    }

    @inline(never) private func checked(on clock: TimerClock) throws(TimerError) -> ResolvedSchedule {
        let repetition = try resolvedRepetition()
        var resolved = ResolvedSchedule(try resolvedStart(on: clock), repetition)
        if modifiers != nil { resolved.modifiers = try resolvedModifiers() }
        return resolved
    }

    @inline(__always) private func resolvedRepetition() throws(TimerError) -> Repetition<UInt64> {
        switch repetition {
        case .once: return .once
        case .every(let period):
            if period <= .zero { throw .refusedSchedule("every \(period.text) (a period must be longer than zero)") }
            return .every(period.nanosecondsOrForever)
        case .rate(let count, per: let duration): return try rate(count, per: duration)
        case .fixedDelay(let delay):
            if delay <= .zero {
                throw .refusedSchedule("\(delay.text) after each return (the delay must be longer than zero)")
            }
            return .fixedDelay(delay.nanosecondsOrForever)
        case .computed: return .computed
        case .onDemand: return .onDemand
        }
    }

    @inline(__always)
    private func resolvedStart(on clock: TimerClock) throws(TimerError) -> ScheduleStart<UInt64, UInt64> {
        switch start {
        case .after(let delay):
            if let nanoseconds = delay.nanosecondsUnlessNegative { return .after(nanoseconds) }
            throw .refusedSchedule("after \(delay.text) (a delay must not be negative)")
        case .afterOneStep: return .afterOneStep
        case .at(let instant): return .at(try nanoseconds(of: instant, on: clock))
        case .aligned(to: let instant): return .aligned(to: try nanoseconds(of: instant, on: clock))
        case .never: return .never
        }
    }

    /// Whether it says nothing but a period or a rate, and perhaps a count.
    var isPeriodOnly: Bool {
        let hasOnlyCount = modifiers.map { $0.spread == nil && $0.jitter == nil && $0.span == nil } ?? true
        return switch (repetition, start) {
        case (.every(let period), .after(let delay)): hasOnlyCount && delay == period
        case (.rate, .afterOneStep): hasOnlyCount
        default: false
        }
    }

    private func resolvedModifiers() throws(TimerError) -> ResolvedSchedule.Modifiers {
        var resolved = ResolvedSchedule.Modifiers()
        if let count = modifiers?.count {
            if count < 1 { throw .refusedSchedule("\(count) ticks (the count must be at least 1)") }
            resolved.count = UInt64(count)
        }
        if let spread = modifiers?.spread {
            if spread < .zero { throw .refusedSchedule("with a spread of \(spread.text) (it must not be negative)") }
            resolved.spread = spread.nanosecondsOrForever
        }
        if let jitter = modifiers?.jitter {
            guard case .every(let period) = repetition, jitter >= .zero, jitter <= period else {
                throw .refusedSchedule("with a jitter of \(jitter.text) (it must be from zero to the period)")
            }
            resolved.jitter = jitter.nanosecondsOrForever
        }
        if let span = modifiers?.span {
            guard case .after(let delay) = start, span >= .zero, span.nanosecondsOrForever >= delay.nanosecondsOrForever
            else { throw .refusedSchedule("for \(span.text) (that is over before the first deadline)") }
            resolved.span = span.nanosecondsOrForever
        }
        return resolved
    }

    private func rate(_ rate: Int, per duration: Duration) throws(TimerError) -> Repetition<UInt64> {
        let ticks = "\(rate) ticks per \(duration.text)"
        guard rate > 0, let nanoseconds = duration.nanosecondsUnlessNegative, nanoseconds > 0 else {
            throw .refusedSchedule("\(ticks) (the count and the duration must be more than zero)")
        }
        if rate > nanoseconds { throw .refusedSchedule("\(ticks) (there can be no more than one in a nanosecond)") }
        // Parts of forever have no known length.
        if rate > 1, nanoseconds == .max {
            throw .refusedSchedule(
                "\(ticks) (the duration is longer than 292 years: give fewer ticks in a shorter one)"
            )
        }
        return .rate(rate, per: nanoseconds)
    }

    private func nanoseconds(of instant: TimerInstant, on clock: TimerClock) throws(TimerError) -> UInt64 {
        if instant.clock == clock { return instant.nanoseconds }
        throw .refusedSchedule(
            "at an instant of the \(instant.clock.rawValue) clock on a service of the \(clock.rawValue) clock "
                + "(\(instant.clock.remedy))"
        )
    }
}

extension PreciseTimer.MissedTickPolicy {
    /// Refuses a policy that makes no sense.
    @inline(__always) func validate() throws(TimerError) {
        if case .catchUp(let limit) = self, limit < 1 {
            throw TimerError(.invalidSchedule, "catching up at most \(limit) ticks (the limit must be at least 1)")
        }
    }

    /// How many late deadlines in a row have a tick of their own.
    var limit: Int { if case .catchUp(let limit) = self { limit } else { 1 } }
}
