/// Decides what is due, what comes next, and what the alarm must be set to. A pure state machine over numbers.
///
/// A timer is in the queue exactly while its next deadline is to be waited for (``TimerEntry/isWaiting``). When that has
/// come, ``expire(at:into:)`` takes the timer out and claims it for delivery; ``begin(_:at:)`` decides on its tick when
/// the handler is about to be called; and ``finish(_:lookedAt:now:)`` puts it back when the handler has returned. What
/// has come due in between is found then: that is how a paused timer, a slow handler, a busy queue and a slow consumer
/// all get one late tick with the right count.
///
/// The caller reads the clock and sets the alarm: each method that can make an earlier deadline the earliest answers
/// with an ``AlarmOrder`` that is to be carried out before anything else is asked. From ``expire(at:into:)`` to
/// ``finishFiring()`` there are no orders: the alarm, which never fires twice at once, could not fire anyway.
package struct Scheduler: Sendable {
    /// What is to be done with the alarm.
    package enum AlarmOrder: Hashable, Sendable {
        /// It is set early enough.
        case leave
        /// Set it to a deadline.
        case set(TimerInstant)
    }

    /// What a timer does after a delivery.
    package enum Sequel: Hashable, Sendable {
        /// It waits for its next deadline, or rests until it is resumed.
        case waits(AlarmOrder)
        /// Another of its late deadlines is to be delivered in the same look.
        case again(Claim)
        /// That was its last deadline: it has ended.
        case completes
        /// It had ended before.
        case hasEnded
    }

    private var table = TimerTable()
    private var queue = DeadlineQueue()
    /// The clock that all instants are of.
    package let clock: TimerClock
    /// How many timers have not ended.
    package private(set) var count = 0
    /// What the alarm is set to, as far as has been ordered. Never later than the earliest deadline.
    private var armed: TimerInstant?
    /// Whether the alarm is firing, and going to be set at the end of it.
    private var isFiring = false

    /// A scheduler without timers, all of whose instants are of one clock.
    package init(clock: TimerClock = .suspending) { self.clock = clock }

    /// How many slots have ever been in use at once: every slot's position is below.
    package var slotCapacity: Int { table.capacity }

    /// When the earliest timer is to be looked at; nil where no deadline will come. Constant time.
    package var nextLook: TimerInstant? {
        guard let first = queue.first, first.nanoseconds != .max else { return nil }
        return TimerInstant(nanoseconds: first.nanoseconds, clock: clock)
    }

    /// The instant that the alarm is set to, if that has come. A firing uses the setting up. Constant time.
    package func overdue(at now: TimerInstant) -> TimerInstant? { armed.flatMap { $0 <= now ? $0 : nil } }

    /// What is known of a slot's timer. Constant time.
    package subscript(slot: Slot) -> TimerEntry? { table[slot] }

    /// What is known of a timer, until it is forgotten. Constant time.
    package subscript(timer: TimerID) -> TimerEntry? { table[timer] }

    /// The timers that have not ended, in the order of their slots. O(n).
    package var pending: [TimerEntry] {
        (0..<table.capacity).compactMap { table[Slot($0)] }.filter { !$0.hasEnded }
    }

    // MARK: What callers ask for

    /// Takes a timer in. O(log n).
    package mutating func add(
        _ grid: Grid,
        policy: LatePolicy = .skip,
        tolerance: UInt64 = 0,
        isPaused: Bool = false
    ) -> (timer: TimerID, alarm: AlarmOrder) {
        let timer = table.insert {
            TimerEntry(id: $0, grid: grid, policy: policy, tolerance: tolerance, isPaused: isPaused)
        }
        count += 1
        return (timer, enqueue(timer.slot))
    }

    /// Ends a timer: it has no tick any more, and is known until it is forgotten. False where it had ended. The alarm is
    /// left alone: a spare firing is cheaper than a system call per cancel. O(log n).
    package mutating func end(_ timer: TimerID) -> Bool {
        guard table.isLive(timer) else { return false }
        table.change(timer.slot) { $0.hasEnded = true }
        _ = queue.remove(timer.slot)
        count -= 1
        checkInvariants()
        return true
    }

    /// Frees the slot of a timer that has ended and is not in delivery. Constant time.
    package mutating func forget(_ timer: TimerID) {
        assert(table[timer].map { $0.hasEnded && !$0.isInDelivery } ?? true, "only what is over can be forgotten")
        _ = table.remove(timer)
    }

    /// The firing, and what the alarm was set to, are of an alarm that is stopped now. To be called once all timers have
    /// ended.
    package mutating func alarmStopped() {
        assert(count == 0, "without an alarm no timer can go on")
        armed = nil
        isFiring = false
    }

    /// Holds back all ticks until the timer is resumed; its grid stays. False where it was paused or had ended. O(log n).
    package mutating func pause(_ timer: TimerID) -> Bool {
        guard table.isLive(timer), setPaused(timer, true) else { return false }
        _ = queue.remove(timer.slot)
        checkInvariants()
        return true
    }

    /// Lets a paused timer go on: what has passed meanwhile is due at once. Nil where it was not paused. O(log n).
    package mutating func resume(_ timer: TimerID) -> AlarmOrder? {
        guard table.isLive(timer), setPaused(timer, false) else { return nil }
        return enqueue(timer.slot)
    }

    /// False where it is so already.
    private mutating func setPaused(_ timer: TimerID, _ isPaused: Bool) -> Bool {
        table.change(timer.slot) { entry in
            defer { entry.isPaused = isPaused }
            return entry.isPaused != isPaused
        }
    }

    /// Starts a timer anew on another grid, as the last among equal deadlines; its ticks that are on their way are void.
    /// Nil where it had ended. O(log n).
    package mutating func reschedule(_ timer: TimerID, on grid: Grid) -> AlarmOrder? {
        guard table.isLive(timer) else { return nil }
        let sequence = table.takeNumber()
        table.change(timer.slot) { $0.restart(on: grid, sequence: sequence) }
        return enqueue(timer.slot)
    }

    /// Asks for an extra tick, which leaves the grid alone. Until it has begun, more of them are the same one, of the
    /// earliest instant: a wall clock may have been stepped back. Nil where the timer had ended. O(log n).
    package mutating func fire(_ timer: TimerID, at now: TimerInstant) -> AlarmOrder? {
        guard table.isLive(timer) else { return nil }
        table.change(timer.slot) { $0.extra = min($0.extra ?? now, now) }
        return enqueue(timer.slot)
    }

    // MARK: From deadline to tick

    /// Takes out the timers that are due and claims them for delivery, in order of deadline and then of scheduling.
    ///
    /// To be called when the alarm fires, which uses up its setting. O(k log n) for k due timers, however many
    /// deadlines each of them has missed.
    package mutating func expire(at now: TimerInstant, into claims: inout [Claim]) {
        isFiring = true
        armed = nil
        var isInOrder = true
        while let first = queue.first, first.nanoseconds <= now.nanoseconds, first.nanoseconds != .max {
            _ = queue.popFirst()
            let claim = table.change(first.slot) { $0.claim() }
            if let last = claims.last, claim.precedes(last) { isInOrder = false }
            claims.append(claim)
        }
        // With tolerances the queue's order is that of the looks.
        if !isInOrder { claims.sort { $0.precedes($1) } }
        checkInvariants()
    }

    /// The tick of a claimed timer, by what has passed at `now`. Nil where it must not tick: it has ended, is paused, or
    /// was rescheduled since. To be followed by ``finish(_:lookedAt:now:)`` in either case.
    package mutating func begin(_ claim: Claim, at now: TimerInstant) -> Due? {
        guard table.isLive(claim.timer) else { return nil }
        return table.change(claim.timer.slot) { entry in
            entry.sequence == claim.sequence && !entry.isPaused ? entry.takeTick(at: now) : nil
        }
    }

    /// Ends a delivery, whose tick was decided on as of `look`; `now` is read only if it counts. If no other late deadline
    /// may be delivered in this look, a timer that catches up goes on in the next one, together with all timers that are due
    /// by then. O(log n).
    package mutating func finish(
        _ claim: Claim,
        lookedAt look: TimerInstant,
        mayRepeat: Bool = true,
        now: @autoclosure () -> TimerInstant
    ) -> Sequel {
        guard table.contains(claim.timer) else { preconditionFailure("a timer in delivery is not forgotten") }
        let slot = claim.timer.slot
        let (hasEnded, again, hasDeadline) = table.change(slot) { entry in
            if entry.awaitsReturn { entry.handlerReturned(at: now()) }
            let next = entry.sequence == claim.sequence ? entry.claimAgain(lookedAt: look) : nil
            if next == nil { entry.burst = 0 }
            let again = mayRepeat ? next : nil
            entry.isInDelivery = again != nil
            return (entry.hasEnded, again, entry.nextDeadline != nil)
        }
        if hasEnded { return .hasEnded }
        if let again { return .again(again) }
        guard hasDeadline else {
            _ = end(claim.timer)
            return .completes
        }
        return .waits(enqueue(slot))
    }

    /// Ends a firing, once what was due has been delivered: the alarm is set to the deadline that is the earliest by
    /// then. Setting it only now keeps the system call, which is dear right after a wake-up, out of the lateness.
    package mutating func finishFiring() -> AlarmOrder {
        isFiring = false
        return orderIfEarlier()
    }

    // MARK: The queue and the alarm

    /// Queues a waiting timer where its next look belongs.
    private mutating func enqueue(_ slot: Slot) -> AlarmOrder {
        let place = table.change(slot) { entry in
            entry.isWaiting ? entry.nextLook.map { ($0.nanoseconds, entry.sequence) } : nil
        }
        if let (nanoseconds, sequence) = place {
            if !queue.move(slot, to: nanoseconds, sequence: sequence) {
                queue.push(slot, at: nanoseconds, sequence: sequence)
            }
        }
        return orderIfEarlier()
    }

    private mutating func orderIfEarlier() -> AlarmOrder {
        defer { checkInvariants() }
        guard !isFiring, let next = nextLook, armed.map({ next < $0 }) ?? true else { return .leave }
        armed = next
        return .set(next)
    }

    /// What is wrong inside, or between the table, the queue and the alarm; or nil. O(n).
    package var brokenInvariant: String? {
        if let broken = queue.brokenInvariant { return broken }
        if !isFiring, let next = nextLook, armed.map({ $0 > next }) ?? true { return "the alarm is set too late" }
        for position in 0..<table.capacity {
            let slot = Slot(position)
            let isWaiting = table[slot]?.isWaiting ?? false
            if queue.contains(slot) != isWaiting { return "slot \(position) is queued or waits, but not both" }
        }
        return nil
    }

    private func checkInvariants() {
        assert(table.capacity > 64 || brokenInvariant == nil, brokenInvariant ?? "")
    }
}
