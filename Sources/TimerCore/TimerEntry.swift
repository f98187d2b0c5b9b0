/// One timer in numbers: its position on its grid, the queue it waits in, and whether it has ended.
///
/// All instants are nanoseconds on the clock of the timer's scheduler. The lock that protects this scheduler
/// protects the timer, too. This is why the class is `@unchecked Sendable`, and why its accesses are not checked at
/// run time.
///
/// The class is open because the layer above adds its own facts about a timer to the same object.
@_spi(Engine)
open class TimerEntry: @unchecked Sendable {
    /// What a timer is doing.
    package enum Whereabouts: UInt8, Sendable {
        /// It is in no queue: it has no next deadline, or not yet.
        case rests
        /// It is in the queue of deadlines.
        case awaitsDeadline
        /// It is in the queue of looks.
        case awaitsLook
        /// It is due, and on its way to its handler.
        case onItsWay
        /// It is in its handler.
        case runs
    }

    /// Whether a timer has ended, and why.
    package enum Ending: UInt8, Sendable {
        case goesOn
        case completed, cancelled, targetReleased, handleReleased, serviceShutDown, backendFailed
    }

    /// Facts that few timers have, created on demand.
    private final class Rare {
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
        /// The first step of the present grid, and the number of its deadline.
        var first: (step: UInt64, index: UInt64) = (0, 0)
    }

    private enum Repetition: UInt8 { case none, every, afterReturn, onDemand }

    private struct Traits: OptionSet {
        let rawValue: UInt8
        static let isPaused = Traits(rawValue: 1)
        static let isOnDemand = Traits(rawValue: 2)
        /// The grid has no further deadline, or gets one only when the handler has returned.
        static let isServed = Traits(rawValue: 4)
    }

    /// The order among equal deadlines: each (re)schedule takes a new number.
    @safe @exclusivity(unchecked) final var sequence: UInt64 = 0
    /// The oldest deadline of the grid that has had no tick, or `.max`.
    @safe @exclusivity(unchecked) private final var deadline: UInt64 = .max
    // The grid, in less memory than a `Grid` takes.
    @safe @exclusivity(unchecked) private final var origin: UInt64 = .max
    @safe @exclusivity(unchecked) private final var length: UInt64 = 0
    /// The number of the deadline.
    @safe @exclusivity(unchecked) private final var index: UInt64 = 0
    @safe @exclusivity(unchecked) private final var rare: Rare?
    /// The timer's position in its queue, or among the running timers.
    @safe @exclusivity(unchecked) final var position: Int32 = -1
    /// The timer's position in the list of all timers.
    @safe @exclusivity(unchecked) final var place: Int32 = -1
    @safe @exclusivity(unchecked) private final var repetition = Repetition.none
    @safe @exclusivity(unchecked) private final var traits: Traits = []
    /// What the timer is doing.
    @safe @exclusivity(unchecked) package internal(set) final var whereabouts = Whereabouts.rests
    /// Whether the timer has ended, and why.
    @safe @exclusivity(unchecked) package internal(set) final var ending = Ending.goesOn

    /// A timer that has no deadline until it is added to a scheduler.
    public init() {}

    /// Sets the policy, the tolerance, and whether the timer is paused. Call it before the timer is added to a
    /// scheduler.
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

    // MARK: State

    /// Whether the timer has ended and will not tick again.
    package final var hasEnded: Bool { ending != .goesOn }

    /// Whether ticks are held back.
    package internal(set) final var isPaused: Bool {
        get { traits.contains(.isPaused) }
        set { if newValue { traits.insert(.isPaused) } else { traits.remove(.isPaused) } }
    }

    /// Whether the timer rests after its last deadline, instead of ending.
    package final var isOnDemand: Bool { traits.contains(.isOnDemand) }

    /// Whether a tick is on its way to the handler, or the handler is running.
    package final var isInDelivery: Bool { whereabouts == .onItsWay || whereabouts == .runs }

    /// The deadlines of the timer's present schedule, from its next step on.
    package final var grid: Grid {
        switch repetition {
        case .none: Grid(origin: origin, firstStep: step)
        case .every: Grid(origin: origin, repetition: .every(period), firstStep: step)
        case .afterReturn: Grid(origin: origin, repetition: .afterReturn(length), firstStep: step)
        case .onDemand: Grid(origin: origin, repetition: .onDemand, firstStep: step)
        }
    }

    /// The nominal length of a step; nil for a single deadline, and after the last tick of a schedule with a count.
    package final var nominalPeriod: Duration? { rare?.remaining == 0 ? nil : grid.period }

    /// The period of the deadlines that follow the next one, if it is a whole number of nanoseconds below 2^60 and
    /// no extra tick is requested.
    final var wholePeriod: UInt64? {
        let isWhole = rare.map { $0.count == 1 && $0.extra == .max } ?? true
        return repetition == .every && isWhole && length < 1 << 60 ? length : nil
    }

