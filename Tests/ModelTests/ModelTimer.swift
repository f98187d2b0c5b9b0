import PreciseTimer

/// One timer by the letter of the contract: it counts its deadlines one by one. Instants are nanoseconds.
struct ModelTimer {
    let plan: Plan
    /// The order among equal deadlines: the number of its latest schedule.
    var order: Int
    var grid: ModelGrid
    /// The step of the grid's next deadline.
    var step: UInt64 = 0
    var index: UInt64 = 0
    /// When an extra tick is due, and when it was asked for.
    var extra: UInt64?
    var asked: UInt64 = 0
    var isPaused: Bool
    /// Since when the time to its next deadline stands still; nil if it does not.
    var heldSince: UInt64?
    /// Whether somebody has read that its target was released.
    var isOrphan = false
    /// Whether it rests after its last deadline, because it has been on demand at least once.
    var isOnDemand: Bool
    /// The number of its target; nil if the handle is the target.
    let target: Int?
    var hasHandle = true
    /// Whether its turn in a round has not ended.
    var isInDelivery = false
    /// Whether it came due during a round, or was asked for an extra tick, and waits for the next round.
    var isDeferred = false
    var isRunning = false
    /// Whether a fixed delay waits for the handler's return.
    var awaitsReturn = false
    var burst = 0
    /// The ticks of its latest schedule, without extra ones.
    var ticksOfSchedule = 0
    var ending: PreciseTimer.EndReason?
    var calls = 0
    var ticks: UInt64 = 0
    var lastLateness: UInt64?

    var hasEnded: Bool { ending != nil }

    /// Whether calls can change it.
    var isOpen: Bool { !hasEnded && !isOrphan }

    /// Whether it waits for its next deadline.
    var isWaiting: Bool { !hasEnded && !isPaused && !isInDelivery }

    /// Whether another late tick may follow in the same round.
    var mayCatchUp: Bool {
        if case .catchUp(let limit) = plan.policy { burst > 0 && burst < limit } else { false }
    }

    /// Whether its latest schedule has had its last tick.
    var isSpent: Bool { ticksOfSchedule == grid.limit || grid.isOver(step) }

    var onGrid: UInt64? { awaitsReturn || isSpent ? nil : grid.deadline(step) }

    /// The next deadline, `.max` for never; nil if no tick remains, or if the running handler decides it.
    var next: UInt64? { [onGrid, extra].compactMap { $0 }.min() }

    /// The next deadline as `nextDeadline` reports it.
    var nextForReader: UInt64? { hasEnded || next == .max || heldSince != nil ? nil : next }

    /// The time to the next deadline, but no more than a very long one.
    func remaining(at now: UInt64) -> Duration? {
        guard let next = heldSince == nil ? next : onGrid, next != .max else { return nil }
        return .nanoseconds(min(Int64(next - min(next, heldSince ?? now)), Rule.farAway / 2))
    }

    /// When it must tick.
    var lastInstant: UInt64? {
        guard let deadline = onGrid, deadline != .max else { return extra }
        let lastInstant = deadline + UInt64(plan.tolerance)
        return min(lastInstant, extra ?? lastInstant)
    }

    /// Its place among the timers that wait.
    typealias Place = (instant: UInt64, order: Int)

    var place: Place { (lastInstant ?? .max, order) }

    /// Waits for its next deadline, during a round at an instant or between rounds. A timer that is due in the round,
    /// or was asked for an extra tick, waits for the next one, unless it keeps its turn.
    mutating func queue(during round: UInt64?, keepsTurn: Bool) {
        let isDue = round.flatMap { round in next.map { $0 <= round } } ?? false
        isDeferred = !keepsTurn && isWaiting && (isDue || extra != nil)
    }

    mutating func askForExtra(at now: UInt64) {
        asked = extra == nil ? now : min(asked, now)
        extra = min(extra ?? now, now)
    }

    /// A round begins. An extra tick is due, also if the clock was set back.
    mutating func beginRound(at instant: UInt64) {
        isDeferred = false
        extra = extra.map { min($0, instant) }
    }

    /// The facts of a tick.
    typealias Facts = (index: Int, deadline: UInt64, latest: UInt64, missed: UInt64, isExtra: Bool)

    /// Takes the next tick as of an instant.
    mutating func takeTick(at instant: UInt64, now: UInt64) -> Facts? {
        let isDue = onGrid.map { $0 <= instant } ?? false
        if let extra, extra <= instant, !isDue || onGrid ?? 0 > asked {
            self.extra = nil
            return (Int(index), asked, asked, 0, true)
        }
        guard let deadline = onGrid, isDue else { return nil }
        burst += 1
        ticksOfSchedule += 1
        var missed: UInt64 = 0
        // Deadlines are computed when the handler is about to be called.
        let end = grid.rule.isComputed ? max(now, instant) : instant
        if !mayCatchUp { while let later = grid.deadline(step + missed + 1), later <= end { missed += 1 } }
        let latest = missed == 0 ? deadline : grid.deadline(step + missed) ?? deadline
        let tick = (Int(index), deadline, latest, missed, false)
        index += 1 + missed
        step += 1 + missed
        if plan.policy == .delay, missed > 0, !grid.rule.isComputed {
            grid = grid.restarted(at: instant)
            step = 0
        }
        awaitsReturn = grid.isAfterReturn && !isSpent
        return tick
    }

    mutating func handlerReturned(at now: UInt64) {
        guard awaitsReturn else { return }
        awaitsReturn = false
        // Paused in its handler, it keeps the whole delay.
        heldSince = heldSince.map { max($0, now) }
        grid = grid.restarted(at: now)
        step = 0
    }

