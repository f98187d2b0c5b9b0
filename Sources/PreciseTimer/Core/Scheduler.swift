/// Decides which timers are due, which deadline comes next, and what the alarm must be set to. A pure state machine
/// over numbers.
///
/// A round begins with the clock's reading (``beginRound(at:)``). Then, step by step, ``firstDue()`` finds the first
/// timer that is due by then. The caller either calls its handler at once, or sends the tick to where the handler
/// runs. ``begin(_:at:)`` decides on the tick just before the handler is called, and
/// ``putBack(_:decidedAt:byHop:now:)`` queues the timer again after the handler has returned. Deadlines that passed in
/// between are counted then. This is why a paused timer, a slow handler, a busy queue and a slow consumer all get one
/// late tick with the right count.
///
/// The caller reads the clock and sets the alarm. Each method that can make the earliest deadline earlier returns an
/// ``AlarmOrder``, which the caller must carry out before it calls the scheduler again. There are no orders between
/// ``beginRound(at:)`` and ``endRound()``: an alarm does not fire again before the caller has handled its last firing.
/// No method does more than a ``batch`` of steps of O(log n).
///
/// A timer waits in the queue of its tolerance (``DeadlineQueues``). One that comes due during a round is deferred to
/// the next: a timer that a handler makes due again and again would have the earliest deadline of all each time, and
/// would keep the others from their turn. `OneQueueTests` show what a single queue would break.
@safe package struct Scheduler: ~Copyable {
    package typealias Timer = TimerRecord

    /// The maximum number of steps that one call performs.
    package static var batch: Int { 64 }

    var timers = TimerList()
    var waiting = DeadlineQueues()
    /// The timers that run and are in no queue, and the one whose handler the round calls itself. That one is not
    /// retained, like the others.
    private var running = RunningTimers()
    private var firing: Unmanaged<Timer>?
    private var nextSequence: UInt64 = 0
    /// Draws the random lengths of schedules.
    package var random = SeededGenerator(seed: .random(in: 0 ... .max))
    /// The instant of the alarm's next firing, as last ordered. Outside a round it is never later than
    /// ``nextWakeTime``, unless some timers must still be ended.
    var armed: UInt64 = .max
    /// The period at which the alarm repeats by itself, in nanoseconds; 0 if it does not repeat.
    private var armedPeriod: UInt64 = 0
    /// The instant of the present round, or nil between rounds.
    package internal(set) var round: UInt64?
    /// Whether timers may still be left that were deferred to this round, in which nobody has had a turn yet.
    private var hasDeferred = false
    /// How many more late ticks this round may deliver to timers that catch up, beyond the first tick of each timer.
    private var repeats = 0
    /// Counts the changes since all invariants were checked last.
    var unchecked = 0

    package init() {}

    /// The number of timers that have not ended.
    package var count: Int { timers.count }

    /// The timer at a position below ``count``. Positions change when a timer ends, but iterating from the last
    /// position to the first meets every timer, even if timers end in between. Constant time.
    package subscript(position: Int) -> Timer { timers[position] }

    /// The number of timers whose handler is running, also of those that have ended.
    package var runningCount: Int { running.count + (unsafe firing == nil ? 0 : 1) }

    /// The running timer at a position below ``runningCount``. Iterate from the last position to the first. Constant
    /// time.
    package func running(at position: Int) -> Timer {
        if position < running.count { return running[position] }
        guard let firing = unsafe firing else { preconditionFailure("there is no such position") }
        return unsafe firing.takeUnretainedValue()
    }

    /// When the running handler of a timer was called, to the precision of the round that called it; nil if it does not
    /// run. Constant time.
    package func runningSince(_ timer: Timer) -> UInt64? {
        switch timer.stage {
        case .firing: round
        case .running: running.since(timer)
        case .idle, .queued, .dispatched: nil
        }
    }

    /// When the first timer comes out of its queue, or nil if no timer waits. This may be earlier than the earliest
    /// wake time, if that was postponed. Constant time.
    package var nextWakeTime: UInt64? {
        let next = waiting.next.wakeTime
        return next == .max ? nil : next
    }

    /// The instant that the alarm is set to, if that instant has passed and no round is in progress. Constant time.
    package func overdue(at now: UInt64) -> UInt64? { round == nil && armed <= now && armed != .max ? armed : nil }

    // MARK: From deadline to tick

    /// Begins a round, in which every timer that is due at `now` gets its turn. The caller calls it when the alarm
    /// fires.
    package mutating func beginRound(at now: UInt64) {
        round = now
        hasDeferred = true
        waiting.beginRound()
        repeats = Self.batch
        // A firing unsets the alarm, unless the alarm repeats. After an early firing `endRound` sets the alarm again
        // or, if no timer waits, disarms a repeating alarm.
        let goesOn = armedPeriod > 0 && armed <= now
        armed = goesOn ? (now - (now - armed) % armedPeriod).saturatingAdding(armedPeriod) : .max
    }

    /// Finds the first due timer, in the order of deadlines and then of scheduling. Nil if there is none, or if a
    /// batch has found none: ``hasDue`` tells. O(log n).
    package mutating func firstDue() -> Timer? {
        guard let round else { return nil }
        for _ in 0..<Self.batch {
            if hasDeferred, let first = waiting.first(of: DeadlineQueues.deferred), first.nanoseconds <= round {
                moveOn(first.timer)
                continue
            }
            hasDeferred = false
            guard let first = waiting.first(by: round) else { return nil }
            let timer = first.timer
            let isTrue = timer.timing.nextDeadline == first.nanoseconds && timer.sequence == first.sequence
            if isTrue, timer.stage == .queued, timer.listPosition >= timers.closing { return timer }
            // The timer was postponed, must be ended, or is still in the handler that an earlier round called.
            moveOn(timer)
        }
        return nil
    }

    /// Whether further timers may be due in this round.
    package var hasDue: Bool {
        mutating get {
            guard let round else { return false }
            let deferred = hasDeferred ? waiting.first(of: DeadlineQueues.deferred) : nil
            return deferred.map { $0.nanoseconds <= round } ?? false || waiting.first(by: round) != nil
        }
    }

    /// Takes the first due timer out of its queue. It is on its way to its handler from now on. O(log n).
    package mutating func send(_ timer: Timer) {
        dequeue(timer)
        timer.stage = .dispatched
    }

    /// Decides on the tick of the first due timer, or of a timer that is on its way, from the deadlines that have
    /// passed at `now`. Returns nil if the timer must not tick, because it has ended, is paused, or was rescheduled to
    /// a later deadline. The caller must call ``putBack(_:decidedAt:byHop:now:)`` in either case; before that, a first
    /// due timer without a tick must be sent. Constant time.
    package mutating func begin(_ timer: Timer, at now: UInt64) -> Expiration? {
        let isFirst = timer.stage == .queued
        assert(isFirst || timer.stage == .dispatched, "a timer that begins is due, or on its way")
        if timer.hasEnded || timer.timing.isPaused || timer.listPosition < timers.closing { return nil }
        guard let expiration = timer.timing.takeTick(at: now) else { return nil }
        if isFirst, unsafe firing == nil {
            timer.stage = .firing
            unsafe firing = .passUnretained(timer)
        } else {
            dequeue(timer)
            timer.stage = .running
            running.append(timer, since: now)
        }
        return expiration
    }

    /// Ends a delivery whose tick was decided on as of an instant. `now` matters only to a timer that awaits the return
    /// of its handler. Afterwards the timer has ended, or it waits or is idle, or it is on its way again.
    ///
    /// A timer that catches up continues with the next of its late deadlines, either by the same hop or, without a
    /// hop, in its turn in the same round. A round has a limited number of such turns; after that, other timers that
    /// have come due get theirs. O(log n).
    package mutating func putBack(
        _ timer: Timer,
        decidedAt instant: UInt64,
        byHop: Bool = false,
        now: UInt64
    ) -> AlarmOrder {
        assert(timer.isInDelivery, "only a delivery that has begun can end")
        if timer.stage == .firing { unsafe firing = nil }
        if timer.stage == .running { running.remove(timer) }
        if timer.awaitsReturn { timer.timing.handlerReturned(at: now) }
        let keepsPosition = timer.stage == .firing && timer.position >= 0
        timer.stage = keepsPosition ? .queued : .idle
        let goesOn = !timer.hasEnded && timer.listPosition >= timers.closing
        if keepsPosition, goesOn, timer.timing.isAhead(of: max(instant, round ?? 0)) {
            // Nearly every timer takes this path.
            waiting.postpone(timer, to: timer.timing.nextDeadline)
            checkInvariants()
            return .leave
        }
        let catchesUp = timer.timing.catchesUp(at: instant)
        if timer.hasEnded { return .leave }
        dequeue(timer)
        if catchesUp, byHop {
            timer.stage = .dispatched
        } else if timer.timing.isOver {
            _ = end(timer, .completed)
        } else if catchesUp, repeats > 0, timer.listPosition >= timers.closing {
            repeats -= 1
            // Its tolerance is over.
            let deadline = timer.timing.nextDeadline
            push(timer, to: (queue: 0, deadline, deadline))
        } else {
            return enqueue(timer)
        }
        return .leave
    }

    /// Ends a round after the due timers have been delivered, and sets the alarm to the earliest deadline by then.
    /// This keeps the system call, which is expensive right after a wake-up, out of the lateness.
    package mutating func endRound() -> AlarmOrder {
        (round, repeats) = (nil, 0)
        settle(atMost: Self.batch)
        // A repeating alarm whose next firing is not the next deadline would fire in vain.
        let next = timers.hasOpen ? nextWakeTime : nil
        if armedPeriod > 0, armed != next {
            (armed, armedPeriod) = (.max, 0)
            if next == nil { return .disarm }
        }
        return orderIfEarlier(nextWakeTime ?? .max)
    }

    /// The period of the timer with the earliest deadline, in nanoseconds; nil if a wake time comes first, or if its
    /// period is not a whole number of nanoseconds. An alarm that was just set to that deadline may repeat by itself
    /// with this period.
    package var periodFromNext: UInt64? {
        let next = waiting.next
        return next == (0, armed) ? waiting.first(of: 0)?.timer.timing.wholePeriod : nil
    }

    /// Records that the alarm repeats by itself, from the deadline that it was set to.
    package mutating func alarmGoesOn(every period: UInt64) { armedPeriod = period }

    /// Moves postponed timers from the front of a queue to their position, so that the alarm does not fire for them.
    /// O(log n) for each of them.
    package mutating func settle(atMost count: Int) {
        for _ in 0..<count {
            let queue = waiting.next.queue
            guard let first = waiting.first(of: queue) else { return }
            let timer = first.timer
            let isDeferred = queue == DeadlineQueues.deferred
            if first.nanoseconds == (isDeferred ? timer.timing.wakeTime : timer.timing.nextDeadline) { return }
            moveOn(timer)
        }
    }

    // MARK: The end

    /// Ends a timer, which has no tick any more. Returns it, with the reference of the list; nil if it had ended or was
    /// never added. The alarm stays as it is, because a spare firing is cheaper than a system call for every cancelled
    /// timer. O(log n).
    package mutating func end(_ timer: Timer, _ ending: TimerEnding) -> Timer? {
        if timer.hasEnded || !timer.isAdded { return nil }
        timer.ending = ending
        dequeue(timer)
        let ended = timers.remove(timer)
        checkInvariants()
        return ended
    }

    /// Records that the alarm is stopped: none of the present timers ticks any more, and each must be ended.
    /// Constant time.
    package mutating func close() {
        timers.close()
        (armed, armedPeriod) = (.max, 0)
        (round, repeats) = (nil, 0)
    }

    /// One of the timers that must still be ended after ``close()``.
    package var closing: Timer? { timers.closing > 0 ? timers[Int(timers.closing) - 1] : nil }

    // MARK: The queues and the alarm

    /// The order for the next number among equal deadlines.
    mutating func takeSequence() -> UInt64 {
        defer { nextSequence += 1 }
        return nextSequence
    }

    /// Queues a timer by its next deadline, unless it is in delivery. One that is due waits for the next round.
    mutating func enqueue(_ timer: Timer) -> AlarmOrder {
        orderIfEarlier(timer.isInDelivery ? .max : requeue(timer))
    }

    /// Takes a timer that must not wait any more, or not yet, out of its queue, and queues one that must. Returns its
    /// wake time; `.max` if it does not wait.
    @discardableResult mutating func requeue(_ timer: Timer) -> UInt64 {
        guard let place = whereToWait(timer, isFirst: false) else {
            dequeue(timer)
            return .max
        }
        if timer.stage == .queued, timer.queue == place.queue {
            // It only ever moves forward in its queue.
            waiting.hasten(timer, to: place.instant)
        } else {
            if timer.stage != .idle { dequeue(timer) }
            push(timer, to: place)
        }
        return place.wakeTime
    }

    /// Moves the first timer of a queue to where it belongs by now.
    private mutating func moveOn(_ timer: Timer) {
        dequeue(timer)
        if timer.isInDelivery { return }
        if let place = whereToWait(timer, isFirst: true) { push(timer, to: place) }
    }

    /// Whether a timer is at its own place in a queue, and comes out in this round.
    func hasTurn(_ timer: Timer) -> Bool {
        guard let round, timer.stage == .queued, waiting.wakeTime(of: timer) <= round else { return false }
        return waiting.element(of: timer).nanoseconds == timer.timing.nextDeadline
    }

    /// A place in a queue.
    private typealias Place = (queue: Int, instant: UInt64, wakeTime: UInt64)

    /// Where a timer waits; nil if it does not wait. A due timer that was the first of its queue gets its turn in this
    /// round, by its deadline; any other one waits for the next round.
    @inline(__always) private func whereToWait(_ timer: Timer, isFirst: Bool) -> Place? {
        let (deadline, wakeTime) = (timer.timing.nextDeadline, timer.timing.wakeTime)
        if deadline == .max || timer.timing.isPaused || timer.listPosition < timers.closing { return nil }
        let (queue, isDue) = (timer.timing.toleranceBit, round.map { wakeTime <= $0 } ?? false)
        let byDeadline = isDue ? isFirst : queue > 0 || wakeTime == deadline
        return byDeadline ? (queue, deadline, wakeTime) : (DeadlineQueues.deferred, wakeTime, wakeTime)
    }

    private mutating func push(_ timer: Timer, to place: Place) {
        timer.stage = .queued
        waiting.push(timer, to: place.queue, at: place.instant)
    }

    /// Takes a timer out of its queue, if it is in one.
    private mutating func dequeue(_ timer: Timer) {
        switch timer.stage {
        case .queued: waiting.remove(timer)
        // It stays in its handler.
        case .firing where timer.position >= 0: return waiting.remove(timer)
        case .idle, .firing, .dispatched, .running: return
        }
        timer.stage = .idle
    }

    /// The order after a timer was queued that wakes at an instant. The alarm is set early enough for all others.
    private mutating func orderIfEarlier(_ wakeTime: UInt64) -> AlarmOrder {
        defer { checkInvariants() }
        // After a close there is no alarm before the next timer is added, and an order for it would be lost.
        guard wakeTime < armed, round == nil, timers.hasOpen else { return .leave }
        armed = wakeTime
        armedPeriod = 0
        return .set(wakeTime)
    }
}

/// What the caller of a ``Scheduler`` must do with the alarm.
package enum AlarmOrder: Hashable, Sendable {
    /// Nothing: the alarm is set early enough.
    case leave
    /// Set the alarm to this instant.
    case set(UInt64)
    /// Stop the alarm from firing again.
    case disarm
}
