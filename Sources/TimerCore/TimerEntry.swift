/// One timer in numbers: where it is on its grid, where it waits, and whether it has ended.
///
/// All instants are nanoseconds on the clock of the scheduler that the timer is of. Everything here is protected by
/// whatever protects that scheduler; that is why it is `@unchecked Sendable`, and why no access is checked at run time.
///
/// It is open because the layer above makes one object of it and of what it knows itself of a timer.
@_spi(Engine)
open class TimerEntry: @unchecked Sendable {
    /// Where a timer is.
    package enum Whereabouts: UInt8, Sendable {
        /// In no queue: nothing is to come, or not yet.
        case rests
        /// In the queue of deadlines.
        case awaitsDeadline
        /// In the queue of looks.
        case awaitsLook
        /// Due, and not yet at its handler.
        case onItsWay
        /// In its handler.
        case runs
    }

    /// Whether a timer has ended, and why.
    package enum Ending: UInt8, Sendable {
        case goesOn
        case completed, cancelled, targetReleased, handleReleased, serviceShutDown, backendFailed
    }

    /// What few timers have. Made on demand.
    private final class Rare {
        /// How many steps make the length of a period, if not one.
        var count: UInt64 = 1
        var policy = LatePolicy.skip
        var tolerance: UInt64 = 0
        /// How many late deadlines have had their ticks, one after the other, since the timer last caught up.
        var burst = 0
        /// Since when an extra tick has been asked for; never if none is.
        var extra: UInt64 = .max
        /// The first step of the present grid, if not 0, and the number of its deadline.
        var first: (step: UInt64, index: UInt64) = (0, 0)
    }

    private enum Repetition: UInt8 { case none, every, afterReturn, onDemand }

    private struct Traits: OptionSet {
        let rawValue: UInt8
        static let isPaused = Traits(rawValue: 1)
        static let isOnDemand = Traits(rawValue: 2)
        /// The grid has no deadline any more, or none until the handler has returned.
        static let isServed = Traits(rawValue: 4)
    }

    /// The place among equal deadlines: a number given by each (re)schedule.
    @safe @exclusivity(unchecked) final var sequence: UInt64 = 0
    /// The oldest deadline of the grid that has had no tick; never if there is none.
    @safe @exclusivity(unchecked) private final var deadline: UInt64 = .max
    // The grid, in less room than a `Grid` takes.
    @safe @exclusivity(unchecked) private final var origin: UInt64 = .max
    @safe @exclusivity(unchecked) private final var length: UInt64 = 0
    /// The number of the deadline.
    @safe @exclusivity(unchecked) private final var index: UInt64 = 0
    @safe @exclusivity(unchecked) private final var rare: Rare?
    /// Its position in the queue that it is in.
    @safe @exclusivity(unchecked) final var position: Int32 = -1
    /// Its position in the list of all timers.
    @safe @exclusivity(unchecked) final var place: Int32 = -1
    @safe @exclusivity(unchecked) private final var repetition = Repetition.none
    @safe @exclusivity(unchecked) private final var traits: Traits = []
    /// Where the timer is.
    @safe @exclusivity(unchecked) package internal(set) final var whereabouts = Whereabouts.rests
    /// Whether the timer has ended, and why.
    @safe @exclusivity(unchecked) package internal(set) final var ending = Ending.goesOn

    /// A timer that has no deadlines until a scheduler takes it in.
    public init() {}

    /// Says how its deadlines are dealt with. To be called before a scheduler takes the timer in.
    package final func setRules(policy: LatePolicy = .skip, tolerance: UInt64 = 0, isPaused: Bool = false) {
        self.isPaused = isPaused
        if policy == .skip, tolerance == 0 { return }
        let rare = rareFacts()
        rare.policy = policy
        rare.tolerance = tolerance
    }

    private final func rareFacts() -> Rare {
        if let rare { return rare }
        let new = Rare()
        rare = new
        return new
    }

    // MARK: What is known

    /// Whether there will be no tick any more.
    package final var hasEnded: Bool { ending != .goesOn }

    /// Whether ticks are held back.
    package internal(set) final var isPaused: Bool {
        get { traits.contains(.isPaused) }
        set { if newValue { traits.insert(.isPaused) } else { traits.remove(.isPaused) } }
    }

    /// Whether the timer rests once its last deadline has been served, and does not end.
    package final var isOnDemand: Bool { traits.contains(.isOnDemand) }

    /// Whether a tick is on its way to the handler, or the handler is running.
    package final var isInDelivery: Bool { whereabouts == .onItsWay || whereabouts == .runs }

    /// The deadlines of the timer's present schedule, from the step that is the next.
    package final var grid: Grid {
        switch repetition {
        case .none: Grid(origin: origin, firstStep: step)
        case .every: Grid(origin: origin, repetition: .every(period), firstStep: step)
        case .afterReturn: Grid(origin: origin, repetition: .afterReturn(length), firstStep: step)
        case .onDemand: Grid(origin: origin, repetition: .onDemand, firstStep: step)
        }
    }

    /// How long after its next deadline each later one follows, if that is a whole number of nanoseconds.
    final var wholePeriod: UInt64? {
        let isWhole = rare.map { $0.count == 1 && $0.extra == .max } ?? true
        return repetition == .every && isWhole && length < 1 << 60 ? length : nil
    }

