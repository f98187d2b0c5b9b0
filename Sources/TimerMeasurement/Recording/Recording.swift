package import TimerCore

/// The ticks of one timer in one turn, and the count that they must add up to.
package struct Recording: Hashable, Sendable {
    /// One call to a handler, or one turn of a reference's loop.
    package struct Arrival: Hashable, Sendable {
        /// The number of the deadline that it is for.
        package var index: UInt64
        /// That deadline, as the one who ticks has it.
        package var deadline: TimerInstant
        /// How many later deadlines had passed and get no tick of their own.
        package var missed: UInt64
        /// The reading of the clock on the alarm's thread.
        package var woke: TimerInstant
        /// The reading of the clock at the handler. `missed` was found by one from `woke` to this.
        package var delivered: TimerInstant

        package init(index: UInt64, deadline: TimerInstant, missed: UInt64, woke: TimerInstant, delivered: TimerInstant)
        {
            self.index = index
            self.deadline = deadline
            self.missed = missed
            self.woke = woke
            self.delivered = delivered
        }
    }

    /// Which deadline a call stands for, where the one who calls does not say.
    package enum Counting: Hashable, Sendable {
        /// The oldest that had no tick yet; the later ones that have passed are missed. So a mechanism that keeps to its
        /// grid and leaves out what it could not meet.
        case deadlines
        /// The one of the same number: what is called often enough misses nothing, however late. So a loop that makes up
        /// for what is late, or never notices.
        case calls
        /// So many of the oldest, as the one who calls says how many times it was due since its call before.
        case fires(UInt64)
    }

    /// The deadlines that were to be met.
    package let deadlines: Deadlines
    /// How many of them end the recording.
    package let goal: UInt64
    /// Room for every tick that there can be, all of it touched before the first: recording allocates nothing.
    private var storage: [Sample]
    /// How many ticks were recorded.
    package private(set) var ticks = 0
    /// How many deadlines got no tick.
    package private(set) var missed: UInt64 = 0
    /// How many ticks came before their deadline.
    package private(set) var early = 0
    /// How many ticks were not for the next deadline of the grid.
    package private(set) var misplaced = 0
    /// The last tick.
    package private(set) var last: Arrival?

    /// An empty recording that is complete after `goal` deadlines.
    package init(of deadlines: Deadlines, goal: UInt64) {
        self.deadlines = deadlines
        self.goal = goal
        storage = Array(repeating: Sample(index: 0, lateness: 0, wakeLateness: 0, missed: 0), count: Int(goal))
    }

    /// The ticks in their order.
    package var samples: ArraySlice<Sample> { storage[..<ticks] }

    /// How many deadlines the ticks account for.
    package var accounted: UInt64 { UInt64(ticks) + missed }

    /// Whether enough deadlines are accounted for.
    package var isComplete: Bool { accounted >= goal }

    /// Takes a tick in; what comes after the recording is complete is left out. Constant time, allocates nothing.
    package mutating func record(_ arrival: Arrival) {
        guard !isComplete else { return }
        let deadline = deadlines[arrival.index]
        let lateness = Int64(bitPattern: arrival.delivered.nanoseconds &- deadline.nanoseconds)
        if arrival.index != accounted || arrival.deadline != deadline { misplaced += 1 }
        if lateness < 0 { early += 1 }
        storage[ticks] = Sample(
            index: arrival.index,
            lateness: lateness,
            wakeLateness: Int64(bitPattern: arrival.woke.nanoseconds &- deadline.nanoseconds),
            missed: arrival.missed
        )
        ticks += 1
        missed += arrival.missed
        last = arrival
    }

    /// Takes in a tick of somebody who only calls. Constant time, allocates nothing.
    package mutating func record(at now: TimerInstant, _ counting: Counting) {
        let index = accounted
        let next =
            switch counting {
            case .deadlines: deadlines.passed(at: now)
            case .calls: index + 1
            case .fires(let count): index.addingReportingOverflow(count).partialValue
            }
        record(
            // A call before its deadline is to be seen in the results, not to upset the arithmetic.
            Arrival(
                index: index,
                deadline: deadlines[index],
                missed: max(next, index + 1) - index - 1,
                woke: now,
                delivered: now
            )
        )
    }

    /// How many deadlines had passed when the last tick was decided on, by division, without counting ticks. A tick that
    /// hops is decided on where it arrives, so it is from when the alarm woke to when the handler was called.
    package var passed: ClosedRange<UInt64> {
        guard let last else { return 0...0 }
        let atWake = deadlines.passed(at: last.woke)
        return atWake...max(atWake, deadlines.passed(at: last.delivered))
    }

    /// What must never be, in one line; nil where all is well.
    package var fault: String? {
        if early > 0 { return "\(early) of \(ticks) ticks came before their deadline" }
        if misplaced > 0 { return "\(misplaced) of \(ticks) ticks were not for the next deadline of the grid" }
        guard passed.contains(accounted) else {
            let count = passed.count == 1 ? "\(passed.lowerBound)" : "\(passed.lowerBound) to \(passed.upperBound)"
            return "\(ticks) ticks + \(missed) missed are not the \(count) deadlines passed"
        }
        return nil
    }
}
