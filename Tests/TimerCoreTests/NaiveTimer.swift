import TimerCore

/// One timer as the contract has it, by counting deadlines one after the other. Slow, and short enough to be right.
struct NaiveTimer {
    let id: TimerID
    /// Its place among equal deadlines.
    var order: Int
    var grid: NaiveGrid
    let policy: LatePolicy
    let tolerance: UInt64
    var step: UInt64 = 0
    var index: UInt64 = 0
    var extra: UInt64?
    var isPaused = false
    var isInDelivery = false
    var hasEnded = false
    var awaitsReturn = false
    var burst = 0
    /// Of the present schedule: 1 + missed, over its ticks, and the deadlines of its grids that have passed before the
    /// present grid began.
    var accounted: UInt64 = 0
    var passedBefore: UInt64 = 0

    var isWaiting: Bool { !hasEnded && !isPaused && !isInDelivery }

    /// The oldest deadline of the grid that has had no tick.
    var onGrid: UInt64? { awaitsReturn ? nil : grid.deadline(step) }

    var next: UInt64? { [onGrid, extra].compactMap { $0 }.min() }

    /// When it is to be looked at.
    var look: UInt64? {
        guard var look = onGrid else { return extra }
        var unit: UInt64 = 1
        while unit * 2 <= tolerance { unit *= 2 }
        while look % unit != 0 { look += 1 }
        return min(look, extra ?? look)
    }

    mutating func tick(at now: UInt64) -> Due? {
        guard let deadline = next, deadline <= now else { return nil }
        if deadline != onGrid {
            extra = nil
            return Due(index: index, deadline: instant(deadline), missed: 0)
        }
        burst += 1
        var missed: UInt64 = 0
        if burst >= policy.limit {
            while let later = grid.deadline(step + missed + 1), later <= now { missed += 1 }
        }
        defer {
            index += 1 + missed
            accounted += 1 + missed
            step += 1 + missed
            if policy == .delay, missed > 0 {
                passedBefore += step
                grid.origin = now + grid.period
                step = 0
            }
            if grid.isAfterReturn { awaitsReturn = true }
        }
        return Due(index: index, deadline: instant(deadline), missed: missed)
    }

    mutating func handlerReturned(at now: UInt64) {
        guard awaitsReturn else { return }
        awaitsReturn = false
        passedBefore += 1
        grid.origin = now + grid.period
        step = 0
    }

    mutating func reschedule(on grid: NaiveGrid, order: Int) {
        (self.grid, self.order) = (grid, order)
        (step, index, accounted, passedBefore, awaitsReturn) = (0, 0, 0, 0, false)
    }
}

/// The deadlines of a timer, one for each step, by adding up.
struct NaiveGrid {
    var origin: UInt64
    /// Zero for a single deadline.
    let period: UInt64
    let isAfterReturn: Bool

    init(origin: UInt64, period: UInt64, isAfterReturn: Bool) {
        self.origin = origin
        self.period = period
        self.isAfterReturn = isAfterReturn && period > 0
    }

    /// The same in the core's words.
    var grid: Grid {
        if period == 0 { return once(at: origin) }
        return isAfterReturn
            ? Grid(origin: instant(origin), repetition: .afterReturn(period)) : every(period, from: origin)
    }

    func deadline(_ step: UInt64) -> UInt64? {
        step == 0 ? origin : period == 0 || isAfterReturn ? nil : origin + step * period
    }

    /// How many deadlines have passed.
    func passed(at now: UInt64) -> UInt64 {
        var count: UInt64 = 0
        while let deadline = deadline(count), deadline <= now { count += 1 }
        return count
    }
}
