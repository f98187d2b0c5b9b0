import PreciseTimer
import TestSupport
import Testing

/// Compares the scheduler with a naive model, operation by operation.
struct SchedulerModelTests {
    private static let seeds = Effort.of(3, thorough: 80, inDebug: 16)
    /// For each seed. A debug build checks the scheduler's invariants after each of them.
    private static let operations = Effort.of(6_000, thorough: 10_000)

    @Test func randomOperationsOnManyTimersAgreeWithANaiveModel() {
        let seen = agree { _ in 40 }
        // The operations did interact in each of these ways.
        let branches: Set = [
            "again", "completes", "hasEnded", "waits", "void", "missed", "extra", "set", "repeat", "batch",
            "postponed", "held", "close", "repetition", "spent, completes", "spent, waits", "spent, waits on demand",
        ]
        #expect(branches.subtracting(seen) == [])
    }

    /// Among many timers there is nearly always a due one. Only a few timers meet early firings, and an alarm that
    /// repeats without a timer to fire for.
    @Test func randomOperationsOnAFewTimersAgreeWithANaiveModel() {
        let seen = agree { 1 + $0 % 4 }
        #expect(seen.isSuperset(of: ["repetition", "disarmed", "set"]))
    }

    /// Performs random operations for each seed, and returns the branches that they took.
    private func agree(capacity: (Int) -> Int) -> Set<String> {
        var seen: Set<String> = []
        for seed in 0..<Self.seeds {
            var run = ModelRun(seed: UInt64(seed), capacity: capacity(seed))
            for _ in 0..<Self.operations where run.difference == nil { run.operate() }
            run.settle()
            #expect(run.difference == nil, "seed \(seed)")
            #expect(run.unaccounted == 0, "seed \(seed)")
            seen.formUnion(run.seen)
        }
        return seen
    }
}

/// One timer by the letter of the contract: it counts its deadlines one by one. Slow, but short enough to be
/// obviously right.
struct NaiveTimer {
    let timer: TimerRecord
    /// The order among equal deadlines.
    var order: Int
    var grid: NaiveGrid
    let policy: LatePolicy
    let tolerance: UInt64
    var step: UInt64 = 0
    var index: UInt64 = 0
    var extra: UInt64?
    var isPaused = false
    /// Since when the time to the next deadline stands still.
    var heldSince: UInt64?
    var isInDelivery = false
    /// The number of the round that waits for its delivery; nil for a hop.
    var inline: Int?
    /// When its tick was decided on, and whether it has one.
    var began: UInt64?
    var hasTick = false
    var hasEnded = false
    /// Whether it was there when all timers were closed.
    var isClosing = false
    /// Whether it gets its turn in the present round.
    var isOfThisRound = false
    var awaitsReturn = false
    /// Whether it is idle after its last deadline.
    var isOnDemand = false
    var burst = 0
    /// The ticks of the present schedule, without extra ones.
    var ticks: UInt64 = 0
    /// For the present schedule: the sum of 1 + missed over its ticks, and the number of deadlines of earlier grids
    /// that passed before the present grid began.
    var accounted: UInt64 = 0
    var passedBefore: UInt64 = 0

    var mayTick: Bool { !hasEnded && !isPaused && !isClosing }
    var isWaiting: Bool { mayTick && !isInDelivery }
    /// Whether its schedule has had its last tick.
    var isSpent: Bool { ticks == grid.count }
    /// The oldest deadline of the grid that has had no tick.
    var onGrid: UInt64? { awaitsReturn || isSpent ? nil : grid.deadline(step) }
    var next: UInt64? { [onGrid, extra].compactMap { $0 }.min() }

    /// When it must be woken for its next tick.
    var wakeTime: UInt64? {
        guard var wakeTime = onGrid else { return extra }
        var unit: UInt64 = 1
        while unit * 2 <= tolerance { unit *= 2 }
        while wakeTime % unit != 0 { wakeTime += 1 }
        return min(wakeTime, extra ?? wakeTime)
    }

    /// Whether it waits for a wake time at or before this instant.
    func isDue(at instant: UInt64) -> Bool { isWaiting && wakeTime.map { $0 <= instant } ?? false }

    mutating func isTaken(inline: Int?) {
        (isOfThisRound, isInDelivery, self.inline, began) = (false, true, inline, nil)
    }

    /// Asks for an extra tick; a timer that is already due keeps its turn.
    mutating func fire(at now: UInt64) { extra = extra ?? now }

    mutating func tick(at now: UInt64) -> Expiration? {
        guard let deadline = next, deadline <= now else { return nil }
        if deadline != onGrid {
            extra = nil
            return Expiration(index: index, deadline: deadline, missed: 0, isExtra: true)
        }
        burst += 1
        ticks += 1
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
            awaitsReturn = grid.repetition == .fixedDelay(grid.period) && !isSpent
        }
        return Expiration(index: index, deadline: deadline, missed: missed)
    }

    /// Goes on after a pause. If the time stood still, all deadlines are later by that time.
    mutating func resume(at now: UInt64) {
        grid.origin += heldSince.map { now - $0 } ?? 0
        (isPaused, heldSince) = (false, nil)
    }

    mutating func handlerReturned(at now: UInt64) {
        guard awaitsReturn else { return }
        heldSince = heldSince.map { _ in now }
        awaitsReturn = false
        passedBefore += 1
        grid.origin = now + grid.period
        step = 0
    }

    /// Whether another deadline that had passed at an instant gets its own tick.
    mutating func catchesUp(at instant: UInt64) -> Bool {
        if burst > 0, burst < policy.limit, !hasEnded, !isPaused, let next, next <= instant { return true }
        burst = 0
        return false
    }

    mutating func reschedule(on grid: NaiveGrid, order: Int) {
        (self.grid, self.order) = (grid, order)
        (step, index, accounted, passedBefore, awaitsReturn, burst, ticks) = (0, 0, 0, 0, false, 0, 0)
        isOnDemand = isOnDemand || grid.repetition == .onDemand
        isOfThisRound = false
        extra = nil
    }
}

/// The deadlines of a timer, one for each step, by addition.
struct NaiveGrid {
    let repetition: Repetition<UInt64>
    var origin: UInt64
    let period: UInt64
    /// The number of ticks after which there is no deadline any more; nil for no limit.
    let count: UInt64?

    /// The same deadlines as the core gets them.
    var schedule: ResolvedSchedule {
        let modifiers = count.map { ResolvedSchedule.Modifiers(count: $0) }
        return ResolvedSchedule(repetition == .onDemand ? .never : .at(origin), repetition, modifiers)
    }

    func deadline(_ step: UInt64) -> UInt64? {
        switch repetition {
        case .onDemand: nil
        case .every: origin + step * period
        case .once, .rate, .fixedDelay, .computed: step == 0 ? origin : nil
        }
    }

    /// The number of deadlines that have passed.
    func passed(at now: UInt64) -> UInt64 {
        UInt64((0...).prefix { deadline($0).map { $0 <= now } ?? false }.count)
    }
}
