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
    }

    private enum Repetition: UInt8 { case none, every, afterReturn, onDemand }

    private struct Traits: OptionSet {
        let rawValue: UInt8
        static let isPaused = Traits(rawValue: 1)
        static let isOnDemand = Traits(rawValue: 2)
    }

    /// The place among equal deadlines: a number given by each (re)schedule.
    @safe @exclusivity(unchecked) package final var sequence: UInt64 = 0
    // The grid, in less room than a `Grid` takes.
    @safe @exclusivity(unchecked) private final var origin: UInt64 = .max
    @safe @exclusivity(unchecked) private final var length: UInt64 = 0
    /// The step of the oldest deadline that has had no tick.
    @safe @exclusivity(unchecked) private final var step: UInt64 = 0
    /// That deadline's number.
    @safe @exclusivity(unchecked) package private(set) final var index: UInt64 = 0
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

    /// How many nanoseconds late a tick may be on purpose.
    package final var tolerance: UInt64 { rare?.tolerance ?? 0 }

    /// The deadlines.
    package private(set) final var grid: Grid {
        get {
            switch repetition {
            case .none: Grid(origin: origin)
            case .every:
                Grid(origin: origin, repetition: .every(Period(nanoseconds: length, count: rare?.count ?? 1)))
            case .afterReturn: Grid(origin: origin, repetition: .afterReturn(length))
            case .onDemand: Grid(origin: origin, repetition: .onDemand)
            }
        }
        set {
            origin = newValue.origin
            step = newValue.firstStep
            switch newValue.repetition {
            case .none: repetition = .none
            case .every(let period):
                (repetition, length) = (.every, period.nanoseconds)
                if period.count != rare?.count ?? 1 { rareFacts().count = period.count }
            case .afterReturn(let delay): (repetition, length) = (.afterReturn, delay)
            case .onDemand:
                repetition = .onDemand
                traits.insert(.isOnDemand)
            }
        }
    }

    /// The length of a timer's only step, if it is a whole number of nanoseconds.
    final var wholePeriod: UInt64? { repetition == .every && rare == nil ? length : nil }

    /// The next deadline of the grid; nil past the last one, and until a handler that is waited for has returned.
    final var gridDeadline: UInt64? { grid.deadline(step) }

    /// When the next tick is due; nil if none is to come.
    package final var nextDeadline: UInt64? {
        guard let extra = rare?.extra, extra != .max else { return gridDeadline }
        return min(gridDeadline ?? .max, extra)
    }

    /// The same without a deadline that is never.
    package final var comingDeadline: UInt64? { nextDeadline.flatMap { $0 == .max ? nil : $0 } }

    /// When to look for the next tick: at its deadline or, with a tolerance, at the first instant from there on that is
    /// round enough to be shared with others. Those instants are the multiples of the largest power of two within the
    /// tolerance, so that coarse ones coincide with finer ones, whatever the timers' phases are.
    package final var nextLook: UInt64? {
        guard let rare else { return gridDeadline }
        guard let deadline = gridDeadline else { return nextDeadline }
        return min(deadline.roundedUp(within: rare.tolerance), rare.extra)
    }

    // MARK: What happens to it

    /// Starts anew on another grid.
    final func restart(on grid: Grid, sequence: UInt64) {
        self.grid = grid
        self.sequence = sequence
        index = 0
        rare?.burst = 0
    }

    /// Asks for an extra tick. Until it has begun, more of them are the same one, of the earliest instant: a wall clock may
    /// have been stepped back.
    final func askForExtra(at now: UInt64) { rareFacts().extra = min(rareFacts().extra, now) }

    /// The tick for the oldest deadline that has passed at `now`; nil if there is none.
    final func takeTick(at now: UInt64) -> Due? {
        guard let deadline = nextDeadline, deadline <= now, deadline != .max else { return nil }
        if let rare, rare.extra == deadline, gridDeadline != deadline {
            rare.extra = .max
            return Due(index: index, deadline: deadline, missed: 0)
        }
        let grid = grid
        var missed = grid.latestStep(at: now) - step
        if let rare {
            rare.burst += 1
            if rare.burst < rare.policy.limit { missed = 0 }
        }
        let due = Due(index: index, deadline: deadline, missed: missed)
        index = index.saturatingAdding(missed).saturatingAdding(1)
        if missed > 0, let rare, rare.policy == .delay {
            self.grid = grid.restarted(at: now)
        } else {
            step = step.saturatingAdding(missed).saturatingAdding(1)
        }
        return due
    }

    /// Whether the timer is to catch up with another deadline that had passed at a look. If not, it has caught up.
    final func catchesUp(at look: UInt64) -> Bool {
        guard let rare, rare.burst > 0 else { return false }
        if rare.burst < rare.policy.limit, !isPaused, !hasEnded, let next = comingDeadline, next <= look { return true }
        rare.burst = 0
        return false
    }

    /// Goes on after the handler has returned; `now` is read only if it counts.
    final func handlerReturned(at now: () -> UInt64) {
        guard repetition == .afterReturn, step > 0, let next = grid.continued(afterReturnAt: now()) else { return }
        grid = next
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
