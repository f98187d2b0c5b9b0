/// Everything that the engine knows of one timer, in one object: its numbers here, and the user's side of it in
/// ``user``, which the core carries and never looks at.
///
/// All instants are nanoseconds on the clock of the timer's scheduler. The lock that protects this scheduler protects
/// the numbers, too. This is why the class is `@unchecked Sendable`, and why its accesses are not checked at run time.
@safe package final class TimerRecord<User: UserFacts & ~Copyable>: @unchecked Sendable {
    /// What few timers need. Made on demand.
    final class Side {
        // The rules, which have a meaning only if the timer has ``TimerTraits/hasRules``.
        /// How many steps take the length of a period; nearly always one.
        var count: UInt64 = 1
        var policy = LatePolicy.skip
        var tolerance: UInt64 = 0
        /// How many ticks of the schedule remain; `.max` for no limit.
        var remaining: UInt64 = .max
        /// How many late deadlines have had consecutive ticks since the timer last caught up.
        var burst = 0
        /// The instant at which an extra tick was requested, or `.max`.
        var extra: UInt64 = .max
        /// How many ticks the schedule had at its start.
        var total: UInt64 = .max
        /// The bounds of the present grid, those of the next one, and what draws the jitter.
        var bounds: Grid.Bounds?
        var nextBounds: Grid.Bounds?
        var random = SeededGenerator(seed: 0)
        /// How much later than its place on the grid the next deadline is.
        var offset: UInt64 = 0
        /// Since when the time to the next deadline stands still, or `.max`.
        var heldSince: UInt64 = .max
        /// The first step of the present grid, and the number of its deadline.
        var first: (step: UInt64, index: UInt64) = (0, 0)
        /// The user's part of it.
        @safe @exclusivity(unchecked) var extras = User.Extras()
    }

    /// The order among equal deadlines: each (re)schedule takes a new number.
    @safe @exclusivity(unchecked) var sequence: UInt64 = 0
    /// The oldest deadline of the grid that has had no tick, or `.max`.
    @safe @exclusivity(unchecked) private var deadline: UInt64 = .max
    // The grid, in less memory than a `Grid` takes. The length of a single deadline is the delay that was asked for.
    @safe @exclusivity(unchecked) private var origin: UInt64 = .max
    @safe @exclusivity(unchecked) private var length: UInt64 = 0
    /// The number of the deadline.
    @safe @exclusivity(unchecked) private var index: UInt64 = 0
    @safe @exclusivity(unchecked) private(set) var side: Side?
    /// The timer's position in its queue, or among the running timers.
    @safe @exclusivity(unchecked) var position: Int32 = -1
    /// The timer's position in the list of all timers.
    @safe @exclusivity(unchecked) var place: Int32 = -1
    @safe @exclusivity(unchecked) private var repetition = TimerRepetition.none
    @safe @exclusivity(unchecked) private var traits: TimerTraits = []
    /// What the timer is doing.
    @safe @exclusivity(unchecked) package internal(set) var whereabouts = Whereabouts.rests
    /// Whether the timer has ended, and why.
    @safe @exclusivity(unchecked) package internal(set) var ending = TimerEnding.goesOn
    /// The user's side of the timer.
    @safe @exclusivity(unchecked) package var user: User

    /// A timer that has no deadline until it is added to a scheduler.
    package init(_ user: consuming User, policy: LatePolicy = .skip, tolerance: UInt64 = 0, isPaused: Bool = false) {
        self.user = user
        self.isPaused = isPaused
        if policy == .skip, tolerance == 0 { return }
        rulesOnDemand.policy = policy
        rulesOnDemand.tolerance = tolerance
    }

    /// What few timers need, made if necessary.
    var onDemand: Side {
        if let side { return side }
        let new = Side()
        side = new
        return new
    }

    /// What is at the timer's side if its timing has any rules. A timer with no more than a name has none.
    private var rules: Side? { traits.contains(.hasRules) ? side : nil }

    private var rulesOnDemand: Side {
        traits.insert(.hasRules)
        return onDemand
    }

    // MARK: State

    /// Whether the timer has ended and will not tick again.
    package var hasEnded: Bool { ending != .goesOn }

    /// Whether ticks are held back.
    package internal(set) var isPaused: Bool {
        get { traits.contains(.isPaused) }
        set { if newValue { traits.insert(.isPaused) } else { traits.remove(.isPaused) } }
    }

    /// Whether somebody was told that the target was released, which is then how the timer ends.
    package var isOrphan: Bool { traits.contains(.isOrphan) }

    /// Notes that somebody was told so. From then on the timer takes no orders.
    package func becomeOrphan() { traits.formUnion([.isOrphan, .isFinishing]) }

    /// Whether the timer rests after its last deadline, instead of ending.
    package var isOnDemand: Bool { traits.contains(.isOnDemand) }

    /// Whether a tick is on its way to the handler, or the handler is running.
    package var isInDelivery: Bool { whereabouts.rawValue >= Whereabouts.isCalled.rawValue }

    /// Whether the handler is running.
    package var isInHandler: Bool { whereabouts == .isCalled || whereabouts == .runs }

    /// The deadlines of the timer's present schedule, from its next step on.
    package var grid: Grid {
        switch repetition {
        case .none: Grid(origin: origin, firstStep: step)
        case .every: Grid(origin: origin, repetition: .every(period), firstStep: step)
        case .afterReturn: Grid(origin: origin, repetition: .afterReturn(length), firstStep: step)
        case .onDemand: Grid(origin: origin, repetition: .onDemand, firstStep: step)
        }
    }

    /// Whether the schedule had a count, and its last tick was taken.
    package var isCountedOut: Bool { rules?.remaining == 0 }

    /// The period of the deadlines that follow the next one, if it is a whole number of nanoseconds below 2^60 and
    /// no extra tick is requested.
    var wholePeriod: UInt64? {
        let isWhole = rules.map { $0.count == 1 && $0.extra == .max && $0.bounds == nil } ?? true
        return repetition == .every && isWhole && length < 1 << 60 ? length : nil
    }

    /// The length of a step in nanoseconds, if the timer has a period; otherwise `.max`. A step is at least this long.
    package var leastPeriod: UInt64 {
        guard repetition == .every else { return .max }
        return rules.map { $0.count == 1 ? length : length / $0.count } ?? length
    }

    private var period: Period { Period(nanoseconds: length, count: rules?.count ?? 1) }

    /// The step of the oldest deadline that has had no tick.
    private var step: UInt64 {
        guard let first = rules?.first else { return index }
        return (index - first.index).saturatingAdding(first.step)
    }

    /// When the next tick is due; `.max` if no tick remains, or if the next one must wait for a handler to return.
    package var nextDeadline: UInt64 { rules.map { min(deadline, $0.extra) } ?? deadline }

    /// When to look for the next tick: at its deadline or, with a tolerance, at the first round instant from the
    /// deadline on, which other timers are likely to share. Round instants are the multiples of the largest power of
    /// two within the tolerance, so that coarse ones coincide with finer ones, whatever the timers' phases are.
    package var nextLook: UInt64 { rules.map { min(deadline.roundedUp(within: $0.tolerance), $0.extra) } ?? deadline }

    /// Whether the timer has no rules, and waits for a deadline after an instant.
    func isAhead(of instant: UInt64) -> Bool {
        deadline > instant && deadline != .max && traits.isDisjoint(with: [.isPaused, .hasRules]) && !hasEnded
    }

    /// Whether no tick remains. A timer on demand is over only if it is being finished, and one whose deadline never
    /// comes is not over.
    var isOver: Bool { traits.contains(.isServed) && (!isOnDemand || isFinishing) && rules?.extra ?? .max == .max }

    // MARK: Changes

    /// Starts anew on another grid. A requested extra tick belongs to the former schedule.
    func restart(on grid: Grid, sequence: UInt64) {
        self.sequence = sequence
        index = 0
        if grid.count != .max || rules != nil { renewRules(count: grid.count) }
        begin(grid)
    }

    // Not inlined: few timers have rules, and the others' way stays short.
    @inline(never) private func renewRules(count: UInt64) {
        let rules = rulesOnDemand
        (rules.extra, rules.burst) = (.max, 0)
        (rules.remaining, rules.total) = (count, count)
        (rules.bounds, rules.nextBounds) = (rules.nextBounds, nil)
        if let bounds = rules.bounds { rules.random = SeededGenerator(seed: bounds.seed) }
        traits.remove(.isFinishing)
    }

    private func begin(_ grid: Grid) {
        origin = grid.origin
        if grid.firstStep != 0 || rules != nil { rulesOnDemand.first = (grid.firstStep, index) }
        switch grid.repetition {
        case .none: (repetition, length) = (.none, .max)
        case .once(let delay): (repetition, length) = (.none, delay)
        case .every(let period):
            (repetition, length) = (.every, period.nanoseconds)
            if period.count != 1 || rules != nil { rulesOnDemand.count = period.count }
        case .afterReturn(let delay): (repetition, length) = (.afterReturn, delay)
        case .onDemand:
            repetition = .onDemand
            traits.insert(.isOnDemand)
        }
        traits.remove(.isServed)
        let first = grid.firstStep == 0 ? grid.origin : grid.deadline(grid.firstStep) ?? .max
        if let rules { wait(for: first, by: rules) } else { deadline = first }
    }

    /// Waits for a deadline of the grid, with its jitter, unless it is beyond the end.
    @inline(never) private func wait(for nominal: UInt64, by rules: Side) {
        deadline = nominal
        rules.offset = 0
        guard let bounds = rules.bounds else { return }
        if nominal > bounds.end {
            rules.remaining = 0
            serve()
        } else if bounds.jitter > 0 {
            let jitter = UInt64.random(in: 0...bounds.jitter, using: &rules.random)
            deadline = min(nominal.saturatingAdding(jitter), bounds.end)
            rules.offset = deadline - nominal
        }
    }

    /// Gives bounds to the next grid.
    package func bound(_ bounds: Grid.Bounds?) { if bounds != nil { rulesOnDemand.nextBounds = bounds } }

    /// Asks for an extra tick. Requests made before that tick begins collapse into one, at the earliest instant: a
    /// wall clock may have been stepped back between them.
    func askForExtra(at now: UInt64) { rulesOnDemand.extra = min(rulesOnDemand.extra, now) }

    /// Takes the tick for the oldest deadline that has passed at `now`; nil if no deadline has passed.
    func takeTick(at now: UInt64) -> Due? {
        if let rules { return takeTick(at: now, by: rules) }
        // Nearly every timer takes this path: its period is a whole number of nanoseconds, and its first step is 0.
        if deadline > now || deadline == .max { return nil }
        let missed = repetition != .every || now - deadline < length ? 0 : (now - deadline) / length
        let tick = Due(index: index, deadline: deadline, missed: missed)
        index = missed < .max - index ? index + missed + 1 : .max
        if repetition != .every {
            serve()
            return tick
        }
        let (offset, isTooLong) = length.multipliedReportingOverflow(by: index)
        let (next, isTooLate) = origin.addingReportingOverflow(offset)
        deadline = isTooLong || isTooLate ? .max : next
        return tick
    }

    private func takeTick(at now: UInt64, by rules: Side) -> Due? {
        let due = nextDeadline
        if due > now || due == .max { return nil }
        if due != deadline {
            rules.extra = .max
            return Due(index: index, deadline: due, missed: 0, isExtra: true)
        }
        rules.burst += 1
        // The last tick of a timer that is finished stands for all deadlines before that.
        let isTheRest = repetition == .every && (rules.burst >= rules.policy.limit || isFinishing)
        // The deadlines that this tick stands for are moved by the jitter of the oldest, but not beyond the end.
        let latest = max(due - rules.offset, end <= now ? end : now - rules.offset)
        let missed = isTheRest ? grid.latestStep(at: latest) - step : 0
        let tick = Due(index: index, deadline: due, missed: missed)
        index = index.saturatingAdding(missed).saturatingAdding(1)
        if rules.remaining != .max { rules.remaining -= 1 }
        if repetition != .every || rules.remaining == 0 {
            serve()
        } else if missed > 0, rules.policy == .delay {
            begin(grid.restarted(at: now))
        } else {
            wait(for: grid.deadline(step) ?? .max, by: rules)
        }
        return tick
    }

    /// Notes that the grid has no further deadline, or none yet.
    private func serve() {
        deadline = .max
        traits.insert(.isServed)
    }

    /// Whether the timer must deliver another late deadline that had passed at a look. If not, the burst ends.
    func catchesUp(at look: UInt64) -> Bool {
        guard let rules, rules.burst > 0 else { return false }
        let next = nextDeadline
        if rules.burst < rules.policy.limit, !isPaused, next <= look, next != .max { return true }
        stopCatchingUp()
        return false
    }

    /// Ends a burst of late ticks; the remaining late deadlines begin a new burst.
    func stopCatchingUp() { rules?.burst = 0 }

    /// Whether the next deadline is counted from the return of the handler. A timer that has ended stays as it is: who
    /// says its farewell reads it without a lock.
    package var awaitsReturn: Bool {
        repetition == .afterReturn && traits.contains(.isServed) && rules?.remaining != 0 && !hasEnded
    }

    /// Begins the next delay of a timer that awaits the return of its handler.
    func handlerReturned(at now: UInt64) {
        if let rules, rules.heldSince != .max { rules.heldSince = max(rules.heldSince, now) }
        begin(Grid(origin: now.saturatingAdding(length), repetition: .afterReturn(length)))
    }
}