    private final var period: Period { Period(nanoseconds: length, count: rare?.count ?? 1) }

    /// The step of the oldest deadline that has had no tick.
    private final var step: UInt64 {
        guard let first = rare?.first else { return index }
        return (index - first.index).saturatingAdding(first.step)
    }

    /// When the next tick is due; never if none is to come, or not before a handler has returned.
    package final var nextDeadline: UInt64 { rare.map { min(deadline, $0.extra) } ?? deadline }

    /// When to look for the next tick: at its deadline or, with a tolerance, at the first instant from there on that is
    /// round enough to be shared with others. Those instants are the multiples of the largest power of two within the
    /// tolerance, so that coarse ones coincide with finer ones, whatever the timers' phases are.
    package final var nextLook: UInt64 {
        rare.map { min(deadline.roundedUp(within: $0.tolerance), $0.extra) } ?? deadline
    }

    /// Whether nothing is left to wait for: not even a deadline that never comes, or another schedule.
    final var isOver: Bool {
        traits.contains(.isServed) && !isOnDemand && rare?.extra ?? .max == .max
    }

    // MARK: What happens to it

    /// Starts anew on another grid.
    final func restart(on grid: Grid, sequence: UInt64) {
        self.sequence = sequence
        index = 0
        stopCatchingUp()
        begin(grid)
    }

    private final func begin(_ grid: Grid) {
        origin = grid.origin
        if grid.firstStep != 0 || rare != nil { rareFacts().first = (grid.firstStep, index) }
        switch grid.repetition {
        case .none: repetition = .none
        case .every(let period):
            (repetition, length) = (.every, period.nanoseconds)
            if period.count != 1 || rare != nil { rareFacts().count = period.count }
        case .afterReturn(let delay): (repetition, length) = (.afterReturn, delay)
        case .onDemand:
            repetition = .onDemand
            traits.insert(.isOnDemand)
        }
        traits.remove(.isServed)
        deadline = grid.deadline(grid.firstStep) ?? .max
    }

    /// Asks for an extra tick. Until it has begun, more of them are the same one, of the earliest instant: a wall clock may
    /// have been stepped back.
    final func askForExtra(at now: UInt64) { rareFacts().extra = min(rareFacts().extra, now) }

    /// The tick for the oldest deadline that has passed at `now`; nil if there is none.
    final func takeTick(at now: UInt64) -> Due? {
        let due = nextDeadline
        if due > now || due == .max { return nil }
        if due != deadline {
            rare?.extra = .max
            return Due(index: index, deadline: due, missed: 0)
        }
        let missed = missedDeadlines(at: now)
        let tick = Due(index: index, deadline: due, missed: missed)
        index = index.saturatingAdding(missed).saturatingAdding(1)
        goOn(afterMissing: missed, at: now)
        return tick
    }

    /// How many deadlines after the oldest have passed, too, and get no tick of their own.
    private final func missedDeadlines(at now: UInt64) -> UInt64 {
        rare?.burst += 1
        guard repetition == .every else { return 0 }
        guard let rare else { return (now - deadline) / length }
        return rare.burst < rare.policy.limit ? 0 : grid.latestStep(at: now) - step
    }

    /// Moves to the next deadline.
    private final func goOn(afterMissing missed: UInt64, at now: UInt64) {
        guard repetition == .every else {
            deadline = .max
            traits.insert(.isServed)
            return
        }
        guard let rare else {
            // Nearly always: a step takes a whole number of nanoseconds, and the first one is 0.
            let (offset, overflow) = length.multipliedReportingOverflow(by: index)
            deadline = overflow ? .max : origin.saturatingAdding(offset)
            return
        }
        if missed > 0, rare.policy == .delay { return begin(grid.restarted(at: now)) }
        deadline = grid.deadline(step) ?? .max
    }

    /// Whether the timer is to catch up with another deadline that had passed at a look. If not, it has caught up.
    final func catchesUp(at look: UInt64) -> Bool {
        guard let rare, rare.burst > 0 else { return false }
        let next = nextDeadline
        if rare.burst < rare.policy.limit, !isPaused, !hasEnded, next <= look, next != .max { return true }
        stopCatchingUp()
        return false
    }

    /// The late deadlines that are left are caught up with anew.
    final func stopCatchingUp() { rare?.burst = 0 }

    /// Whether the next deadline is counted from the return of the handler.
    package final var awaitsReturn: Bool { repetition == .afterReturn && traits.contains(.isServed) }

    /// Goes on after the handler has returned.
    final func handlerReturned(at now: UInt64) {
        guard awaitsReturn else { return }
        begin(Grid(origin: now.saturatingAdding(length), repetition: .afterReturn(length)))
    }
}

/// What a look at the clock makes of a timer that is due: the facts of its tick.
package struct Due: Hashable, Sendable {
    /// The number of the deadline that the tick stands for.
    package let index: UInt64
    /// That deadline, the oldest that has had no tick.
    package let deadline: UInt64
    /// How many later deadlines had passed as well and get no tick of their own.
    package let missed: UInt64

    /// The facts of a tick.
    package init(index: UInt64, deadline: UInt64, missed: UInt64) {
        self.index = index
        self.deadline = deadline
        self.missed = missed
    }
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
