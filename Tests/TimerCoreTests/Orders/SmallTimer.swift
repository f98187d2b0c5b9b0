// The timers of a small world, and its alarms: plain types, beside the engine's own.
import Dispatch
import TimerAlarms
import TimerKernel

@testable import PreciseTimer

/// How a timer of a small world is scheduled.
struct TimerPlan: Hashable, Sendable {
    /// Who gets the ticks: the alarm's thread, a queue, or a task at a mailbox.
    enum Way { case inline, queue, task }

    /// From the schedule to the first deadline.
    var first: UInt64
    /// From each deadline to the next, or from the handler's return; 0 for a single deadline.
    var period: UInt64 = 0
    var isFixedDelay = false
    var count: UInt64 = .max
    var burstLimit = 1
    var restartsLate = false
    var tolerance: UInt64 = 0
    var way = Way.inline
    /// Whether the world begins with this timer; otherwise a caller schedules it.
    var isThere = true

    /// The schedule with another time to the first deadline.
    func schedule(after first: UInt64) -> ResolvedSchedule {
        let repetition: Repetition<UInt64> =
            if period == 0 { .once } else if isFixedDelay { .fixedDelay(period) } else { .every(period) }
        return ResolvedSchedule(.after(first), repetition, count == .max ? nil : .init(count: count))
    }
}

/// A timer of a small world: the engine's record, and the numbers of a naive reader of the promises, who counts its
/// deadlines one at a time and remembers who called and ended it.
final class SmallTimer {
    private final class Target {}

    let plan: TimerPlan
    let number: Int
    let record: Record
    private var target: Target?

    var isAdded = false
    /// Whether its ticks are held back.
    private var isFrozen = false
    var isClosed = false
    /// The instant of an extra tick that was asked for.
    private var extra: UInt64?
    /// When it was finished: one more tick stands for the deadlines by then, or is an extra one.
    private var finishedAt: UInt64?
    /// How many late deadlines have had ticks one after the other.
    private var burst = 0
    /// The next deadline of the grid, and its number; nil if no deadline comes, or not yet.
    private var next: UInt64?
    private var index: UInt64 = 0
    private var ticksLeft: UInt64 = .max
    private(set) var isInHandler = false
    /// How many times it was finalized.
    private(set) var finals = 0
    /// The thread whose call has ended it.
    var endedBy: Int?
    /// Whether a call that waits for handlers has returned.
    var isOver = false