    /// A pause keeps the grid, or else the time that remains. Computed deadlines stay in any case.
    mutating func pause(keepsGrid: Bool, at now: UInt64) {
        isPaused = true
        if !keepsGrid, !grid.rule.isComputed { heldSince = now }
        if !isInDelivery { burst = 0 }
    }

    mutating func resume(at now: UInt64) {
        isPaused = false
        extra = extra.map { min($0, now) }
        if let heldSince { grid.move(by: now - min(now, heldSince)) }
        heldSince = nil
    }

    mutating func reschedule(_ rule: Rule, at now: UInt64, order: Int) {
        if heldSince != nil { heldSince = rule.isComputed ? nil : now }
        (grid, self.order) = (ModelGrid(rule, at: now), order)
        if rule == .onDemand { isOnDemand = true }
        (step, index, awaitsReturn, ticksOfSchedule, burst, extra) = (0, 0, false, 0, 0, nil)
    }

    /// Takes other steps from the next deadline on, or from now on if a step from now ends earlier. Returns false if
    /// there is no such deadline.
    mutating func changeSteps(to rule: Rule, at now: UInt64) -> Bool {
        guard let next = onGrid, next != .max else { return false }
        let now = min(now, heldSince ?? now)
        let fromNow = ModelGrid(rule, at: now)
        // A deadline that is further away than a step was asked for by itself.
        let isNear = grid.leastStep.map { next <= now + $0 + 1 } ?? false
        let isEarlier = isNear && fromNow.deadline(0) ?? .max < next
        grid = isEarlier ? fromNow : fromNow.begun(at: next)
        (step, ticksOfSchedule) = (0, 0)
        return true
    }
}

/// The deadlines of a timer, one for each step.
struct ModelGrid {
    let rule: Rule
    /// The instant of step 0, which is not a deadline if the rule is a rate.
    private var origin: UInt64
    /// `count` steps of the rule take `length` nanoseconds. A rule with a single deadline has zero steps.
    private let count: UInt64
    private let length: UInt64
    /// The step of the first deadline.
    private var first: UInt64
    /// No deadline is later.
    private var end: UInt64?
    let isAfterReturn: Bool
    /// The number of ticks after which there is no deadline any more; nil for no limit.
    let limit: Int?

    /// The deadlines of a valid rule that is scheduled at `now`.
    init(_ rule: Rule, at now: UInt64) {
        let (start, count, length, first): (Int64, Int, Int64, UInt64) =
            switch rule {
            case .onceAfter(let delay): (delay, 0, 0, 0)
            case .onceAt(let offset): (offset, 0, 0, 0)
            case .every(let period, let delay, _, _): (delay ?? period, 1, period, 0)
            case .everyAt(let period, let offset, _): (offset, 1, period, 0)
            case .aligned(let period, let offset, _):
                (Self.next(of: period, alignedTo: max(offset, -Int64(now))), 1, period, 0)
            case .rate(let rate, let length, let offset, _): (offset ?? 0, rate, length, offset == nil ? 1 : 0)
            case .fixedDelay(let delay, let first, _): (first ?? delay, 1, delay, 0)
            case .never, .onDemand: (0, 0, 0, 0)
            case .computed(let period): (period - Int64(now) % period, 1, period, 0)
            // With the mean of its jitter.
            case .far(let delay): (delay + Rule.farAway / 20, 1, 2 * Rule.farAway, 0)
            }
        self.rule = rule
        limit = rule.count
        if case .every(_, _, _, let span?) = rule { end = now + UInt64(span) }
        origin = rule == .never || rule == .onDemand ? .max : UInt64(max(0, Int64(now) + start))
        self.count = UInt64(count)
        self.length = UInt64(length)
        self.first = first
        if case .fixedDelay = rule { isAfterReturn = true } else { isAfterReturn = false }
    }

    /// The nominal length of a step; nil if there is a single deadline.
    var period: Duration? { count == 0 || rule.isComputed ? nil : .nanoseconds(Int64(length)) / count }

    /// The length of a step between deadlines of which each follows from the first, rounded down.
    var leastStep: UInt64? { count == 0 || isAfterReturn ? nil : length / count }

    /// The first instant after now that is a whole number of periods from another one; both count from now.
    private static func next(of period: Int64, alignedTo offset: Int64) -> Int64 {
        var instant = offset
        while instant <= 0 { instant += period }
        while instant - period > 0 { instant -= period }
        return instant
    }

    /// The same steps from a first deadline on.
    func begun(at instant: UInt64) -> ModelGrid {
        var grid = self
        (grid.origin, grid.first) = (instant, 0)
        return grid
    }

    /// The same steps, with the first deadline one step from now.
    func restarted(at now: UInt64) -> ModelGrid {
        var grid = self
        (grid.origin, grid.first) = (now, 1)
        return grid
    }

    /// Moves all deadlines by a time.
    mutating func move(by time: UInt64) {
        if origin != .max { origin += time }
        end = end.map { $0 + time }
    }

    /// Whether a step ends after the last deadline.
    func isOver(_ step: UInt64) -> Bool { end != nil && deadline(step) == nil }

    /// The exact instant of a deadline, rounded up; `.max` for never, nil after the last deadline.
    func deadline(_ step: UInt64) -> UInt64? {
        if count == 0 || isAfterReturn, step > 0 { return nil }
        if origin == .max || first + step == 0 { return origin }
        let deadline = origin + ((first + step) * length + count - 1) / count
        return deadline <= end ?? .max ? deadline : nil
    }
}
