/// Decides which timers are due, when the next one must tick, and what the alarm must be set to. A pure state machine
/// over numbers.
///
/// A round begins with the clock's reading (``beginRound(at:)``). Then, step by step, ``firstDue()`` finds the first
/// timer that is due by then. The caller either calls its handler at once, or sends the tick to where the handler
/// runs. ``begin(_:at:)`` decides on the tick: as of the round's instant for a handler that is called at once, and as
/// of its arrival for one that was sent. ``putBack(_:decidedAt:byHop:now:)`` queues the timer again after the handler
/// has returned. Deadlines that passed in between are counted then. This is why a paused timer, a slow handler, a
/// busy queue and a slow consumer all get one late tick with the right count.
///
/// The caller reads the clock and sets the alarm. Each method that can make the earliest wake time earlier returns an
/// ``AlarmOrder``, which the caller must carry out before it calls the scheduler again. There are no orders between
/// ``beginRound(at:)`` and ``endRound(at:)``: an alarm does not fire again before the caller has handled its last
/// firing. No method does more than a ``batch`` of steps of O(log n).
///
/// One queue has the timers in the order of their last instants, and the alarm is set to the first of these (a soft and
/// a hard expiry, as in Linux's hrtimers). A round takes the first timer while that one's deadline has passed. It stops
/// at the first one that must wait, because that one will wake the thread in time for all behind it.
///
/// A timer is deferred to the next round if it comes due during one: otherwise a timer that a handler makes due again
/// and again would keep the others from their turn. So is one with an extra tick, which waits for no instant. The next
/// round queues deferred timers, each at its last instant.
@safe package struct Scheduler: ~Copyable {
    package typealias Timer = TimerRecord
    private typealias Element = DeadlineQueue.Element

    /// The maximum number of steps that one call performs.
    package static var batch: Int { 64 }

    var timers = TimerList()
    var waiting = DeadlineQueue()
    /// The timers that the next round queues; in a round, those before ``TimerGroup/mark`` are for this one.
    var deferred = TimerGroup()
    /// The timers that are in their handlers, outside the queue, and the one that this round is calling. None of them
    /// is retained.
    private var running = TimerGroup()
    private var firing: Unmanaged<Timer>?
    private var nextSequence: UInt64 = 0
    /// Draws the random lengths of schedules.
    package var random = SeededGenerator(seed: .random(in: 0 ... .max))
    /// The instant of the alarm's next firing, as last ordered. Outside a round it is never later than
    /// ``nextWakeTime``, unless some timers must still be ended.
    var armed: UInt64 = .max
    /// The period at which the alarm repeats by itself, in nanoseconds; 0 if it does not repeat.
    private var armedPeriod: UInt64 = 0
    /// The instant of the current round, or nil between rounds.
    package internal(set) var round: UInt64?
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
        case .running: running.instant(of: timer)
        case .idle, .queued, .deferred, .dispatched: nil
        }
    }

    /// When the alarm must fire outside a round, or nil if no timer waits. This may be earlier than the earliest last
    /// instant, if that was postponed. Constant time.
    package var nextWakeTime: UInt64? { hasDeferred ? armed : waiting.first?.nanoseconds }

    /// Whether some timers wait for no instant, but for the next round.
    package var hasDeferred: Bool { deferred.count > 0 }

    /// The instant that the alarm is set to, if that instant has passed and no round is in progress. Constant time.
    package func overdue(at now: UInt64) -> UInt64? { round == nil && armed <= now && armed != .max ? armed : nil }

    // MARK: From deadline to tick

    /// Begins a round, in which every timer whose last instant has come by `now` gets its turn. The caller calls it
    /// when the alarm fires.
    package mutating func beginRound(at now: UInt64) {
        (round, repeats) = (now, Self.batch)
        deferred.markAll()
        // A firing unsets the alarm, unless the alarm repeats. After an early firing `endRound` sets the alarm again
        // or, if no timer waits, disarms a repeating alarm.
        let goesOn = armedPeriod > 0 && armed <= now
        armed = goesOn ? (now - (now - armed) % armedPeriod).saturatingAdding(armedPeriod) : .max
    }

    /// Finds the first due timer. Nil if there is none, or if a batch has found none: ``hasDue`` tells. O(log n).
    package mutating func firstDue() -> Timer? {
        guard let round else { return nil }
        for _ in 0..<Self.batch {
            if deferred.mark > 0 {
                queueDeferred(by: round)
                continue
            }
            guard let first = waiting.first else { return nil }
            let timer = first.timer
            if timer.stage == .queued, !isPostponed(first, timer), !timers.mustEnd(timer) {
                return timer.timing.nextDeadline <= round ? timer : nil
            }
            moveOn(timer)
        }
        return nil
    }

    /// Queues a timer that was deferred before the round.
    // Not inlined: few rounds find such timers.
    @inline(never) private mutating func queueDeferred(by round: UInt64) {
        let timer = deferred[Int(deferred.mark) - 1]
        deferred.remove(timer)
        timer.timing.bringExtraForward(to: round)
        push(Element(timer, at: timer.timing.lastInstant))
    }

    /// Whether further timers may be due in this round.
    package var hasDue: Bool {
        guard let round else { return false }
        if deferred.mark > 0 { return true }
        // At the end of time the round is at `.max`.
        return waiting.first.map { $0.nanoseconds <= round } ?? false
    }

    /// Calls a body with each timer that may tick in a round at an instant. O(n) for n of them, and for the postponed
    /// ones.
    package func eachDue(at instant: UInt64, _ body: (Timer) -> Void) {
        waiting.visit { element in
            let isDue = element.timer.timing.nextDeadline <= instant
            if isDue { body(element.timer) }
            return isDue || isPostponed(element, element.timer)
        }
        for position in 0..<deferred.count { body(deferred[position]) }
    }

    /// Takes the first due timer out of the queue. It is on its way to its handler from now on. O(log n).
    package mutating func send(_ timer: Timer) {
        dequeue(timer)
        timer.stage = .dispatched
    }

    /// Decides on the tick of the first due timer, or of a timer that is on its way, from the deadlines that have
    /// passed at `now`. Returns nil if the timer must not tick, because it has ended, is paused, or was rescheduled to
    /// a later deadline. The caller must call ``putBack(_:decidedAt:byHop:now:)`` in either case; before that, a first
    /// due timer without a tick must be sent. Constant time.
    @inline(__always) package mutating func begin(_ timer: Timer, at now: UInt64) -> Expiration? {
        let isFirst = timer.stage == .queued
        assert(isFirst || timer.stage == .dispatched, "a timer that begins is due, or on its way")
        if timer.hasEnded || timer.timing.isPaused || timers.mustEnd(timer) { return nil }
        guard let expiration = timer.timing.takeTick(at: now) else { return nil }
        if isFirst, unsafe firing == nil {
            timer.stage = .firing
            unsafe firing = .passUnretained(timer)
        } else {
            dequeue(timer)
            timer.stage = .running
            running.append(timer, at: now)
        }
        return expiration
    }

    /// Ends a delivery whose tick was decided on as of an instant. `now` matters only to a timer that counts from the
    /// return of its handler. Afterwards the timer waits or is idle, or it is on its way again.
    ///
    /// A timer that catches up continues with the next of its late deadlines, either by the same hop or, without a
    /// hop, in its turn in the same round. A round has a limited number of such turns; after that, other timers that
    /// have come due get theirs. O(log n).
    ///
    /// - Returns: what to do with the alarm; nil if no tick remains, and the caller must end the timer.
    package mutating func putBack(
        _ timer: Timer,
        decidedAt instant: UInt64,
        byHop: Bool = false,
        now: UInt64
    ) -> AlarmOrder? {
        assert(timer.isInDelivery, "only a delivery that has begun can end")
        if timer.stage == .firing { unsafe firing = nil }
        if timer.stage == .running { running.remove(timer) }
        let keepsPosition = timer.stage == .firing && timer.position >= 0
        timer.stage = keepsPosition ? .queued : .idle
        if timer.hasEnded { return .leave }
        if timer.timing.countsFromReturn { timer.timing.handlerReturned(at: now) }
        let goesOn = !timers.mustEnd(timer)
        if keepsPosition, goesOn, timer.timing.isAhead(of: max(instant, round ?? 0)) {
            // Nearly every timer takes this path.
            waiting.move(to: Element(timer, at: timer.timing.lastInstant(of: timer.timing.deadline)))
            checkInvariants()
            return .leave
        }
        let catchesUp = timer.timing.catchesUp(at: instant)
        dequeue(timer)
        if catchesUp, byHop {
            timer.stage = .dispatched
        } else if timer.timing.isOver {
            return nil
        } else if catchesUp, repeats > 0, goesOn {
            repeats -= 1
            push(Element(timer, at: timer.timing.lastInstant))
        } else {
            return enqueue(timer)
        }
        return .leave
    }

    /// Ends a round after the due timers have been delivered, and sets the alarm to the earliest last instant by then.
    /// This keeps the system call, which is expensive right after a wake-up, out of the lateness. For deferred timers
    /// the alarm fires at once, also if the clock was set back since: `now` matters only then.
    package mutating func endRound(at now: UInt64) -> AlarmOrder {
        // The greatest number is never, also at the end of time.
        let atOnce = min(round ?? now, now, .max - 1)
        (round, repeats) = (nil, 0)
        settle(atMost: Self.batch)
        let first = waiting.first?.nanoseconds
        let next = timers.hasOpen ? hasDeferred ? min(first ?? atOnce, atOnce) : first : nil
        // A repeating alarm whose next firing is not the next wake time would fire in vain.
        if armedPeriod > 0, armed != next {
            (armed, armedPeriod) = (.max, 0)
            if next == nil { return .disarm }
        }
        return orderIfEarlier(next ?? .max)
    }

    /// The period of the first timer in nanoseconds; nil if it may tick later than at the instant that the alarm was
    /// just set to, or if its period is not a whole number of nanoseconds. The alarm may then repeat by itself with
    /// this period.
    package var periodFromNext: UInt64? {
        guard let timer = waiting.first?.timer, timer.timing.nextDeadline == armed else { return nil }
        return timer.timing.lastInstant == armed ? timer.timing.wholePeriod : nil
    }

    /// Records that the alarm repeats by itself, from the deadline that it was set to.
    package mutating func alarmGoesOn(every period: UInt64) { armedPeriod = period }

    /// Moves postponed timers from the front to their places, so that the alarm does not fire for them. O(log n) for
    /// each of them.
    package mutating func settle(atMost count: Int) {
        for _ in 0..<count {
            guard let first = waiting.first, first.timer.stage != .queued || isPostponed(first, first.timer) else {
                return
            }
            moveOn(first.timer)
        }
    }

    // MARK: The end

    /// Ends a timer, which has no tick any more. Returns it, with the reference of the list; nil if it had ended or was
    /// never added. The alarm stays as it is, because a spare firing is cheaper than a system call for every cancelled
    /// timer. O(log n).
    @inline(__always) package mutating func end(_ timer: Timer, _ ending: TimerEnding) -> Timer? {
        if timer.hasEnded || !timer.isAdded { return nil }
        (timer.ending, timer.takesOrders) = (ending, false)
        dequeue(timer)
        let ended = timers.remove(timer)
        checkInvariants()
        return ended
    }

    /// Records that the alarm is stopped: none of its timers ticks any more, and each must be ended.
    /// Constant time.
    package mutating func close() {
        timers.close()
        (armed, armedPeriod) = (.max, 0)
        (round, repeats) = (nil, 0)
    }

    /// One of the timers that must still be ended after ``close()``.
    package var closing: Timer? { timers.closing > 0 ? timers[Int(timers.closing) - 1] : nil }

    // MARK: The queue and the alarm

    /// The order for the next number among equal deadlines.
    mutating func takeSequence() -> UInt64 {
        defer { nextSequence += 1 }
        return nextSequence
    }

    /// Queues a timer, unless it is in delivery. One that comes due during a round, or was asked for an extra tick,
    /// waits for the next round, unless it keeps its turn.
    mutating func enqueue(_ timer: Timer, keepsTurn: Bool = false) -> AlarmOrder {
        orderIfEarlier(timer.isInDelivery ? .max : requeue(timer, keepsTurn: keepsTurn))
    }

    /// Takes a timer that must not wait any more, or not yet, out of the queue, and queues one that must. Returns its
    /// last instant; `.max` if it does not wait.
    @discardableResult mutating func requeue(_ timer: Timer, keepsTurn: Bool = false) -> UInt64 {
        let (deadline, lastInstant) = timer.timing.window
        if deadline == .max || timer.timing.isPaused || timers.mustEnd(timer) {
            dequeue(timer)
            return .max
        }
        if timer.timing.hasExtra || round.map({ deadline <= $0 }) ?? false, !keepsTurn {
            dequeue(timer)
            deferred.append(timer, at: lastInstant)
            timer.stage = .deferred
        } else if timer.stage == .idle {
            push(Element(timer, at: lastInstant))
        } else if timer.stage == .queued {
            waiting.hasten(to: Element(timer, at: lastInstant))
        } else {
            dequeue(timer)
            push(Element(timer, at: lastInstant))
        }
        return lastInstant
    }

    /// Whether a timer was postponed since it was queued there, so that it comes out too early.
    @inline(__always) private func isPostponed(_ element: Element, _ timer: Timer) -> Bool {
        element.precedes(Element(timer, at: timer.timing.lastInstant))
    }

    /// Moves a timer to where it belongs by now. It was postponed, must be ended, or is still in the handler that an
    /// earlier round called.
    private mutating func moveOn(_ timer: Timer) {
        if timer.stage == .queued, timer.timing.nextDeadline != .max, !timers.mustEnd(timer) {
            waiting.move(to: Element(timer, at: timer.timing.lastInstant))
        } else {
            dequeue(timer)
        }
    }

    /// Whether a timer waits for its turn in this round.
    func hasTurn(_ timer: Timer) -> Bool {
        timer.stage == .queued && timer.timing.nextDeadline <= round ?? 0
    }

    @inline(__always) private mutating func push(_ element: Element) {
        element.timer.stage = .queued
        waiting.push(element)
    }

    /// Takes a timer out of the queue, if it is there.
    private mutating func dequeue(_ timer: Timer) {
        switch timer.stage {
        case .queued: waiting.remove(timer)
        case .deferred: deferred.remove(timer)
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