extension TimerRecord where User: ~Copyable {
    // MARK: Holding, restarting and finishing

    /// Lets the time to the next deadline stand still from now on.
    func hold(at now: UInt64) { rulesOnDemand.heldSince = now }

    /// Lets a timer that is held be paused as any other, because its next deadlines are instants.
    func forgetHold() { rules?.heldSince = .max }

    /// Whether the time to the next deadline stands still.
    package var isHeld: Bool { rules.map { $0.heldSince != .max } ?? false }

    /// The next deadline; `.max` if there is none, or if it depends on the end of a hold.
    package var knownDeadline: UInt64 { isHeld ? .max : nextDeadline }

    /// The time to the next deadline in nanoseconds, zero if it has passed; nil if no tick remains. During a hold a
    /// requested extra tick changes nothing: it comes with the end of the hold.
    package func remaining(at now: UInt64) -> UInt64? {
        let (next, now) = isHeld ? (deadline, rules?.heldSince ?? now) : (nextDeadline, now)
        return next == .max ? nil : next - min(next, now)
    }

    /// Ends a hold: all deadlines are later by the time for which they stood still. A new schedule begins its own hold.
    func release(at now: UInt64) {
        guard let rules, rules.heldSince != .max else { return }
        let time = now - min(now, rules.heldSince)
        rules.heldSince = .max
        origin = origin.saturatingAdding(time)
        deadline = deadline.saturatingAdding(time)
        if let bounds = rules.bounds { rules.bounds?.end = bounds.end.saturatingAdding(time) }
    }

