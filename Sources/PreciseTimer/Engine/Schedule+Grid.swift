/// Checks a schedule, and turns it into the core's grid.
extension PreciseTimer.Schedule {
    /// Refuses a schedule that makes no sense, or that starts at an instant of another clock.
    func validate(on clock: TimerClock) throws(TimerError) {
        switch repetition {
        case .every(let period) where period <= .zero:
            throw TimerError(.invalidSchedule, "scheduling every \(period.text) (a period must be longer than zero)")
        case .rate(let count, let duration) where count <= 0 || duration <= .zero:
            throw TimerError(
                .invalidSchedule,
                "scheduling \(count) ticks per \(duration.text) (the count and the duration must be more than zero)"
            )
        case .rate(let count, let duration) where count > duration.nanosecondsRoundedUp:
            throw TimerError(
                .invalidSchedule,
                "scheduling \(count) ticks per \(duration.text) (there can be no more than one in a nanosecond)"
            )
        case .fixedDelay(let delay) where delay <= .zero:
            throw TimerError(
                .invalidSchedule,
                "scheduling \(delay.text) after each return (the delay must be longer than zero)"
            )
        default: break
        }
        switch start {
        case .after(let delay) where delay < .zero:
            throw TimerError(.invalidSchedule, "scheduling after \(delay.text) (a delay must not be negative)")
        case .at(let instant) where instant.clock != clock, .aligned(let instant) where instant.clock != clock:
            throw TimerError(
                .invalidSchedule,
                "scheduling at an instant of the \(instant.clock.rawValue) clock on a service of the \(clock.rawValue) "
                    + "clock (make the instant from the service's `now`)"
            )
        default: break
        }
        if let count, count < 1 {
            throw TimerError(.invalidSchedule, "scheduling \(count) ticks (the count must be at least 1)")
        }
        if let spread, spread < .zero {
            throw TimerError(.invalidSchedule, "scheduling with a spread of \(spread.text) (it must not be negative)")
        }
    }

    /// The deadlines, counted from `now`. The spread is drawn from `random`.
    func grid(from now: TimerInstant, using random: inout SeededGenerator) -> Grid {
        var origin = origin(from: now)
        if let spread {
            let offset = UInt64.random(in: 0...spread.nanosecondsOrForever, using: &random)
            origin = TimerInstant(nanoseconds: origin, clock: now.clock).moved(by: offset).nanoseconds
        }
        let count = count.map(UInt64.init) ?? .max
        return switch repetition {
        case .none: Grid(origin: origin)
        case .every(let period):
            Grid(origin: origin, repetition: .every(Period(nanoseconds: period.nanosecondsOrForever)), count: count)
        case .rate(let rate, let duration):
            Grid(
                // A duration that cannot be represented has no known step: every deadline is never.
                origin: duration.nanosecondsRoundedUp == .max ? .max : origin,
                repetition: .every(Period(nanoseconds: UInt64(duration.nanosecondsRoundedUp), count: UInt64(rate))),
                firstStep: 1,
                count: count
            )
        case .fixedDelay(let delay):
            Grid(origin: origin, repetition: .afterReturn(delay.nanosecondsOrForever), count: count)
        case .onDemand: Grid(origin: origin, repetition: .onDemand)
        }
    }

    /// The instant of step 0, without the spread.
    private func origin(from now: TimerInstant) -> UInt64 {
        switch start {
        case .after(let delay): return now.moved(by: delay.nanosecondsOrForever).nanoseconds
        case .at(let instant): return instant.nanoseconds
        case .aligned(to: let instant):
            guard case .every(let period) = repetition else { return instant.nanoseconds }
            return Period(nanoseconds: period.nanosecondsOrForever)
                .next(after: now.nanoseconds, alignedTo: instant.nanoseconds)
        case .never: return UInt64.max
        }
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
        case .none, .onDemand: nil
        case .every(let period): period.duration
        case .afterReturn(let delay): Duration(wholeNanoseconds: delay)
        }
    }
}

extension Period {
    /// The length of one step, truncated to whole attoseconds.
    package var duration: Duration { Duration(wholeNanoseconds: nanoseconds) / count }
}
