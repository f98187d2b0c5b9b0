@_spi(Engine) import TimerCore

/// The steps of the engine that need its lock, one method for each hold of the lock. All decisions are those of the
/// real scheduler.
///
/// This file is the search's only view of the engine. It mirrors `ServiceState`: the methods have the same names there
/// (in ServiceState.swift and ServiceState+Delivery.swift), and do the same in the same order. Left out are statistics,
/// the caretaker, and the memory of errors.
struct SmallEngine: ~Copyable {
    /// What comes next in a look, without the lock.
    enum Turn: Hashable {
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

    var scheduler = Scheduler()
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
    /// How many calls the scheduler has had, and these calls as one number: two schedulers with the same calls are equal.
    private(set) var history = (count: 0, calls: 0)
    /// The order that is still to be carried out, with the wrong variant that carries it out without the lock.
    var owed: Order?
    /// Whether a timer was added during the present look.
    private(set) var hasNews = false
    /// Whether the present look has just begun, and the calls until then.
    private(set) var isFirstTurn = false
    private(set) var callsAtLook = 0

    /// An order for an alarm.
    struct Order: Hashable {
        let order: Scheduler.AlarmOrder
        let period: UInt64?
        let run: Int
    }

    init(isShared: Bool, alarmRepeats: Bool, lead: UInt64, plant: Plant?) {
        (self.isShared, self.lead, self.plant) = (isShared, lead, plant)
        alarms[0].canRepeat = alarmRepeats
    }

    /// Notes a call of the scheduler. The thread is part of it, because the promises depend on the thread.
    private mutating func note(_ call: Int, _ timer: Int = 0, _ first: UInt64 = 0, _ second: UInt64 = 0, by thread: Int)
    {
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
        arm(scheduler.add(timer, on: grid))
        return true
    }

    /// Ends a timer. Returns nil if it had ended before; otherwise whether the caller must say the farewell.
    mutating func end(_ timer: SmallTimer, _ ending: TimerEntry.Ending, by thread: Int) -> Bool? {
        note(2, timer.number, by: thread)
        guard scheduler.end(timer, ending) else { return nil }
        timer.endedBy = thread
        return plant == .saysFarewellOfARunningTimer || timer.whereabouts != .runs
    }

    mutating func takeServiceIfIdle() { if scheduler.count == 0 { holdsService = false } }

    /// Begins the end of all timers. Returns the alarm, which the caller must stop.
    mutating func close(run: Int?, by thread: Int) -> Int? {
        guard run == nil || run == self.run, phase != .ended else { return nil }
        note(3, by: thread)
        let alarm = hasAlarm ? self.run : nil
        if phase == .starting { endOfStart = true }
        phase = isShared ? .idle : .ended
        self.run += 1
        alarms.append(SmallAlarm())
        hasAlarm = false
        scheduler.close()
        return alarm
    }

    /// Ends one of the timers that a close has left. A portion of the engine is larger; here, others come in between.
    mutating func endClosing(_ ending: TimerEntry.Ending, by thread: Int) -> (SmallTimer?, mustSayFarewell: Bool) {
        defer { takeServiceIfIdle() }
        guard let timer = scheduler.closing as? SmallTimer else { return (nil, false) }
        let mustSayFarewell = end(timer, ending, by: thread) == true
        return (timer, mustSayFarewell)
    }

    // MARK: Requests

    mutating func pause(_ timer: SmallTimer, by thread: Int) {
        note(4, timer.number, by: thread)
        if scheduler.pause(timer) { timer.pause() }
    }

    mutating func resume(_ timer: SmallTimer, by thread: Int) {
        note(5, timer.number, by: thread)
        let wasQueued = timer.isQueued
        guard let order = scheduler.resume(timer) else { return }
        timer.isHeld = false
        noteMove(timer, wasQueued)
        arm(order)
    }

    mutating func reschedule(_ timer: SmallTimer, after first: UInt64, by thread: Int) {
        note(6, timer.number, now + first, by: thread)
        let grid = timer.plan.grid(from: now, after: first)
        let wasQueued = timer.isQueued
        guard hasAlarm, let order = scheduler.reschedule(timer, on: grid) else { return }
        timer.schedule(at: grid.origin, order: history.count)
        noteMove(timer, wasQueued)
        arm(order)
    }

