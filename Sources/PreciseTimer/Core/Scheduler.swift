/// Decides which timers are due, which deadline comes next, and what the alarm must be set to. A pure state machine
/// over numbers.
///
/// A look begins with the clock's reading (``beginLook(at:)``). Then, step by step, ``firstDue()`` finds the first
/// timer that is due by then. The caller either calls its handler at once, or sends the tick to where the handler
/// runs. ``begin(_:at:)`` decides on the tick just before the handler is called, and
/// ``putBack(_:lookedAt:byHop:now:)`` queues the timer again after the handler has returned. Deadlines that passed in
/// between are counted then. This is why a paused timer, a slow handler, a busy queue and a slow consumer all get one
/// late tick with the right count.
///
/// The caller reads the clock and sets the alarm. Each method that can change the earliest deadline returns an
/// ``AlarmOrder``, which the caller must carry out before it calls the scheduler again. There are no orders between
/// ``beginLook(at:)`` and ``endLook()``: an alarm does not fire again before the caller has handled its last firing.
/// No method does more than ``portion`` steps of O(log n).
///
/// There are two queues, because timers come out at one instant and have their turn by another. The queue of looks has
/// the timers that must not come out at their deadline. These are timers with a tolerance, which wait for a later look
/// that they share with others, and timers that came due during a look, which wait for the next one. All others are in
/// the queue of deadlines. A due timer of the queue of looks moves there when its look begins.
///
/// One queue, by looks, would break one of three promises. Of two timers with the same look, the one with the earlier
/// deadline would not tick first, unless all due timers were sorted before the first tick, which the first one would
/// pay for with its lateness. If the one queue was by deadlines, a timer with a tolerance would be found at its
/// deadline, and wake the thread then. And a timer that a handler makes due again and again would have the earliest
/// deadline of all each time, and would keep the others from their turn. `OneQueueTests` show all three.
@safe package struct Scheduler<User: UserFacts & ~Copyable>: ~Copyable {
    package typealias Timer = TimerRecord<User>

    /// The maximum number of steps that one call performs.
    package static var portion: Int { 64 }

    var timers = TimerList<User>()
    var deadlines = DeadlineQueue<User>()
    var looks = DeadlineQueue<User>()
    /// The timers that run and are in no queue, and the one whose handler the look calls itself. That one is not
    /// retained, like the others.
    private var running = RunningTimers<User>()
    private var called: Unmanaged<Timer>?
    private var nextSequence: UInt64 = 0
    /// The instant of the alarm's next firing, as last ordered. Outside a look it is never later than ``nextLook``,
    /// unless all timers must be ended.
    var armed: UInt64 = .max
    /// The period at which the alarm repeats by itself, in nanoseconds; 0 if it does not repeat.
    private var armedPeriod: UInt64 = 0
    /// The instant of the present look, or nil between looks.
    package internal(set) var look: UInt64?
    /// Whether due timers may still have to move from the queue of looks to the queue of deadlines.
    private var isGathering = false
    /// How many more late ticks this look may deliver to timers that catch up, beyond the first tick of each timer.
    private var repeats = 0

    package init() {}

    /// The number of timers that have not ended.
    package var count: Int { timers.count }

    /// The timer at a position below ``count``. Positions change when a timer ends, but iterating from the last
    /// position to the first meets every timer, even if timers end in between. Constant time.
    package subscript(position: Int) -> Timer { timers[position] }

    /// The number of timers whose handler is running, also of those that have ended.
    package var runningCount: Int { running.count + (unsafe called == nil ? 0 : 1) }

    /// The running timer at a position below ``runningCount``. Iterate from the last position to the first. Constant
    /// time.
    package func running(at position: Int) -> Timer {
        if position < running.count { return running[position] }
        guard let called = unsafe called else { preconditionFailure("there is no such position") }
        return unsafe called.takeUnretainedValue()
    }

    /// When the running handler of a timer was called, to the precision of the look that called it; nil if it does not
    /// run. Constant time.
    package func runningSince(_ timer: Timer) -> UInt64? {
        switch timer.whereabouts {
        case .isCalled: look
        case .runs: running.since(timer)
        case .rests, .awaitsDeadline, .awaitsLook, .onItsWay: nil
        }
    }

    /// When the first timer comes out of its queue, or nil if no timer waits. This may be earlier than the earliest
    /// deadline, if that was postponed. Constant time.
    package var nextLook: UInt64? {
        let first = min(deadlines.firstInstant, looks.firstInstant)
        return first == .max ? nil : first
    }

    /// The instant that the alarm is set to, if that instant has passed and no look is in progress. Constant time.
    package func overdue(at now: UInt64) -> UInt64? { look == nil && armed <= now && armed != .max ? armed : nil }

    // MARK: Requests

    /// Adds a timer. O(log n).
    package mutating func add(_ timer: Timer, on grid: Grid) -> AlarmOrder {
        timer.restart(on: grid, sequence: takeSequence())
        timers.append(timer)
        return enqueue(timer)
    }

    /// Ends a timer, which has no tick any more. Returns false if it had ended or was never added. The alarm stays
    /// as it is, because a spare firing is cheaper than a system call for every cancelled timer. O(log n).
    package mutating func end(_ timer: Timer, _ ending: TimerEnding) -> Bool {
        if timer.hasEnded || timer.place < 0 { return false }
        timer.ending = ending
        dequeue(timer)
        timers.remove(timer)
        checkInvariants()
        return true
    }

    /// Holds back all ticks until the timer is resumed; its grid stays. Returns false if it was paused or had ended.
    /// O(log n).
    package mutating func pause(_ timer: Timer) -> Bool {
        if timer.hasEnded || timer.isPaused { return false }
        timer.isPaused = true
        // A timer in delivery keeps its count of late ticks: it may be resumed before the delivery ends.
        if !timer.isInDelivery { timer.stopCatchingUp() }
        place(timer, comesOut: false)
        checkInvariants()
        return true
    }

    /// Resumes a paused timer: deadlines that passed meanwhile are due at once. Returns nil if it was not paused.
    /// O(log n).
    package mutating func resume(_ timer: Timer) -> AlarmOrder? {
        if timer.hasEnded || !timer.isPaused { return nil }
        timer.isPaused = false
        return enqueue(timer)
    }

    /// Starts a timer anew on another grid, as the last among equal deadlines. Returns nil if it had ended.
    /// O(log n), or constant time if its next deadline is no earlier than before.
    package mutating func reschedule(_ timer: Timer, on grid: Grid) -> AlarmOrder? {
        if timer.hasEnded { return nil }
        timer.restart(on: grid, sequence: takeSequence())
        // A heartbeat that pushes its time-out takes this path: the timer comes out too early, and is then queued anew.
        if timer.whereabouts == .awaitsDeadline, timer.isAhead(of: max(deadlines.instant(of: timer), look ?? 0)) {
            return .leave
        }
        return enqueue(timer)
    }

    /// Asks for an extra tick, which does not change the grid. Returns nil if the timer had ended. O(log n).
    package mutating func fire(_ timer: Timer, at now: UInt64) -> AlarmOrder? {
        if timer.hasEnded { return nil }
        let (deadline, look) = (timer.nextDeadline, timer.nextLook)
        timer.askForExtra(at: now)
        // A timer that is already due keeps its turn, unless it waits for a look that the extra tick makes earlier.
        let keepsItsTurn = timer.whereabouts == .awaitsDeadline || timer.nextLook == look
        return timer.nextDeadline == deadline && keepsItsTurn ? .leave : enqueue(timer)
    }

    // MARK: From deadline to tick

    /// Begins a look, in which every timer that is due at `now` gets its turn. The caller calls it when the
    /// alarm fires.
    package mutating func beginLook(at now: UInt64) {
        look = now
        isGathering = true
        repeats = Self.portion
        // A firing unsets the alarm, unless the alarm repeats. After an early firing `endLook` sets the alarm again
        // or, if no timer waits, disarms a repeating alarm.
        let goesOn = armedPeriod > 0 && armed <= now
        armed = goesOn ? (now - (now - armed) % armedPeriod).saturatingAdding(armedPeriod) : .max
    }

    /// Finds the first due timer, in the order of deadlines and then of scheduling. Nil if there is none, or if a
    /// portion has found none: ``hasDue`` tells. O(log n).
    package mutating func firstDue() -> Timer? {
        guard let look else { return nil }
        for _ in 0..<Self.portion {
            if isGathering, looks.firstInstant <= look, let first = looks.first {
                place(first.timer, comesOut: true)
                continue
            }
            isGathering = false
            guard let first = deadlines.first, first.nanoseconds <= look else { return nil }
            let timer = first.timer
            let isTrue = timer.nextDeadline == first.nanoseconds && timer.sequence == first.sequence
            if isTrue, timer.whereabouts == .awaitsDeadline, timer.place >= timers.closing { return timer }
            // The timer was postponed, must be ended, or is still in the handler that an earlier look called.
            place(timer, comesOut: true)
        }
        return nil
    }

    /// Whether further timers may be due in this look.
    package var hasDue: Bool {
        let first = isGathering ? min(deadlines.firstInstant, looks.firstInstant) : deadlines.firstInstant
        return look.map { first <= $0 && first != .max } ?? false
    }

    /// Takes the first due timer out of its queue. It is on its way to its handler from now on. O(log n).
    package mutating func send(_ timer: Timer) {
        dequeue(timer)
        timer.whereabouts = .onItsWay
    }

    /// Decides on the tick of the first due timer, or of a timer that is on its way, from the deadlines that have
    /// passed at `now`. Returns nil if the timer must not tick, because it has ended, is paused, or was rescheduled to
    /// a later deadline. The caller must call ``putBack(_:lookedAt:byHop:now:)`` in either case; before that, a first
    /// due timer without a tick must be sent. Constant time.
    package mutating func begin(_ timer: Timer, at now: UInt64) -> Due? {
        let isFirst = timer.whereabouts == .awaitsDeadline
        assert(isFirst || timer.whereabouts == .onItsWay, "a timer that begins is due, or on its way")
        if timer.hasEnded || timer.isPaused || timer.place < timers.closing { return nil }
        guard let due = timer.takeTick(at: now) else { return nil }
        if isFirst, unsafe called == nil {
            timer.whereabouts = .isCalled
            unsafe called = .passUnretained(timer)
        } else {
            dequeue(timer)
            timer.whereabouts = .runs
            running.append(timer, since: now)
        }
        return due
    }

    /// Ends a delivery whose tick was decided on as of `look`. `now` matters only to a timer that awaits the return
    /// of its handler. Afterwards the timer has ended, or it waits or rests, or it is on its way again.
    ///
    /// A timer that catches up continues with the next of its late deadlines, either by the same hop or, without a
    /// hop, in its turn in the same look. A look has a limited number of such turns; after that, other timers that
    /// have come due get theirs. O(log n).
    package mutating func putBack(_ timer: Timer, lookedAt look: UInt64, byHop: Bool = false, now: UInt64) -> AlarmOrder
    {
        assert(timer.isInDelivery, "only a delivery that has begun can end")
        if timer.whereabouts == .isCalled { unsafe called = nil }
        if timer.whereabouts == .runs { running.remove(timer) }
        if timer.awaitsReturn { timer.handlerReturned(at: now) }
        let isInQueue = timer.whereabouts == .isCalled && timer.position >= 0
        timer.whereabouts = isInQueue ? .awaitsDeadline : .rests
        if isInQueue, timer.isAhead(of: max(look, self.look ?? 0)), timer.place >= timers.closing {
            // Nearly every timer takes this path.
            deadlines.postpone(timer, to: timer.nextDeadline)
            return orderIfEarlier()
        }
        let catchesUp = timer.catchesUp(at: look)
        if timer.hasEnded { return .leave }
        if catchesUp, byHop {
            timer.whereabouts = .onItsWay
            return .leave
        }
        dequeue(timer)
        if timer.isOver {
            _ = end(timer, .completed)
            return .leave
        }
        if catchesUp, repeats > 0, timer.place >= timers.closing {
            repeats -= 1
            put(timer, in: .awaitsDeadline, at: timer.nextDeadline)
            return .leave
        }
        return enqueue(timer)
    }

    /// Ends a look after the due timers have been delivered, and sets the alarm to the earliest deadline by then.
    /// This keeps the system call, which is expensive right after a wake-up, out of the lateness.
    package mutating func endLook() -> AlarmOrder {
        (look, repeats) = (nil, 0)
        settle(atMost: Self.portion)
        // A repeating alarm whose next firing is not the next deadline would fire in vain.
        let next = timers.hasOpen ? nextLook : nil
        if armedPeriod > 0, armed != next {
            (armed, armedPeriod) = (.max, 0)
            if next == nil { return .disarm }
        }
        return orderIfEarlier()
    }

    /// The period of the timer with the earliest deadline, in nanoseconds; nil if a look comes first, or if its
    /// period is not a whole number of nanoseconds. An alarm that is set to that deadline may repeat by itself with
    /// this period.
    package var periodFromNext: UInt64? {
        deadlines.firstInstant < looks.firstInstant ? deadlines.first?.timer.wholePeriod : nil
    }

    /// Records that the alarm repeats by itself, from the deadline that it was set to.
    package mutating func alarmGoesOn(every period: UInt64) { armedPeriod = period }

    /// Moves postponed timers from the front of a queue to their place, so that the alarm does not fire for them.
    /// O(log n) for each of them.
    package mutating func settle(atMost count: Int) {
        for _ in 0..<count {
            if let first = deadlines.first, first.nanoseconds <= looks.firstInstant {
                if first.timer.nextDeadline == first.nanoseconds { return }
                place(first.timer, comesOut: true)
            } else if let first = looks.first, first.timer.nextLook != first.nanoseconds {
                place(first.timer, comesOut: true)
            } else {
                return
            }
        }
    }

    // MARK: Shutdown

    /// Records that the alarm is stopped: none of the present timers ticks any more, and each must be ended.
    /// Constant time.
    package mutating func close() {
        timers.close()
        (armed, armedPeriod) = (.max, 0)
        (look, repeats) = (nil, 0)
    }

    /// One of the timers that must still be ended after ``close()``.
    package var closing: Timer? { timers.closing > 0 ? timers[Int(timers.closing) - 1] : nil }

    // MARK: The queues and the alarm

    /// Queues a waiting timer by its next deadline.
    mutating func enqueue(_ timer: Timer) -> AlarmOrder {
        place(timer, comesOut: false)
        return orderIfEarlier()
    }

    /// Queues a timer by its next deadline, unless it is in delivery. A due timer that comes out of a queue gets its
    /// turn in this look, by its deadline. A due timer that was in no queue waits for the next look.
    private mutating func place(_ timer: Timer, comesOut: Bool) {
        if timer.isInDelivery { return comesOut ? dequeue(timer) : () }
        let (deadline, nextLook) = (timer.nextDeadline, timer.nextLook)
        if deadline == .max || timer.isPaused || timer.place < timers.closing { return dequeue(timer) }
        let isDue = look.map { nextLook <= $0 } ?? false
        let (queue, instant): (Whereabouts, UInt64) =
            (isDue ? comesOut : nextLook == deadline) ? (.awaitsDeadline, deadline) : (.awaitsLook, nextLook)
        if comesOut || timer.whereabouts != queue { return put(timer, in: queue, at: instant) }
        // It is in that queue already, and only ever moves forward there.
        if queue == .awaitsDeadline { deadlines.hasten(timer, to: instant) } else { looks.hasten(timer, to: instant) }
    }

    /// Moves a timer from its present queue, if any, into another.
    private mutating func put(_ timer: Timer, in queue: Whereabouts, at instant: UInt64) {
        dequeue(timer)
        timer.whereabouts = queue
        if queue == .awaitsDeadline { deadlines.push(timer, at: instant) } else { looks.push(timer, at: instant) }
    }

    /// Takes a timer out of its queue, if it is in one. A timer that was called stays in its handler.
    private mutating func dequeue(_ timer: Timer) {
        switch timer.whereabouts {
        case .awaitsDeadline: deadlines.remove(timer)
        case .awaitsLook: looks.remove(timer)
        case .isCalled where timer.position >= 0: return deadlines.remove(timer)
        case .rests, .isCalled, .onItsWay, .runs: return
        }
        timer.whereabouts = .rests
    }

    private mutating func takeSequence() -> UInt64 {
        defer { nextSequence += 1 }
        return nextSequence
    }

    private mutating func orderIfEarlier() -> AlarmOrder {
        defer { checkInvariants() }
        // After a close there is no alarm before the next timer is added, and an order for it would be lost.
        guard look == nil, timers.hasOpen, let next = nextLook, next < armed else { return .leave }
        armed = next
        armedPeriod = 0
        return .set(next)
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
