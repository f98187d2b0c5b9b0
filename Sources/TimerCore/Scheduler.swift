/// Decides what is due, what comes next, and what the alarm must be set to. A pure state machine over numbers.
///
/// A timer waits in one of two queues. Nearly all wait in the queue of deadlines. In the queue of looks is who must not
/// come out by its deadline: a timer with a tolerance, which waits until some later look that it shares with others; and
/// what came due during a look, which waits for the next one, so that what is due at once cannot keep others from their
/// turn.
///
/// Delivery is one timer at a time. ``beginLook(at:)`` notes what the clock says. ``next()`` takes out the first of the
/// timers that are due by then. ``begin(_:at:)`` decides on its tick when the handler is about to be called, and
/// ``finish(_:lookedAt:byHop:now:)`` puts it back when the handler has returned. What has come due in between is found
/// then: that is how a paused timer, a slow handler, a busy queue and a slow consumer all get one late tick with the
/// right count.
///
/// The caller reads the clock and sets the alarm: each method that can make an earlier deadline the earliest answers
/// with an ``AlarmOrder`` that is to be carried out before anything else is asked. From ``beginLook(at:)`` to ``endLook()``
/// there are no orders: the alarm, which never fires twice at once, could not fire anyway. No method does more than
/// ``portion`` steps of O(log n).
package struct Scheduler: ~Copyable {
    /// What is to be done with the alarm.
    package enum AlarmOrder: Hashable, Sendable {
        /// It is set early enough.
        case leave
        /// Set it to a deadline.
        case set(UInt64)
        /// Have it fire no more.
        case disarm
    }

    /// What comes next in a look.
    package enum Turn {
        /// The turn of a timer, which is on its way from now on.
        case of(TimerEntry)
        /// Ask again; others may use the scheduler in between.
        case notFound
        /// Nothing more is due.
        case none
    }

    /// What a timer does after a delivery.
    package enum Sequel: Hashable, Sendable {
        /// It waits for its next deadline, or rests.
        case waits(AlarmOrder)
        /// It is on its way again, to another of its late deadlines.
        case again
        /// That was its last deadline: it has ended.
        case completes
        /// It had ended before.
        case hasEnded
    }

    /// How much is done at once, at most, where much is to be done.
    package static var portion: Int { 64 }

    var timers = TimerList()
    var deadlines = DeadlineQueue()
    var looks = DeadlineQueue()
    private var nextSequence: UInt64 = 0
    /// When the alarm fires next, as far as has been ordered. Never later than the earliest deadline.
    var armed: UInt64 = .max
    /// How many nanoseconds later it fires again by itself; 0 if it does not.
    private var armedPeriod: UInt64 = 0
    /// The look that is going on.
    package internal(set) var look: UInt64?
    /// Whether those in the queue of looks whose look has come are still to be moved to the queue of deadlines.
    private var isGathering = false
    /// How many more late ticks of timers that catch up may be delivered in this look, beside the first of each.
    private var repeats = 0

    package init() {}

    /// How many timers have not ended.
    package var count: Int { timers.count }

    /// The timer at a position below ``count``, which changes when a timer ends. Who goes from the last to the first, with
    /// pauses, misses nobody. Constant time.
    package subscript(position: Int) -> TimerEntry { timers[position] }

    /// When the earliest timer comes out; nil if none will. Not later than the earliest deadline; earlier if that was
    /// postponed. Constant time.
    package var nextLook: UInt64? {
        let first = min(deadlines.firstInstant, looks.firstInstant)
        return first == .max ? nil : first
    }

    /// The instant that the alarm is set to, if that has come and no look goes on. Constant time.
    package func overdue(at now: UInt64) -> UInt64? { look == nil && armed <= now && armed != .max ? armed : nil }

    // MARK: What callers ask for

    /// Takes a timer in. O(log n).
    package mutating func add(_ timer: TimerEntry, on grid: Grid) -> AlarmOrder {
        timer.restart(on: grid, sequence: takeSequence())
        timers.append(timer)
        return enqueue(timer)
    }

    /// Ends a timer: it has no tick any more. False if it had ended, or was never taken in. The alarm is left alone: a
    /// spare firing is cheaper than a system call per cancel. O(log n).
    package mutating func end(_ timer: TimerEntry, _ ending: TimerEntry.Ending) -> Bool {
        if timer.hasEnded || timer.place < 0 { return false }
        timer.ending = ending
        dequeue(timer)
        timers.remove(timer)
        checkInvariants()
        return true
    }

    /// Holds back all ticks until the timer is resumed; its grid stays. False if it was paused or had ended. O(log n).
    package mutating func pause(_ timer: TimerEntry) -> Bool {
        if timer.hasEnded || timer.isPaused { return false }
        timer.isPaused = true
        // What its handler does about itself is between two of its late ticks.
        if !timer.isInDelivery { timer.stopCatchingUp() }
        dequeue(timer)
        checkInvariants()
        return true
    }

    /// Lets a paused timer go on: what has passed meanwhile is due at once. Nil if it was not paused. O(log n).
    package mutating func resume(_ timer: TimerEntry) -> AlarmOrder? {
        if timer.hasEnded || !timer.isPaused { return nil }
        timer.isPaused = false
        return enqueue(timer)
    }

    /// Starts a timer anew on another grid, as the last among equal deadlines. Nil if it had ended. O(log n); constant time
    /// if its next deadline is no earlier than before.
    package mutating func reschedule(_ timer: TimerEntry, on grid: Grid) -> AlarmOrder? {
        if timer.hasEnded { return nil }
        timer.restart(on: grid, sequence: takeSequence())
        return enqueue(timer)
    }

    /// Asks for an extra tick, which leaves the grid alone. Nil if the timer had ended. O(log n).
    package mutating func fire(_ timer: TimerEntry, at now: UInt64) -> AlarmOrder? {
        if timer.hasEnded { return nil }
        let (deadline, look) = (timer.nextDeadline, timer.nextLook)
        timer.askForExtra(at: now)
        // A timer that is due already keeps its turn. One that waits by its deadline does not wait for a look.
        let keepsItsTurn = timer.whereabouts == .awaitsDeadline || timer.nextLook == look
        return timer.nextDeadline == deadline && keepsItsTurn ? .leave : enqueue(timer)
    }

    // MARK: From deadline to tick

    /// Begins a look: all that is due at `now` gets its turn. To be called when the alarm fires.
    package mutating func beginLook(at now: UInt64) {
        look = now
        isGathering = true
        repeats = Self.portion
        // A firing uses the setting up, unless the alarm goes on. After an early firing `endLook` sets the alarm again; if no
        // timer waits, it disarms an alarm that goes on.
        let goesOn = armedPeriod > 0 && armed <= now
        armed = goesOn ? (now - (now - armed) % armedPeriod).saturatingAdding(armedPeriod) : .max
    }

    /// Takes out the first timer that is due, in order of deadline and then of scheduling. O(log n).
    package mutating func next() -> Turn {
        guard let look else { return .none }
        for _ in 0..<Self.portion {
            if isGathering, let first = looks.first, first.nanoseconds <= look {
                place(first.timer, comesOut: true)
                continue
            }
            isGathering = false
            guard let first = deadlines.first, first.nanoseconds <= look else { return .none }
            let timer = first.timer
            if timer.nextDeadline == first.nanoseconds, timer.sequence == first.sequence, !timers.isClosing(timer) {
                deadlines.remove(timer)
                timer.whereabouts = .onItsWay
                return .of(timer)
            }
            // It was postponed.
            place(timer, comesOut: true)
        }
        return .notFound
    }

    /// The tick of a timer that is on its way, by what has passed at `now`. Nil if it must not tick: it has ended, is
    /// paused, or was rescheduled to a later deadline. To be followed by ``finish(_:lookedAt:byHop:now:)`` in either case.
    package mutating func begin(_ timer: TimerEntry, at now: UInt64) -> Due? {
        assert(timer.whereabouts == .onItsWay, "a timer that begins was taken out")
        if timer.hasEnded || timer.isPaused || timers.isClosing(timer) { return nil }
        guard let due = timer.takeTick(at: now) else { return nil }
        timer.whereabouts = .runs
        return due
    }

    /// Ends a delivery, whose tick was decided on as of `look`; `now` counts for a timer that awaits the return.
    ///
    /// A timer that catches up goes on with the next of its late deadlines: by the same hop or, without one, in its turn
    /// in the same look. Of the latter there are a limited number in a look; then others that have come due get their
    /// turn. O(log n).
    package mutating func finish(
        _ timer: TimerEntry,
        lookedAt look: UInt64,
        byHop: Bool = false,
        now: UInt64
    ) -> Sequel {
        assert(timer.isInDelivery, "only a delivery that has begun can end")
        timer.whereabouts = .rests
        timer.handlerReturned(at: now)
        let catchesUp = timer.catchesUp(at: look)
        if timer.hasEnded { return .hasEnded }
        if catchesUp, byHop {
            timer.whereabouts = .onItsWay
            return .again
        }
        if timer.isOver {
            _ = end(timer, .completed)
            return .completes
        }
        if catchesUp, repeats > 0, !timers.isClosing(timer) {
            repeats -= 1
            put(timer, in: .awaitsDeadline, at: timer.nextDeadline)
            return .waits(.leave)
        }
        return .waits(enqueue(timer))
    }

    /// Ends a look, once what was due has been delivered: the alarm is set to the deadline that is the earliest by
    /// then. Setting it only now keeps the system call, which is dear right after a wake-up, out of the lateness.
    package mutating func endLook() -> AlarmOrder {
        (look, repeats) = (nil, 0)
        settle(atMost: Self.portion)
        // An alarm that goes on, but not with the next deadline, would fire for nothing.
        if armedPeriod > 0, armed != nextLook {
            (armed, armedPeriod) = (.max, 0)
            if nextLook == nil { return .disarm }
        }
        return orderIfEarlier()
    }

    /// How many nanoseconds after the next deadline, and after each later one, another follows; nil if that is not known,
    /// or not so. An alarm that is set to the next deadline may go on from there by itself.
    package var periodFromNext: UInt64? {
        deadlines.firstInstant < looks.firstInstant ? deadlines.first?.timer.wholePeriod : nil
    }

    /// The alarm goes on by itself from the deadline that it was set to.
    package mutating func alarmGoesOn(every period: UInt64) { armedPeriod = period }

    /// Moves timers that would come out first, but were postponed, to where they belong: so that the alarm does not fire
    /// for them. O(log n) for each.
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

    // MARK: The end of all

    /// The alarm is stopped: no timer that is there now ticks any more, and each is to be ended. Constant time.
    package mutating func close() {
        timers.close()
        (armed, armedPeriod) = (.max, 0)
        (look, repeats) = (nil, 0)
    }

    /// One of the timers that are still to be ended after ``close()``.
    package var closing: TimerEntry? { timers.closing > 0 ? timers[timers.closing - 1] : nil }

    // MARK: The queues and the alarm

    /// Queues a waiting timer where its next deadline belongs.
    private mutating func enqueue(_ timer: TimerEntry) -> AlarmOrder {
        place(timer, comesOut: false)
        return orderIfEarlier()
    }

    /// Puts a timer where it belongs by its next deadline; one that is in delivery stays there. What comes out of a queue
    /// and is due has its turn in this look, by its deadline. What is not in a queue yet, and due, waits for the next look.
    private mutating func place(_ timer: TimerEntry, comesOut: Bool) {
        if timer.isInDelivery { return }
        let (deadline, nextLook) = (timer.nextDeadline, timer.nextLook)
        if deadline == .max || timer.isPaused || timers.isClosing(timer) { return dequeue(timer) }
        let isDue = look.map { nextLook <= $0 } ?? false
        let (queue, instant): (TimerEntry.Whereabouts, UInt64) =
            (isDue ? comesOut : nextLook == deadline) ? (.awaitsDeadline, deadline) : (.awaitsLook, nextLook)
        if comesOut || timer.whereabouts != queue { return put(timer, in: queue, at: instant) }
        // It is in that queue, and is only ever moved forward there.
        if queue == .awaitsDeadline { deadlines.hasten(timer, to: instant) } else { looks.hasten(timer, to: instant) }
    }

    /// Puts a timer into a queue, out of the one that it is in.
    private mutating func put(_ timer: TimerEntry, in queue: TimerEntry.Whereabouts, at instant: UInt64) {
        dequeue(timer)
        timer.whereabouts = queue
        if queue == .awaitsDeadline { deadlines.push(timer, at: instant) } else { looks.push(timer, at: instant) }
    }

    private mutating func dequeue(_ timer: TimerEntry) {
        switch timer.whereabouts {
        case .awaitsDeadline: deadlines.remove(timer)
        case .awaitsLook: looks.remove(timer)
        case .rests, .onItsWay, .runs: return
        }
        timer.whereabouts = .rests
    }

    private mutating func takeSequence() -> UInt64 {
        defer { nextSequence += 1 }
        return nextSequence
    }

    private mutating func orderIfEarlier() -> AlarmOrder {
        defer { checkInvariants() }
        guard look == nil, let next = nextLook, next < armed else { return .leave }
        armed = next
        armedPeriod = 0
        return .set(next)
    }
}