    /// The length of a step in nanoseconds, if the timer has a period; otherwise `.max`. A step is at least this long.
    package final var leastPeriod: UInt64 {
        guard repetition == .every else { return .max }
        return rare.map { $0.count == 1 ? length : length / $0.count } ?? length
    }

    private final var period: Period { Period(nanoseconds: length, count: rare?.count ?? 1) }

    /// The step of the oldest deadline that has had no tick.
    private final var step: UInt64 {
        guard let first = rare?.first else { return index }
        return (index - first.index).saturatingAdding(first.step)
    }

    /// When the next tick is due; `.max` if no tick remains, or if the next one must wait for a handler to return.
    package final var nextDeadline: UInt64 { rare.map { min(deadline, $0.extra) } ?? deadline }

    /// When to look for the next tick: at its deadline or, with a tolerance, at the first round instant from the
    /// deadline on, which other timers are likely to share. Round instants are the multiples of the largest power of
    /// two within the tolerance, so that coarse ones coincide with finer ones, whatever the timers' phases are.
    package final var nextLook: UInt64 {
        rare.map { min(deadline.roundedUp(within: $0.tolerance), $0.extra) } ?? deadline
    }

    /// Whether no tick remains. A timer on demand is never over, nor is one whose deadline never comes.
    final var isOver: Bool {
        traits.contains(.isServed) && !isOnDemand && rare?.extra ?? .max == .max
    }

    // MARK: Changes

    /// Starts anew on another grid. A requested extra tick belongs to the former schedule.
    final func restart(on grid: Grid, sequence: UInt64) {
        self.sequence = sequence
        rare?.extra = .max
        index = 0
        stopCatchingUp()
        if grid.count != .max || rare != nil { rareFacts().remaining = grid.count }
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

    /// Asks for an extra tick. Requests made before that tick begins collapse into one, at the earliest instant: a
    /// wall clock may have been stepped back between them.
    final func askForExtra(at now: UInt64) { rareFacts().extra = min(rareFacts().extra, now) }

    /// Takes the tick for the oldest deadline that has passed at `now`; nil if no deadline has passed.
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
        if isLastTick() { serve() } else { goOn(afterMissing: missed, at: now) }
        return tick
    }

    /// Counts down to the last tick of the schedule.
    private final func isLastTick() -> Bool {
        guard let rare, rare.remaining != .max else { return false }
        rare.remaining -= 1
        return rare.remaining == 0
    }

    /// Notes that the grid has no further deadline, or none yet.
    private final func serve() {
        deadline = .max
        traits.insert(.isServed)
    }

    /// Counts this tick in the burst. Returns how many later deadlines have also passed and get no tick of
    /// their own.
    private final func missedDeadlines(at now: UInt64) -> UInt64 {
        rare?.burst += 1
        guard repetition == .every else { return 0 }
        guard let rare else { return (now - deadline) / length }
        return rare.burst < rare.policy.limit ? 0 : grid.latestStep(at: now) - step
    }

    /// Moves to the next deadline.
    private final func goOn(afterMissing missed: UInt64, at now: UInt64) {
        guard repetition == .every else { return serve() }
        guard let rare else {
            // Nearly every timer takes this path: its period is a whole number of nanoseconds, and its first step
            // is 0.
            let (offset, overflow) = length.multipliedReportingOverflow(by: index)
            deadline = overflow ? .max : origin.saturatingAdding(offset)
            return
        }
        if missed > 0, rare.policy == .delay { return begin(grid.restarted(at: now)) }
        deadline = grid.deadline(step) ?? .max
    }

    /// Whether the timer must deliver another late deadline that had passed at a look. If not, the burst ends.
    final func catchesUp(at look: UInt64) -> Bool {
        guard let rare, rare.burst > 0 else { return false }
        let next = nextDeadline
        if rare.burst < rare.policy.limit, !isPaused, !hasEnded, next <= look, next != .max { return true }
        stopCatchingUp()
        return false
    }

    /// Ends a burst of late ticks; the remaining late deadlines begin a new burst.
    final func stopCatchingUp() { rare?.burst = 0 }

    /// Whether the next deadline is counted from the return of the handler.
    package final var awaitsReturn: Bool {
        repetition == .afterReturn && traits.contains(.isServed) && rare?.remaining != 0
    }

    /// Begins the next delay, if the timer awaits the return of its handler.
    final func handlerReturned(at now: UInt64) {
        guard awaitsReturn else { return }
        begin(Grid(origin: now.saturatingAdding(length), repetition: .afterReturn(length)))
    }
}

/// The facts of a tick, as a look at the clock decided on them.
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