    init(_ plan: TimerPlan, _ number: Int) {
        let target = Target()
        (self.plan, self.number, self.target) = (plan, number, target)
        record = Record(
            Timing(burstLimit: plan.burstLimit, restartsLate: plan.restartsLate, tolerance: plan.tolerance),
            plan.way == .inline ? .inline : .queue(.main),
            CallSite(#file, #line),
            target: target,
            nil,
            label: nil,
            onEnd: nil
        )
    }

    var name: String { number == 0 ? "A" : "B" }
    var goesOn: Bool { isAdded && !record.hasEnded }

    // MARK: What is asked of it

    func schedule(at first: UInt64) {
        (isAdded, next, extra, index, ticksLeft, burst) = (true, first, nil, 0, plan.count, 0)
    }

    func fire(at now: UInt64) { extra = min(extra ?? now, now) }

    func finish(at now: UInt64) {
        fire(at: now)
        finishedAt = now
        if next.map({ $0 > now }) ?? true { (next, ticksLeft) = (nil, 0) }
    }

    func pause() {
        isFrozen = true
        if !record.isInDelivery { burst = 0 }
    }

    func resume() { isFrozen = false }
    func releaseTarget() { target = nil }

    // MARK: Promises, each nil or the broken one

    /// When the next tick is due; nil if no tick is.
    var due: UInt64? { [next, extra].compactMap(\.self).min() }

    /// Expects a tick that was decided on as of an instant.
    func expect(_ tick: Expiration, decidedAt instant: UInt64) -> String? {
        if record.hasEnded || isClosed { return "timer \(name) ticks after its end" }
        if isFrozen { return "timer \(name) ticks while it is paused" }
        if tick.deadline > max(instant, finishedAt ?? 0) { return "timer \(name) ticks early" }
        if tick.index != index { return "timer \(name) has tick \(tick.index) instead of \(index)" }
        if tick.deadline != (finishedAt == nil ? due : next ?? due) {
            return "timer \(name) has a tick for \(tick.deadline), which is not its deadline"
        }
        guard let deadline = next, tick.deadline == deadline else {
            extra = nil
            return tick.missed == 0 ? nil : "an extra tick of timer \(name) has missed deadlines"
        }
        burst += 1
        let missed = missedDeadlines(after: deadline, at: finishedAt ?? instant)
        index += 1 + missed
        if ticksLeft != .max { ticksLeft -= 1 }
        if finishedAt != nil { (extra, ticksLeft) = (nil, 0) }
        let isLast = plan.period == 0 || plan.isFixedDelay || ticksLeft == 0
        let isAnew = missed > 0 && plan.restartsLate
        next = isLast ? nil : isAnew ? instant + plan.period : deadline + (1 + missed) * plan.period
        return tick.missed == missed ? nil : "timer \(name) has missed \(tick.missed) deadlines instead of \(missed)"
    }

    private func missedDeadlines(after deadline: UInt64, at instant: UInt64) -> UInt64 {
        if plan.period == 0 || plan.isFixedDelay || burst < plan.burstLimit && finishedAt == nil { return 0 }
        var missed: UInt64 = 0
        while deadline + (missed + 1) * plan.period <= instant { missed += 1 }
        return missed
    }

    /// Begins a call on a thread.
    func enterHandler(on thread: Int) -> String? {
        defer { isInHandler = true }
        if isInHandler { return "two handlers of timer \(name) run at once" }
        if endedBy == thread { return "timer \(name) is called after this thread has ended it" }
        if isOver { return "timer \(name) is called after a call that waited for its handlers" }
        return finals > 0 ? "timer \(name) is called after it was finalized" : nil
    }

    func leaveHandler() { isInHandler = false }

    /// A delivery ends whose tick was decided on as of an instant.
    func finish(decidedAt instant: UInt64, now: UInt64) {
        if plan.isFixedDelay, next == nil, ticksLeft > 0, index > 0 { next = now + plan.period }
        let catchesUp =
            burst < plan.burstLimit && finishedAt == nil && !isFrozen && !record.hasEnded
            && next.map { $0 <= instant } ?? false
        if !catchesUp { burst = 0 }
    }

    func finalize() -> String? {
        finals += 1
        record.finalize()
        if finals > 1 { return "timer \(name) is finalized twice" }
        if !record.hasEnded { return "timer \(name) is finalized before its end" }
        if record.ending == .completed, next != nil { return "timer \(name) completes before its last deadline" }
        return isInHandler || record.user.runner != .nobody ? "timer \(name) is finalized while its handler runs" : nil
    }

    /// A thread that wanted to wait for its handler goes on.
    func waited(on thread: Int) -> String? {
        isOver = true
        if isInHandler { return "a wait for the handler of \(name) ends while it runs" }
        let isEarly = endedBy == thread && finals == 0
        return isEarly ? "a wait for timer \(name), which it has ended, returns before it is finalized" : nil
    }

    /// Whether a tick is missing, if nothing is on its way any more.
    func lacksTick(at now: UInt64) -> Bool {
        goesOn && !isFrozen && (extra != nil || next.map { $0 + plan.tolerance <= now } ?? false)
    }

    /// Everything that its next steps depend on, and the promises about them.
    func combine(into hasher: inout Hasher) {
        for number in [next, extra, index, ticksLeft, finishedAt] { hasher.combine(number) }
        for number in [endedBy, burst, finals] { hasher.combine(number) }
        for fact in [isAdded, isFrozen, isClosed, target == nil, isInHandler, isOver] { hasher.combine(fact) }
        hasher.combine(record.user.runner)
        hasher.combine(record.stage)
        hasher.combine(record.ending)
    }
}

/// An alarm that does what its contract says.
final class SmallAlarm: TimerAlarm, @unchecked Sendable {
    struct State: Hashable {
        var deadline: UInt64?
        var period: UInt64?
        var isStopped = false
        /// Whether it refuses to be set.
        var isBroken = false
    }

    private unowned let world: SmallWorld
    let epoch: Int
    var state = State()

    init(_ world: SmallWorld, _ epoch: Int) { (self.world, self.epoch) = (world, epoch) }

    var now: TimerInstant { TimerInstant(nanoseconds: world.now) }
    var lead: UInt64 { world.plan.lead }
    func start(onFire: @escaping @Sendable () -> Void, onFailure: @escaping @Sendable (TimerError) -> Void) {}
    func stop() { state.isStopped = true }
    func set(_ deadline: TimerInstant?) throws(TimerError) { try set(deadline?.nanoseconds, nil) }

    func set(_ first: TimerInstant, every period: UInt64) throws(TimerError) -> Bool {
        let repeats = world.plan.alarmRepeats
        try set(first.nanoseconds, repeats ? period : nil)
        return repeats
    }

    private func set(_ deadline: UInt64?, _ period: UInt64?) throws(TimerError) {
        if state.isBroken { throw TimerError(.backendFailed, "setting a small alarm") }
        if !state.isStopped { (state.deadline, state.period) = (deadline, period) }
    }

    /// A firing, which uses the deadline up, or moves it if the alarm repeats.
    func fire(at now: UInt64) {
        guard let period = state.period else {
            state.deadline = nil
            return
        }
        while let next = state.deadline, next <= now { state.deadline = next + period }
    }
}