    mutating func fire(_ timer: SmallTimer, by thread: Int) {
        note(7, timer.number, now, by: thread)
        let wasQueued = timer.isQueued
        guard hasAlarm, let order = scheduler.fire(timer, at: now) else { return }
        timer.fire(at: now)
        noteMove(timer, wasQueued)
        arm(order)
    }

    // MARK: From deadline to tick

    /// Begins a look. Returns nil if an earlier run's alarm has fired.
    mutating func look(_ run: Int, by thread: Int) -> UInt64? {
        guard run == self.run, hasAlarm else { return nil }
        var woke = now
        if let next = scheduler.nextLook, next > woke, next - woke <= lead { woke = next }
        note(8, 0, woke, by: thread)
        scheduler.beginLook(at: woke)
        (hasNews, isFirstTurn, callsAtLook) = (false, true, history.calls)
        return woke
    }

    /// The next step of a look.
    mutating func nextTurn(_ run: Int, lookedAt woke: UInt64, by thread: Int, _ fault: inout String?) -> Turn {
        guard run == self.run else { return .done }
        note(9, by: thread)
        isFirstTurn = false
        guard case .of(let entry) = scheduler.next(), let timer = entry as? SmallTimer else {
            let order = scheduler.endLook()
            if plant != .forgetsTimersAddedDuringALook || !hasNews { arm(order) }
            return .done
        }
        if timer.plan.hops { return .send(timer.number) }
        note(10, timer.number, woke, by: thread)
        guard let due = scheduler.begin(timer, at: woke) else { return .send(timer.number) }
        fault = fault ?? timer.expect(due, lookedAt: woke)
        timer.runner = thread
        return .call(timer.number, due)
    }

    /// Decides the tick of a hop that has arrived; nil if the timer must not tick.
    mutating func begin(_ timer: SmallTimer, lookedAt look: UInt64, by thread: Int, _ fault: inout String?) -> Due? {
        note(10, timer.number, look, by: thread)
        if let due = scheduler.begin(timer, at: look) {
            fault = fault ?? timer.expect(due, lookedAt: look)
            timer.runner = thread
            return due
        }
        note(11, timer.number, look, look, by: thread)
        timer.finish(lookedAt: look, now: look)
        timer.moves = 0
        if case .waits(let order) = scheduler.finish(timer, lookedAt: look, now: look) { arm(order) }
        return nil
    }

    /// Ends a delivery. Nothing was served if the target was released.
    mutating func finish(
        _ timer: SmallTimer,
        lookedAt look: UInt64,
        wasServed: Bool,
        byHop: Bool,
        by thread: Int
    ) -> Outcome {
        timer.runner = nil
        if !wasServed { _ = end(timer, .targetReleased, by: thread) }
        let now = timer.awaitsReturn && hasAlarm ? now : look
        note(byHop ? 12 : 13, timer.number, look, now, by: thread)
        timer.finish(lookedAt: look, now: now)
        timer.moves = 0
        switch scheduler.finish(timer, lookedAt: look, byHop: byHop, now: now) {
        case .waits(let order):
            if plant != .forgetsTheOrderAfterAHop || !byHop { arm(order) }
            return .waits
        case .again: return .again
        case .completes, .hasEnded:
            takeServiceIfIdle()
            return .ended
        }
    }

    // MARK: The alarm

    private mutating func arm(_ order: Scheduler.AlarmOrder) {
        guard order != .leave, hasAlarm else { return }
        let order = Order(order: order, period: scheduler.periodFromNext, run: run)
        if plant == .setsTheAlarmWithoutTheLock { owed = order } else { carryOut(order) }
    }

    mutating func carryOut(_ order: Order) {
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

/// An alarm that does what its contract says.
struct SmallAlarm: Hashable {
    var deadline: UInt64?
    var period: UInt64?
    var canRepeat = false
    var isStopped = false

    mutating func set(_ deadline: UInt64?) { if !isStopped { (self.deadline, period) = (deadline, nil) } }

    /// A firing, which uses the deadline up, or moves it if the alarm repeats.
    mutating func fire(at now: UInt64) {
        guard let period, var next = deadline else {
            deadline = nil
            return
        }
        while next <= now { next += period }
        deadline = next
    }
}