    /// The present schedule from now on, with its delay or one step before the first deadline; nil for one that does
    /// not count from its beginning.
    func gridAnew(at now: UInt64) -> Grid? {
        // Only such a schedule has bounds.
        if repetition == .every, var bounds = rules?.bounds {
            (bounds.seed, bounds.end) = (bounds.seed &+ 1, now.saturatingAdding(max(bounds.span, length)))
            bound(bounds)
        }
        let count = rules?.total ?? .max
        let later = now.saturatingAdding(length)
        return switch repetition {
        case .none: length == .max ? nil : Grid(origin: later, repetition: .once(length))
        case .every: Grid(origin: now, repetition: .every(period), firstStep: 1, count: count)
        case .afterReturn: Grid(origin: later, repetition: .afterReturn(length), count: count)
        case .onDemand: nil
        }
    }

    /// Takes the steps of another grid from the next deadline on, which keeps its place and its number. Returns false
    /// if there is no such deadline, or no other after it. Constant time.
    func changeSteps(to grid: Grid) -> Bool {
        if deadline == .max || isFinishing { return false }
        let rules = rulesOnDemand
        (rules.remaining, rules.total, rules.bounds) = (grid.count, grid.count, nil)
        begin(Grid(origin: deadline, repetition: grid.repetition))
        return true
    }

