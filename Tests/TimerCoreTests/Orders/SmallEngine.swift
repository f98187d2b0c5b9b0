import PreciseTimer

/// The steps of the engine that need its lock, one method for each hold of the lock. All decisions are those of the
/// real scheduler.
///
/// This type is the search's only view of the engine. It mirrors `ServiceState`: the methods have the same names there,
/// in ServiceState.swift and Round.swift, and do the same in the same order. Requests are mirrored from
/// ServiceCore.swift. Left out are statistics, computed deadlines and the supervisor.
struct SmallEngine: ~Copyable {
    /// What comes next in a round, without the lock.
    enum Step: Hashable {
        case call(Int, Expiration)
        case send(Int)
        case again
        case sleep
    }

    enum Phase: Hashable {
        case idle, starting, running, ended
    }

    /// What a decision leaves to be done without the lock. It mirrors `Teardown`.
    struct Teardown: Hashable {
        /// The epoch whose alarm must be stopped.
        var alarm: Int?
        /// The timers that must be finalized.
        var timers: [Int] = []
        /// The epoch whose alarm has just refused.
        var failure: Int?

        var isEmpty: Bool { self == Teardown() }

        mutating func take() -> Teardown {
            defer { self = Teardown() }
            return self
        }
    }

    var scheduler = Scheduler()
    /// The timers, by their number. The engine has the way back from a record to its timer in the record.
    var timers: [SmallTimer]
    var teardown = Teardown()
    private(set) var phase = Phase.idle
    /// The number of the current epoch, and of its alarm.
    private(set) var epoch = 0
    private(set) var hasAlarm = false
    /// Whether the service is held by its timers.
    private(set) var holdsService = false
    private(set) var endOfStart = false
    /// All alarms so far, by the number of their epoch. An alarm is set and fires as its contract says.
    var alarms = [SmallAlarm()]
    /// The time on the clock.
    var now: UInt64 = 0
    /// Whether the service can start again.
    let isShared: Bool
    let lead: UInt64
    let plant: Plant?
    /// How many calls the scheduler has had, and these calls as one number: schedulers with the same calls are equal.
    private(set) var history = (count: 0, calls: 0)
    /// The order that is still to be carried out, with the wrong variant that carries it out without the lock.
    var owed: Order?
    /// Whether a timer was added during the present round.
    var hasNews = false
    /// Whether the present round has just begun, and the calls until then.
    var isFirstStep = false
    var callsAtRound = 0

    /// An order for an alarm.
    struct Order: Hashable {
        let order: AlarmOrder
        let period: UInt64?
        let epoch: Int
    }

    init(_ timers: [SmallTimer], isShared: Bool, alarmRepeats: Bool, lead: UInt64, plant: Plant?) {
        self.timers = timers
        (self.isShared, self.lead, self.plant) = (isShared, lead, plant)
        alarms[0].canRepeat = alarmRepeats
    }

    /// The timer of a record.
    func timer(of record: TimerRecord) -> SmallTimer? { timers.first { $0.record === record } }

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

    /// Returns false if there is nothing to start.
    mutating func beginStart() -> Bool {
        guard phase == .idle else { return false }
        epoch += 1
        phase = .starting
        endOfStart = false
        var alarm = SmallAlarm()
        alarm.canRepeat = alarms[0].canRepeat
        alarms.append(alarm)
        return true
    }

    /// Returns false if the epoch ended in the meantime.
    mutating func finishStart() -> Bool {
        if endOfStart { return false }
        (phase, hasAlarm) = (.running, true)
        return true
    }

    /// Returns false if the service is not running.
    mutating func register(_ timer: SmallTimer, by thread: Int) -> Bool {
        guard phase == .running else { return false }
        note(1, timer.number, now, by: thread)
        holdsService = true
        timer.schedule(at: now + timer.plan.first, order: history.count)
        if scheduler.round != nil { hasNews = true }
        arm(scheduler.add(timer.record, timer.plan.schedule(after: timer.plan.first), at: now))
        return true
    }

    /// Ends a timer. Returns false if it had ended before.
    mutating func end(_ timer: SmallTimer, _ ending: TimerEnding, by thread: Int) -> Bool {
        note(2, timer.number, by: thread)
        guard scheduler.end(timer.record, ending) != nil else { return false }
        timer.endedBy = thread
        if plant == .finalizesARunningTimer || !timer.record.isInHandler { teardown.timers.append(timer.number) }
        releaseServiceIfIdle()
        return true
    }

    mutating func releaseServiceIfIdle() { if scheduler.count == 0 { holdsService = false } }

    /// Begins the end of all timers. Returns false if there is nothing to end.
    mutating func close(epoch: Int?, by thread: Int) -> Bool {
        guard epoch == nil || epoch == self.epoch, phase != .ended else { return false }
        note(3, by: thread)
        teardown.alarm = hasAlarm ? self.epoch : nil
        if phase == .starting { endOfStart = true }
        phase = isShared ? .idle : .ended
        self.epoch += 1
        alarms.append(SmallAlarm())
        hasAlarm = false
        scheduler.close()
        return true
    }

    /// Ends one of the timers that a close has left. A batch of the engine is larger; here, others come in between.
    /// Returns false if there is none.
    mutating func endBatch(_ ending: TimerEnding, by thread: Int) -> Bool {
        guard let record = scheduler.closing, let timer = timer(of: record) else { return false }
        _ = end(timer, ending, by: thread)
        return true
    }

    // MARK: Requests

    mutating func pause(_ timer: SmallTimer, by thread: Int) {
        note(4, timer.number, by: thread)
        if scheduler.pause(timer.record) { timer.pause() }
    }

    mutating func resume(_ timer: SmallTimer, by thread: Int) {
        note(5, timer.number, by: thread)
        let wasQueued = timer.isQueued
        guard let order = scheduler.resume(timer.record, at: now) else { return }
        timer.isHeld = false
        noteMove(timer, wasQueued)
        arm(order)
    }

    mutating func reschedule(_ timer: SmallTimer, after first: UInt64, by thread: Int) {
        note(6, timer.number, now + first, by: thread)
        let wasQueued = timer.isQueued
        let schedule = timer.plan.schedule(after: first)
        guard hasAlarm, let order = scheduler.reschedule(timer.record, schedule, at: now) else { return }
        timer.schedule(at: now + first, order: history.count)
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
        let order = Order(order: order, period: scheduler.periodFromNext, epoch: epoch)
        if plant == .setsTheAlarmWithoutTheLock { owed = order } else { carryOut(order) }
    }

    mutating func carryOut(_ order: Order) {
        if alarms[order.epoch].isBroken {
            teardown.failure = order.epoch
            return
        }
        switch order.order {
        case .leave: break
        case .disarm: alarms[order.epoch].set(nil)
        case .set(let deadline):
            alarms[order.epoch].set(deadline)
            guard let period = order.period, alarms[order.epoch].canRepeat else { return }
            alarms[order.epoch].period = period
            scheduler.alarmGoesOn(every: period)
        }
    }
}
