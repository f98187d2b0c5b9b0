/// When one timer ticks: its deadlines, and which of them has had no tick. A value over numbers: callers pass the time
/// in, and it says which deadline is due.
///
/// All instants are nanoseconds on the timer's clock. Nearly all timers have a single deadline, or deadlines that are
/// a whole number of nanoseconds apart. Their timing has no rare part, and allocates nothing.
package struct Timing: ~Copyable {
    /// Fields that most timers never use, allocated when one of them is needed.
    private final class Rare {
        /// How many late deadlines in a row have a tick of their own; the last of these ticks stands for the rest.
        var burstLimit = 1
        /// Whether the grid restarts at a tick that has missed deadlines.
        var restartsLate = false
        /// The current grid, if the timer has a period, and the number that its step 0 has, or would have: it wraps.
        var grid: Grid?
        var firstIndex: UInt64 = 0
        /// The rest of the current schedule, besides its grid.
        var modifiers = ResolvedSchedule.Modifiers()
        /// How many ticks of the schedule remain; `.max` for no limit.
        var remaining: UInt64 = .max
        /// No deadline after the first is later than this.
        var end: UInt64 = .max
        /// Draws the jitter.
        var random = SeededGenerator(seed: 0)
        /// How much later than its step the next deadline is.
        var offset: UInt64 = 0
        /// How many late deadlines have had consecutive ticks since the timer last caught up.
        var burst = 0
        /// When an extra tick is due, or `.max`; and the instant at which it was asked for, which is later if the clock
        /// was set back since.
        var extra: UInt64 = .max
        var asked: UInt64 = .max
        /// Since when the time to the next deadline stands still, or `.max`.
        var frozenSince: UInt64 = .max
        /// When the timer was finished, if it was. Deadlines up to then have passed, even if the clock was set back
        /// since.
        var finished: UInt64?
    }

    /// What the next deadline comes from, and what follows it.
    private enum Kind {
        /// Nothing follows: it is an instant, or there is none yet.
        case instant
        /// Nothing follows: the deadline is this long after the start.
        case delay(UInt64)
        /// A deadline at each step of a period.
        case every(UInt64)
        /// The same, with the period of the rare part's grid, which is not a whole number of nanoseconds.
        case rate
        /// A deadline this long after the handler has returned.
        case fixedDelay(UInt64)
        /// A deadline that is computed elsewhere.
        case computed
    }

    /// The oldest deadline that has had no tick, or `.max`.
    package private(set) var deadline: UInt64 = .max
    /// The number of this deadline.
    private var index: UInt64 = 0
    private var rare: Rare?
    /// How late a tick may be on purpose, in nanoseconds.
    private var tolerance: UInt64
    private var kind = Kind.instant
    /// There is no further deadline, or none yet: the handler's return, or a computation, brings it.
    private var isExhausted = false
    /// Whether ticks are held back.
    package internal(set) var isPaused: Bool
    /// Whether the timer is idle after its last deadline, instead of ending.
    package private(set) var isOnDemand = false

    /// A timing without a deadline.
    ///
    /// - Parameters:
    ///   - burstLimit: how many late deadlines in a row have a tick of their own.
    ///   - restartsLate: whether the grid restarts at a tick that has missed deadlines.
    ///   - tolerance: how late a tick may be on purpose, in nanoseconds.
    ///   - isPaused: whether ticks are held back.
    package init(burstLimit: Int = 1, restartsLate: Bool = false, tolerance: UInt64 = 0, isPaused: Bool = false) {
        self.tolerance = tolerance
        self.isPaused = isPaused
        if burstLimit == 1, !restartsLate { return }
        let rare = needRare()
        (rare.burstLimit, rare.restartsLate) = (burstLimit, restartsLate)
    }

    private mutating func needRare() -> Rare {
        if let rare { return rare }
        let new = Rare()
        if case .every(let period) = kind { new.grid = Grid(deadline, Period(nanoseconds: period)) }
        new.firstIndex = index
        rare = new
        return new
    }

    // MARK: State

    /// Whether no tick remains. A timer on demand is never over, nor is one whose deadline never comes.
    package var isOver: Bool { isExhausted && !isOnDemand && extra == .max }

    /// Whether no further deadline counts: the count is used up, the end has passed, or the timer was finished.
    package var isCountedOut: Bool { rare?.remaining == 0 }

    /// The length of a step; nil if there is no more than one deadline at a time.
    package var period: Period? {
        switch kind {
        case .every(let period): Period(nanoseconds: period)
        case .rate: rare?.grid?.period
        case .instant, .delay, .fixedDelay, .computed: nil
        }
    }

    /// The delay from the return of the handler to the next deadline; nil if that is not how it is counted.
    package var fixedDelay: UInt64? { if case .fixedDelay(let delay) = kind { delay } else { nil } }

    /// The period of the deadlines that follow the next one, if it is a whole number of nanoseconds below 2^60, and
    /// nothing else decides on them.
    var wholePeriod: UInt64? {
        guard case .every(let period) = kind, period < 1 << 60 else { return nil }
        guard let rare else { return period }
        return rare.extra == .max && rare.end == .max && rare.modifiers.jitter == 0 ? period : nil
    }

    /// Whether the timer repeats by itself.
    package var isRepeating: Bool {
        switch kind {
        case .every, .rate, .fixedDelay, .computed: true
        case .instant, .delay: false
        }
    }

    /// The length of a step in nanoseconds, if the timer has a period; otherwise `.max`. A step is at least this long.
    package var leastPeriod: UInt64 { period.map { $0.nanoseconds / $0.count } ?? .max }

    /// A length in nanoseconds that no step is shorter than; 0 for a timing with a rare part. Quicker than
    /// ``leastPeriod``.
    @inline(__always) var quickLeastPeriod: UInt64 {
        if rare != nil { return 0 }
        return if case .every(let period) = kind { period } else { .max }
    }

    /// Whether the deadlines are computed elsewhere.
    package var isComputed: Bool { if case .computed = kind { true } else { false } }

    /// Whether the tick that was just taken stands for all deadlines that have passed.
    package var isTheRest: Bool { rare.map { max($0.burst, 1) >= $0.burstLimit } ?? true }

    /// The tick that was just taken stands for the computed deadlines up to this instant; 0 if only for its own.
    package func restEnd(at now: UInt64) -> UInt64 {
        guard isTheRest else { return 0 }
        return rare.map { min(max(now, $0.finished ?? 0), $0.end) } ?? now
    }

    private var extra: UInt64 { rare?.extra ?? .max }

    /// Whether an extra tick was asked for.
    package var hasExtra: Bool { extra != .max }

    /// When the next tick is due; `.max` if no tick remains, or if the next one must wait for a handler to return.
    package var nextDeadline: UInt64 { rare.map { min(deadline, $0.extra) } ?? deadline }

    /// The last instant at which the next tick may come: its deadline, or later with a tolerance. An extra tick has no
    /// tolerance.
    package var lastInstant: UInt64 { min(lastInstant(of: deadline), extra) }

    /// ``nextDeadline`` and ``lastInstant``, with one look at the rare part.
    @inline(__always) var window: (deadline: UInt64, lastInstant: UInt64) {
        guard let rare else { return (deadline, lastInstant(of: deadline)) }
        return (min(deadline, rare.extra), min(lastInstant(of: deadline), rare.extra))
    }

    /// The last instant at which the tick of a deadline may come; saturates below `.max`, which is never.
    @inline(__always) func lastInstant(of deadline: UInt64) -> UInt64 {
        // Nearly every timer takes this path.
        if tolerance == 0 { return deadline }
        let (sum, overflow) = deadline.addingReportingOverflow(tolerance)
        return overflow || sum == .max ? max(deadline, .max - 1) : sum
    }

    /// Whether the timing has no rare part, and waits for a deadline after an instant.
    @inline(__always) func isAhead(of instant: UInt64) -> Bool {
        deadline > instant && deadline != .max && !isPaused && rare == nil
    }

    // MARK: Beginning

    /// Begins a schedule at an instant. It replaces the previous one and its extra tick. The random lengths are drawn
    /// from `random`.
    @inline(__always) package mutating func begin(
        _ schedule: borrowing ResolvedSchedule,
        at now: UInt64,
        using random: inout SeededGenerator
    ) {
        var origin = schedule.origin(at: now)
        index = 0
        if schedule.modifiers != nil || rare != nil { origin = begin(schedule, from: origin, using: &random) }
        var step: UInt64 = 0
        switch schedule.start {
        case .after(let delay): kind = .delay(delay)
        case .afterOneStep: (kind, step) = (.instant, 1)
        case .at, .aligned, .never: kind = .instant
        }
        follow(schedule.repetition, from: origin, step: step)
    }

    // Not inlined: few timings have a rare part, and the others' way stays short.
    @inline(never) private mutating func begin(
        _ schedule: borrowing ResolvedSchedule,
        from origin: UInt64,
        using random: inout SeededGenerator
    ) -> UInt64 {
        let (rare, modifiers) = (needRare(), schedule.modifiers ?? ResolvedSchedule.Modifiers())
        var (origin, end) = (origin, UInt64.max)
        if modifiers.spread > 0 {
            origin = origin.saturatingAdding(.random(in: 0...modifiers.spread, using: &random))
        }
        // A schedule with a span starts after a delay, which is no longer.
        if modifiers.span != .max, case .after(let delay) = schedule.start {
            end = origin.saturatingAdding(modifiers.span - delay)
        }
        if modifiers.jitter > 0 { rare.random = SeededGenerator(seed: random.next()) }
        (rare.modifiers, rare.remaining, rare.end) = (modifiers, modifiers.count, end)
        (rare.extra, rare.burst, rare.grid) = (.max, 0, nil)
        return origin
    }

    /// Takes the deadlines of a repetition, of which the one of this step gets the next number.
    @inline(__always)
    private mutating func follow(_ repetition: Repetition<UInt64>, from origin: UInt64, step: UInt64 = 0) {
        isExhausted = false
        switch repetition {
        case .once: break
        case .every(let period):
            kind = .every(period)
            if rare != nil { return follow(Grid(origin, Period(nanoseconds: period)), from: step) }
            deadline = step == 1 ? origin.saturatingAdding(period) : origin
            return
        case .rate(let count, per: let length):
            kind = .rate
            return follow(Grid(origin, Period(nanoseconds: length, count: UInt64(count))), from: step)
        case .fixedDelay(let delay): kind = .fixedDelay(delay)
        case .computed:
            kind = .computed
            // The deadlines are instants, which no pause moves.
            rare?.frozenSince = .max
        case .onDemand: isOnDemand = true
        }
        if let rare { wait(for: origin, by: rare) } else { deadline = origin }
    }

    @inline(never) private mutating func follow(_ grid: Grid, from step: UInt64) {
        let rare = needRare()
        (rare.grid, rare.firstIndex) = (grid, index &- step)
        wait(for: grid.deadline(step), by: rare)
    }

    /// Waits for a deadline, with its jitter, unless it is beyond the end.
    @inline(never) private mutating func wait(for nominal: UInt64, by rare: Rare) {
        deadline = nominal
        rare.offset = 0
        if nominal > rare.end {
            rare.remaining = 0
            exhaust()
        } else if rare.modifiers.jitter > 0 {
            let jitter = UInt64.random(in: 0...rare.modifiers.jitter, using: &rare.random)
            deadline = min(nominal.saturatingAdding(jitter), rare.end)
            rare.offset = deadline - nominal
        }
    }

    /// Notes that there is no further deadline, or none yet.
    private mutating func exhaust() {
        (deadline, isExhausted) = (.max, true)
    }

    /// Restarts the schedule, with its delay or one step before the first deadline. Returns false for one
    /// that does not count from its beginning.
    package mutating func restart(at now: UInt64, using random: inout SeededGenerator) -> Bool {
        var modifiers = rare?.modifiers
        modifiers?.spread = 0
        let (start, repetition): (ResolvedSchedule.Start, Repetition<UInt64>)
        switch kind {
        case .instant, .computed: return false
        case .delay(let delay): (start, repetition) = (.after(delay), .once)
        case .every(let period): (start, repetition) = (.after(period), .every(period))
        case .fixedDelay(let delay): (start, repetition) = (.after(delay), .fixedDelay(delay))
        case .rate:
            guard let period else { return false }
            (start, repetition) = (.afterOneStep, .rate(Int(period.count), per: period.nanoseconds))
        }
        if let span = modifiers?.span, case .after(let delay) = start { modifiers?.span = max(span, delay) }
        begin(ResolvedSchedule(start, repetition, modifiers), at: now, using: &random)
        return true
    }

    /// Takes the steps of another schedule from the next deadline on, which keeps its place and its number, or from now
    /// on if a step from now ends earlier. Returns false if there is no such deadline, or if it is computed. Constant
    /// time.
    package mutating func changeSteps(to schedule: borrowing ResolvedSchedule, at now: UInt64) -> Bool {
        if deadline == .max || isComputed { return false }
        if schedule.modifiers != nil || rare != nil {
            let rare = needRare()
            rare.modifiers = schedule.modifiers ?? ResolvedSchedule.Modifiers()
            (rare.remaining, rare.end) = (rare.modifiers.count, .max)
        }
        let (next, now) = (deadline, min(now, rare?.frozenSince ?? now))
        // A deadline that is further away than a step was asked for by itself.
        if let period, next <= now.saturatingAdding(period.nanoseconds / period.count + 1) {
            follow(schedule.repetition, from: now, step: 1)
            if deadline < next { return true }
        }
        follow(schedule.repetition, from: next)
        return true
    }

    // MARK: Ticking

    /// Asks for an extra tick. Requests made before that tick begins collapse into one, at the earliest instant: a
    /// wall clock may have been stepped back between them.
    package mutating func askForExtra(at now: UInt64) {
        let rare = needRare()
        rare.asked = rare.extra == .max ? now : min(rare.asked, now)
        rare.extra = min(rare.extra, now)
    }

    /// An extra tick that was asked for is due by now, even if the clock was set back since.
    package func bringExtraForward(to now: UInt64) {
        if let rare, rare.extra != .max { rare.extra = min(rare.extra, now) }
    }

    /// Takes the tick for the oldest deadline that has passed at `now`; nil if no deadline has passed.
    @inline(__always) package mutating func takeTick(at now: UInt64) -> Expiration? {
        if let rare { return takeTick(at: now, by: rare) }
        if deadline > now || deadline == .max { return nil }
        guard case .every(let period) = kind else {
            let tick = Expiration(index: index, deadline: deadline, isComputed: isComputed)
            index = index.saturatingAdding(1)
            exhaust()
            return tick
        }
        // Nearly every timer takes this path. The deadlines are exact: they are whole numbers of nanoseconds apart.
        let missed = now - deadline < period ? 0 : (now - deadline) / period
        let span = missed &* period
        let tick = Expiration(index: index, deadline: deadline, span: span, missed: missed)
        index = missed < .max - index ? index + missed + 1 : .max
        let (next, isTooLate) = (deadline + span).addingReportingOverflow(period)
        deadline = isTooLate ? .max : next
        return tick
    }

    @inline(never) private mutating func takeTick(at now: UInt64, by rare: Rare) -> Expiration? {
        let isExtraDue = rare.extra <= now && rare.extra != .max
        let now = max(now, rare.finished ?? 0)
        let due = deadline
        let isDue = due <= now && due != .max
        // The last tick stands for an extra one, too.
        if isExtraDue, !isDue || due > rare.asked && rare.finished == nil {
            rare.extra = .max
            return Expiration(index: index, deadline: rare.asked, isExtra: true)
        }
        guard isDue else { return nil }
        if rare.finished != nil { rare.extra = .max }
        rare.burst += 1
        let grid = rare.grid
        var (missed, latest) = (UInt64(0), due)
        if let grid, isTheRest {
            let step = grid.latestStep(at: max(due - rare.offset, rare.end <= now ? rare.end : now - rare.offset))
            missed = step - (index &- rare.firstIndex)
            // The deadlines that this tick stands for are moved by the jitter of the oldest, but not beyond the end.
            if missed > 0 { latest = min(grid.deadline(step).saturatingAdding(rare.offset), rare.end) }
        }
        let span = latest - due
        let tick = Expiration(index: index, deadline: due, span: span, missed: missed, isComputed: isComputed)
        index = index.saturatingAdding(missed).saturatingAdding(1)
        if rare.remaining != .max { rare.remaining -= 1 }
        guard let grid, rare.remaining > 0 else {
            exhaust()
            return tick
        }
        if missed > 0, rare.restartsLate {
            follow(Grid(now, grid.period), from: 1)
        } else {
            wait(for: index == .max ? .max : grid.deadline(index &- rare.firstIndex), by: rare)
        }
        return tick
    }

    /// Whether the timer must deliver another late deadline that had passed at an instant. If not, the burst ends. An
    /// extra tick is none.
    package mutating func catchesUp(at instant: UInt64) -> Bool {
        guard let rare, rare.burst > 0 else { return false }
        if rare.burst < rare.burstLimit, !isPaused, deadline <= instant, deadline != .max { return true }
        stopCatchingUp()
        return false
    }

    /// Ends a burst of late ticks; the remaining late deadlines begin a new burst.
    package func stopCatchingUp() { rare?.burst = 0 }

    /// Whether the next deadline is counted from the return of the handler.
    package var countsFromReturn: Bool { isExhausted && fixedDelay != nil && rare?.remaining != 0 }

    /// Begins the next delay of a timer that counts from the return of its handler.
    package mutating func handlerReturned(at now: UInt64) {
        if let rare, rare.frozenSince != .max { rare.frozenSince = max(rare.frozenSince, now) }
        guard let fixedDelay else { return }
        isExhausted = false
        move(to: now.saturatingAdding(fixedDelay))
    }

    /// Whether the next deadline is being computed, or the deadlines that the last tick stands for.
    package var awaitsComputation: Bool { isExhausted && isComputed }

    /// Goes on with the deadline that was computed during the delivery of the previous one, or with none.
    ///
    /// - Parameters:
    ///   - next: the deadline; nil if there is none.
    ///   - missed: how many deadlines had passed before it, and share that tick.
    package mutating func advance(to next: UInt64?, missed: UInt64) {
        index = index.saturatingAdding(missed)
        guard let next else { return }
        isExhausted = false
        move(to: next)
    }

    /// Moves the next deadline, which was computed again, and keeps its number.
    package mutating func move(to next: UInt64) { if let rare { wait(for: next, by: rare) } else { deadline = next } }

    /// Drops every deadline after now. One tick stands for those that have passed or, if none has, an extra one comes.
    /// Then the timer ends, also one on demand.
    package mutating func finish(at now: UInt64) {
        let rare = needRare()
        if rare.finished != nil { return }
        (rare.finished, rare.end, rare.burstLimit, isOnDemand) = (now, min(rare.end, now), 1, false)
        // An extra tick has no tolerance, so the last tick comes at once. One for a passed deadline replaces it.
        askForExtra(at: now)
        if deadline <= now { return }
        // A deadline that is being computed may have passed.
        if !awaitsComputation { rare.remaining = 0 }
        exhaust()
    }

    // MARK: Standing still

    /// Lets the time to the next deadline stand still from now on, unless the deadlines are computed: those are
    /// instants, which no pause moves.
    package mutating func freeze(at now: UInt64) { if !isComputed { needRare().frozenSince = now } }

    /// Whether the time to the next deadline stands still.
    package var isFrozen: Bool { rare.map { $0.frozenSince != .max } ?? false }

    /// Lets the time go on: all deadlines are later by the time for which it stood still. A new schedule starts frozen
    /// again.
    package mutating func thaw(at now: UInt64) {
        guard let rare, rare.frozenSince != .max else { return }
        let time = now - min(now, rare.frozenSince)
        rare.frozenSince = .max
        rare.grid?.origin.add(time)
        deadline.add(time)
        rare.end.add(time)
    }

    /// The next deadline; `.max` if there is none, or if the time to it stands still.
    package var knownDeadline: UInt64 { isFrozen ? .max : nextDeadline }

    /// The time to the next deadline in nanoseconds, zero if it has passed; nil if no tick remains. While that
    /// stands still, a requested extra tick changes nothing: it comes afterwards.
    package func remaining(at now: UInt64) -> UInt64? {
        let (next, now) = isFrozen ? (deadline, rare?.frozenSince ?? now) : (nextDeadline, now)
        return next == .max ? nil : next - min(next, now)
    }
}

extension UInt64 {
    /// Adds a length; saturates.
    fileprivate mutating func add(_ length: UInt64) { self = saturatingAdding(length) }
}
