import PreciseTimer
import TimerKernel

/// The steps of the engine that need its lock, one method for each hold of the lock. All decisions are those of the
/// real scheduler.
///
/// This type is the search's only view of the engine. It mirrors `ServiceState`: the methods have the same names there,
/// in ServiceState.swift and Delivery.swift, and do the same in the same order. Requests are mirrored from
/// ServiceCore.swift. Left out are statistics and the supervisor.
struct SmallEngine: ~Copyable {
    /// What comes next in a look, without the lock.
    enum Step: Hashable {
        case call(Int, Due)
        case send(Int)
        case done
    }

    /// The state of a timer after a delivery.
    enum Outcome: Hashable {
        case waits, again, ended
    }

    enum Phase: Hashable {
        case idle, starting, running, ended
    }

    var scheduler = Scheduler<Backlink>()
    private(set) var phase = Phase.idle
    /// The number of the current run, and of its alarm.
    private(set) var run = 0
    private(set) var hasAlarm = false
    /// Whether the service is held by its timers.
    private(set) var holdsService = false
    private(set) var endOfStart = false
    /// All alarms so far, by the number of their run. An alarm is set and fires as its contract says.
    var alarms = [SmallAlarm()]
    /// The time on the clock.
    var now: UInt64 = 0
    /// Whether the service can start again.
    let isShared: Bool
    let lead: UInt64
    let plant: Plant?
    /// How many calls the scheduler has had, and these calls as one number: schedulers with the same calls are equal.
    private(set) var history = (count: 0, calls: 0)
    /// The run whose alarm has just refused.
    var failure: Int?
    /// The order that is still to be carried out, with the wrong variant that carries it out without the lock.
    var owed: Order?
    /// Whether a timer was added during the present look.
    var hasNews = false
    /// Whether the present look has just begun, and the calls until then.
    var isFirstTurn = false
    var callsAtLook = 0

    /// An order for an alarm.
    struct Order: Hashable {
        let order: AlarmOrder
        let period: UInt64?
        let run: Int
    }

    init(isShared: Bool, alarmRepeats: Bool, lead: UInt64, plant: Plant?) {
        (self.isShared, self.lead, self.plant) = (isShared, lead, plant)
        alarms[0].canRepeat = alarmRepeats
    }

    /// Notes a call of the scheduler. The thread is part of it, because the promises depend on the thread.
    mutating func note(_ call: Int, _ timer: Int = 0, _ first: UInt64 = 0, _ second: UInt64 = 0, by thread: Int) {
        var hasher = Hasher()
        hasher.combine(history.calls)
        hasher.combine(call << 8 | timer << 4 | thread)
        hasher.combine(first)
        hasher.combine(second)
        history = (history.count + 1, hasher.finalize())
    }

    /// Notes that a timer was given another deadline, perhaps in its queue.
    private func noteMove(_ timer: SmallTimer, _ wasQueued: Bool) {
        var hasher = Hasher()
        hasher.combine(timer.moves)
        hasher.combine(history.calls)
        timer.moves = wasQueued ? hasher.finalize() : 0
    }

    // MARK: Beginning and ending

    mutating func beginStart() -> Bool {
        guard phase == .idle else { return false }
        run += 1
        phase = .starting
        endOfStart = false
        var alarm = SmallAlarm()
        alarm.canRepeat = alarms[0].canRepeat
        alarms.append(alarm)
        return true
    }

    mutating func finishStart() -> Bool {
        if endOfStart { return false }
        (phase, hasAlarm) = (.running, true)
        return true
    }

    /// Returns false if the service is not running.
    mutating func admit(_ timer: SmallTimer, by thread: Int) -> Bool {
        guard phase == .running else { return false }
        note(1, timer.number, now, by: thread)
        holdsService = true
        let grid = timer.plan.grid(from: now, after: timer.plan.first)
        timer.schedule(at: grid.origin, order: history.count)
        if scheduler.look != nil { hasNews = true }
        arm(scheduler.add(timer.record, on: grid))
        return true
    }

    /// Ends a timer. Returns nil if it had ended before; otherwise whether the caller must say the farewell.
    mutating func end(_ timer: SmallTimer, _ ending: TimerEnding, by thread: Int) -> Bool? {
        note(2, timer.number, by: thread)
        guard scheduler.end(timer.record, ending) else { return nil }
        timer.endedBy = thread
        return plant == .saysFarewellOfARunningTimer || !timer.record.isInHandler
    }

    mutating func takeServiceIfIdle() { if scheduler.count == 0 { holdsService = false } }

    /// Begins the end of all timers. Returns whether it did, and the alarm, which the caller must stop.
    mutating func close(run: Int?, by thread: Int) -> (Bool, alarm: Int?) {
        guard run == nil || run == self.run, phase != .ended else { return (false, nil) }
        note(3, by: thread)
        let alarm = hasAlarm ? self.run : nil
        if phase == .starting { endOfStart = true }
        phase = isShared ? .idle : .ended
        self.run += 1
        alarms.append(SmallAlarm())
        hasAlarm = false
        scheduler.close()
        return (true, alarm)
    }

    /// Ends one of the timers that a close has left. A portion of the engine is larger; here, others come in between.
    mutating func endClosing(_ ending: TimerEnding, by thread: Int) -> (SmallTimer?, mustSayFarewell: Bool) {
        defer { takeServiceIfIdle() }
        guard let timer = scheduler.closing?.user.timer else { return (nil, false) }
        let mustSayFarewell = end(timer, ending, by: thread) == true
        return (timer, mustSayFarewell)
    }

    // MARK: Requests

    mutating func pause(_ timer: SmallTimer, by thread: Int) {
        note(4, timer.number, by: thread)
        if scheduler.pause(timer.record) { timer.pause() }
    }

    mutating func resume(_ timer: SmallTimer, by thread: Int) {
        note(5, timer.number, by: thread)
        let wasQueued = timer.isQueued
        guard let order = scheduler.resume(timer.record) else { return }
        timer.isHeld = false
        noteMove(timer, wasQueued)
        arm(order)
    }

    mutating func reschedule(_ timer: SmallTimer, after first: UInt64, by thread: Int) {
        note(6, timer.number, now + first, by: thread)
        let grid = timer.plan.grid(from: now, after: first)
        let wasQueued = timer.isQueued
        guard hasAlarm, let order = scheduler.reschedule(timer.record, on: grid) else { return }
        timer.schedule(at: grid.origin, order: history.count)
        noteMove(timer, wasQueued)
        arm(order)
    }

    mutating func fire(_ timer: SmallTimer, by thread: Int) {
        note(7, timer.number, now, by: thread)
        let wasQueued = timer.isQueued
        guard hasAlarm, let order = scheduler.fire(timer.record, at: now) else { return }
        timer.fire(at: now)
        noteMove(timer, wasQueued)
        arm(order)
    }

    // MARK: The alarm

    mutating func arm(_ order: AlarmOrder) {
        guard order != .leave, hasAlarm else { return }
        let order = Order(order: order, period: scheduler.periodFromNext, run: run)
        if plant == .setsTheAlarmWithoutTheLock { owed = order } else { carryOut(order) }
    }

    mutating func carryOut(_ order: Order) {
        if alarms[order.run].isBroken {
            failure = order.run
            return
        }
        switch order.order {
        case .leave: break
        case .disarm: alarms[order.run].set(nil)
        case .set(let deadline):
            alarms[order.run].set(deadline)
            guard let period = order.period, alarms[order.run].canRepeat else { return }
            alarms[order.run].period = period
            scheduler.alarmGoesOn(every: period)
        }
    }
}
