import PreciseTimer

/// How a timer of a small world is scheduled.
struct TimerPlan: Hashable, Sendable {
    /// From the schedule to the first deadline.
    var first: UInt64
    /// From each deadline to the next, or from the handler's return; 0 for a single deadline.
    var period: UInt64 = 0
    /// Whether each deadline is counted from the handler's return.
    var isFixedDelay = false
    var count: UInt64 = .max
    var policy = LatePolicy.skip
    var tolerance: UInt64 = 0
    /// Whether its ticks travel to a queue.
    var hops = false
    /// Whether its ticks wait in a mailbox for a task.
    var isConsumed = false
    /// Whether the world begins with this timer; otherwise a caller schedules it.
    var isThere = true

    /// Whether the alarm's thread calls its handler.
    var isInline: Bool { !hops && !isConsumed }

    /// The schedule with another time to the first deadline.
    func schedule(after first: UInt64) -> ResolvedSchedule {
        let repetition: Repetition<UInt64> =
            if period == 0 { .once } else if isFixedDelay { .fixedDelay(period) } else { .every(period) }
        return ResolvedSchedule(.after(first), repetition, count == .max ? nil : .init(count: count))
    }
}

/// A timer of a small world. Besides the scheduler's numbers it has the numbers of a naive reader of the promises, who
/// counts its deadlines one at a time and remembers who called and ended it.
final class SmallTimer {
    let plan: TimerPlan
    let number: Int
    let record: TimerRecord

    // What the engine knows of it, as in `UserSide`.
    /// The thread that runs the handler.
    var runner: Int?
    /// The threads that wait for the handler's return.
    var waiting: [Int] = []

    // What the naive reader knows of it.
    var isAdded = false
    /// Whether its ticks are held back.
    var isHeld = false
    var isClosed = false
    var targetIsGone = false
    /// The instant of an extra tick that was asked for.
    var extra: UInt64?
    /// The order among equal deadlines.
    private(set) var order = 0
    /// How many late deadlines have had ticks one after the other.
    private(set) var burst = 0
    /// The calls that have moved the timer while it was in a queue, as one number: its position there depends on them.
    var moves = 0
    /// The next deadline of the grid; nil if no deadline comes, or not yet.
    private(set) var next: UInt64?
    /// The number of that deadline.
    private(set) var index: UInt64 = 0
    private var ticksLeft: UInt64 = .max
    private(set) var isInHandler = false
    /// How many times it was finalized.
    private(set) var finals = 0
    /// The thread whose call has ended it.
    var endedBy: Int?
    /// Whether a call that waits for handlers has returned.
    var isOver = false

    init(_ plan: TimerPlan, _ number: Int) {
        self.plan = plan
        self.number = number
        record = TimerRecord(policy: plan.policy, tolerance: plan.tolerance)
    }

    var name: String { number == 0 ? "A" : "B" }

    func schedule(at first: UInt64, order: Int) {
        (isAdded, next, extra, index, ticksLeft, burst) = (true, first, nil, 0, plan.count, 0)
        self.order = order
    }

    func fire(at now: UInt64) { extra = min(extra ?? now, now) }

    func pause() {
        isHeld = true
        if !record.isInDelivery { burst = 0 }
    }

    /// When the next tick is due; nil if no tick is.
    var due: UInt64? { [next, extra].compactMap(\.self).min() }

    // MARK: Promises

    /// Expects a tick that was decided on as of an instant. Returns the broken promise.
    func expect(_ tick: Expiration, decidedAt instant: UInt64) -> String? {
        if hasEnded || isClosed { return "timer \(name) ticks after its end" }
        if isHeld { return "timer \(name) ticks while it is paused" }
        if tick.deadline > instant { return "timer \(name) ticks early" }
        if tick.index != index { return "timer \(name) has tick \(tick.index) instead of \(index)" }
        if tick.deadline != due { return "timer \(name) has a tick for \(tick.deadline), which is not its deadline" }
        guard let deadline = next, tick.deadline == deadline else {
            extra = nil
            return tick.missed == 0 ? nil : "an extra tick of timer \(name) has missed deadlines"
        }
        burst += 1
        let missed = missedDeadlines(after: deadline, at: instant)
        index += 1 + missed
        if ticksLeft != .max { ticksLeft -= 1 }
        let isLast = plan.period == 0 || plan.isFixedDelay || ticksLeft == 0
        let isAnew = missed > 0 && plan.policy == .delay
        next = isLast ? nil : isAnew ? instant + plan.period : deadline + (1 + missed) * plan.period
        return tick.missed == missed ? nil : "timer \(name) has missed \(tick.missed) deadlines instead of \(missed)"
    }

    private func missedDeadlines(after deadline: UInt64, at instant: UInt64) -> UInt64 {
        if plan.period == 0 || plan.isFixedDelay || burst < plan.policy.limit { return 0 }
        var missed: UInt64 = 0
        while deadline + (missed + 1) * plan.period <= instant { missed += 1 }
        return missed
    }

    /// Begins a call on a thread. Returns the broken promise.
    func enterHandler(on thread: Int) -> String? {
        defer { isInHandler = true }
        if isInHandler { return "two handlers of timer \(name) run at once" }
        if endedBy == thread { return "timer \(name) is called after this thread has ended it" }
        if isOver { return "timer \(name) is called after a call that waited for its handlers" }
        return finals > 0 ? "timer \(name) is called after it was finalized" : nil
    }

    func leaveHandler() { isInHandler = false }

    /// A delivery has ended whose tick was decided on as of an instant.
    func finish(decidedAt instant: UInt64, now: UInt64) {
        if plan.isFixedDelay, next == nil, ticksLeft > 0, index > 0 { next = now + plan.period }
        let catchesUp = burst < plan.policy.limit && !isHeld && !hasEnded && due.map { $0 <= instant } ?? false
        if !catchesUp { burst = 0 }
    }

    /// It is finalized. Returns the broken promise.
    func finalize() -> String? {
        finals += 1
        if finals > 1 { return "timer \(name) is finalized twice" }
        if !record.hasEnded { return "timer \(name) is finalized before its end" }
        return isInHandler || runner != nil ? "timer \(name) is finalized while its handler runs" : nil
    }

    /// Whether a tick is missing, if nothing is on its way any more.
    func lacksTick(at now: UInt64) -> Bool {
        if !isAdded || record.hasEnded || isHeld { return false }
        return extra != nil || next.map { $0 + plan.tolerance <= now } ?? false
    }

    /// Everything that its next steps depend on, and the promises about them.
    func combine(into hasher: inout Hasher) {
        for number in [next, extra, index, ticksLeft] { hasher.combine(number) }
        for number in [runner, endedBy, burst, finals, isQueued ? moves : 0] { hasher.combine(number) }
        for fact in [isAdded, isHeld, isClosed, targetIsGone, isInHandler, isOver] { hasher.combine(fact) }
        hasher.combine(record.stage)
        hasher.combine(isQueued ? record.queue : 0)
        hasher.combine(record.ending)
        hasher.combine(waiting)
    }

    var hasEnded: Bool { record.hasEnded }
    var isPaused: Bool { record.timing.isPaused }
    var isInDelivery: Bool { record.isInDelivery }
    var nextDeadline: UInt64 { record.timing.nextDeadline }
    var wakeTime: UInt64 { record.timing.wakeTime }

    /// Whether it is in a queue.
    var isQueued: Bool { [.queued, .firing].contains(record.stage) }
}