    /// No deadline after this one, unless it is the first; `.max` without an end.
    package var end: UInt64 { rules?.bounds?.end ?? .max }

    /// Whether the timer ends after one more tick.
    package var isFinishing: Bool { traits.contains(.isFinishing) }

    /// Leaves out all deadlines after now. Without an earlier one that waits for its tick, an extra tick stands for
    /// them. The timer then ends, also one on demand.
    func finish(at now: UInt64) {
        if isFinishing { return }
        let rules = rulesOnDemand
        traits.insert(.isFinishing)
        var bounds = rules.bounds ?? Grid.Bounds()
        bounds.end = min(bounds.end, now)
        rules.bounds = bounds
        guard deadline > now else { return }
        rules.remaining = 0
        serve()
        askForExtra(at: now)
    }
}

/// The kind of a record's ``Grid/Repetition``.
private enum TimerRepetition: UInt8 { case none, every, afterReturn, onDemand }

/// What a record knows of its timer in a bit each.
private struct TimerTraits: OptionSet {
    let rawValue: UInt8
    static var isPaused: TimerTraits { TimerTraits(rawValue: 1) }
    static var isOnDemand: TimerTraits { TimerTraits(rawValue: 2) }
    /// The grid has no further deadline, or gets one only when the handler has returned.
    static var isServed: TimerTraits { TimerTraits(rawValue: 4) }
    /// Something of its timing is at its side.
    static var hasRules: TimerTraits { TimerTraits(rawValue: 8) }
    /// The timer ends after one more tick.
    static var isFinishing: TimerTraits { TimerTraits(rawValue: 16) }
    /// Somebody was told that the target was released.
    static var isOrphan: TimerTraits { TimerTraits(rawValue: 32) }
}

extension UInt64 {
    /// The first multiple of the largest power of two within the tolerance that is not before this instant.
    fileprivate func roundedUp(within tolerance: UInt64) -> UInt64 {
        guard tolerance > 1 else { return self }
        let below: UInt64 = (1 << UInt64(63 - tolerance.leadingZeroBitCount)) - 1
        let (sum, overflow) = addingReportingOverflow(below)
        return overflow ? self : sum & ~below
    }
}
