/// Decides what is due, what comes next, and what the alarm must be set to. A pure state machine over numbers.
///
/// The caller reads the clock and sets the alarm: each method that can make an earlier deadline the earliest answers
/// with an ``AlarmOrder`` that is to be carried out before anything else is asked. From ``expire(at:into:)`` to
/// ``finishFiring()`` there are no orders: the alarm, which never fires twice at once, could not fire anyway.
package struct Scheduler: Sendable {
    /// What is to be done with the alarm.
    package enum AlarmOrder: Hashable, Sendable {
        /// It is set early enough.
        case leave
        /// Set it to a deadline, or disarm it.
        case set(TimerInstant?)
    }

    private var table = TimerTable()
    private var queue = DeadlineQueue()
    private let clock: TimerClock
    /// What the alarm is set to, as far as has been ordered. Never later than the earliest deadline.
    private var armed: TimerInstant?
    /// Whether the alarm is firing, and going to be set at the end of it.
    private var isFiring = false

    /// A scheduler without timers, all of whose instants are of one clock.
    package init(clock: TimerClock = .suspending) { self.clock = clock }

    /// How many timers have not ended.
    package var count: Int { table.count }

    /// How many slots have ever been in use at once: every slot's position is below.
    package var slotCapacity: Int { table.capacity }

    /// The earliest deadline of all; nil where there is none that will come. Constant time.
    package var nextDeadline: TimerInstant? {
        guard let first = queue.first, first.nanoseconds != .max else { return nil }
        return TimerInstant(nanoseconds: first.nanoseconds, clock: clock)
    }

    /// Takes a timer in. O(log n).
    package mutating func add(_ grid: Grid) -> (timer: TimerID, alarm: AlarmOrder) {
        let timer = table.insert(grid)
        queue.push(timer.slot, at: grid.start.nanoseconds, sequence: timer.generation)
        return (timer, orderIfEarlier())
    }

    /// Forgets a timer; false where it had ended. The alarm is left alone: a spare firing is cheaper than a system
    /// call per cancel. O(log n).
    package mutating func remove(_ timer: TimerID) -> Bool {
        guard table.remove(timer) else { return false }
        _ = queue.remove(timer.slot)
        checkInvariants()
        return true
    }

    /// Forgets all timers; their ids stay stale for ever. The alarm is left alone. O(n).
    package mutating func removeAll() {
        table.removeAll()
        queue = DeadlineQueue()
        armed = nil
        isFiring = false
    }

    /// Starts a timer anew on another grid, keeping its place among equal deadlines; nil where it had ended. O(log n).
    package mutating func reschedule(_ timer: TimerID, on grid: Grid) -> AlarmOrder? {
        guard table.replaceGrid(of: timer, with: grid) else { return nil }
        if !queue.move(timer.slot, to: grid.start.nanoseconds, sequence: timer.generation) {
            queue.push(timer.slot, at: grid.start.nanoseconds, sequence: timer.generation)
        }
        return orderIfEarlier()
    }

    /// Takes out what is due, in order of deadline and then of scheduling, and puts each repeating timer back on the
    /// first deadline of its grid that is still to come. A timer whose last deadline this was stays known until it is
    /// removed or rescheduled.
    ///
    /// To be called when the alarm fires, which uses up its setting. O(k log n) for k due timers, however many
    /// deadlines each of them has missed.
    package mutating func expire(at now: TimerInstant, into due: inout [Due]) {
        isFiring = true
        armed = nil
        while let first = queue.first, first.nanoseconds <= now.nanoseconds, first.nanoseconds != .max {
            due.append(takeTick(of: first.slot, at: now))
        }
        checkInvariants()
    }

    /// Ends a firing, once what was due has been delivered: the alarm is set to the deadline that is the earliest by
    /// then. Setting it only now keeps the system call, which is dear right after a wake-up, out of the lateness.
    package mutating func finishFiring() -> AlarmOrder {
        isFiring = false
        armed = nextDeadline
        checkInvariants()
        return .set(armed)
    }

    /// The tick of a slot whose oldest deadline has passed. The policy is `.skip`: one tick with the oldest deadline,
    /// the later ones counted as missed.
    private mutating func takeTick(of slot: Slot, at now: TimerInstant) -> Due {
        guard let entry = table[slot], let deadline = entry.grid.deadline(entry.nextIndex) else {
            preconditionFailure("a queued slot has an entry with a deadline to come")
        }
        let latest = entry.grid.latestIndex(at: now)
        let (nextIndex, isPastTheEnd) = latest.addingReportingOverflow(1)
        let next = isPastTheEnd ? .never(on: clock) : entry.grid.deadline(nextIndex)
        if let next {
            table.update(slot, nextIndex: nextIndex)
            _ = queue.move(slot, to: next.nanoseconds, sequence: entry.generation)
        } else {
            _ = queue.popFirst()
        }
        return Due(
            timer: TimerID(slot: slot, generation: entry.generation),
            index: entry.nextIndex,
            deadline: deadline,
            missed: latest - entry.nextIndex,
            isLast: next == nil
        )
    }

    private mutating func orderIfEarlier() -> AlarmOrder {
        defer { checkInvariants() }
        guard !isFiring, let next = nextDeadline, armed.map({ next < $0 }) ?? true else { return .leave }
        armed = next
        return .set(next)
    }

    /// What is wrong inside, or between the table, the queue and the alarm; or nil. O(n).
    package var brokenInvariant: String? {
        if let broken = queue.brokenInvariant { return broken }
        if !isFiring, let next = nextDeadline, armed.map({ $0 > next }) ?? true { return "the alarm is set too late" }
        for position in 0..<table.capacity where queue.contains(Slot(position)) && table[Slot(position)] == nil {
            return "slot \(position) is queued and free"
        }
        return nil
    }

    private func checkInvariants() {
        assert(table.capacity > 64 || brokenInvariant == nil, brokenInvariant ?? "")
    }
}
