internal import PreciseTimer

/// The ticks of one timer in one turn, and the count that they must add up to.
struct Recording: Hashable, Sendable {
    /// One call to a handler, or one turn of a bare loop.
    struct Arrival: Hashable, Sendable {
        /// The index of the deadline.
        var index: UInt64
        /// The deadline as the ticking mechanism gives it.
        var deadline: TimerInstant
        /// The number of later deadlines that had passed and get no tick of their own.
        var missed: UInt64
        /// The reading of the clock on the alarm's thread.
        var woke: TimerInstant
        /// The reading of the clock at the handler. A reading between `woke` and this one decided `missed`.
        var delivered: TimerInstant
    }

    /// How to find the deadline of a call that does not name it.
    enum Counting: Hashable, Sendable {
        /// The call is for the oldest deadline without a tick, and later ones that have passed are missed: for a
        /// mechanism that leaves out deadlines that it could not meet.
        case deadlines
        /// The call is for the deadline of the same number: for a loop that catches up. Enough calls miss nothing.
        case calls
    }

    let deadlines: Deadlines
    /// The number of deadlines that complete the recording.
    let goal: UInt64
    /// Room for all ticks, touched before the first tick: recording allocates nothing.
    private var storage: [Sample]
    /// The number of recorded ticks.
    private(set) var ticks = 0
    /// The number of deadlines without a tick.
    private(set) var missed: UInt64 = 0
    /// The number of ticks that came before their deadline.
    private(set) var early = 0
    /// The number of ticks that were not for the next deadline of the grid.
    private(set) var misplaced = 0
    /// The last tick.
    private(set) var last: Arrival?

    /// An empty recording that is complete after `goal` deadlines.
    init(of deadlines: Deadlines, goal: UInt64) {
        self.deadlines = deadlines
        self.goal = goal
        storage = Array(repeating: Sample(index: 0, lateness: 0, wakeLateness: 0, missed: 0), count: Int(goal))
    }

    /// The ticks in their order.
    var samples: ArraySlice<Sample> { storage[..<ticks] }

    /// The number of deadlines that the ticks account for.
    var accounted: UInt64 { UInt64(ticks) + missed }

    /// Whether enough deadlines are accounted for.
    var isComplete: Bool { accounted >= goal }

    /// Adds a tick, unless the recording is complete. Constant time, allocates nothing.
    mutating func record(_ arrival: Arrival) {
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

    /// Adds a tick of a mechanism that does not name its deadline. Constant time, allocates nothing.
    mutating func record(at now: TimerInstant, _ counting: Counting) {
        let index = accounted
        let next =
            switch counting {
            case .deadlines: deadlines.passed(at: now)
            case .calls: index + 1
            }
        record(
            Arrival(
                index: index,
                deadline: deadlines[index],
                // A call before its deadline must show in the results, and not overflow here.
                missed: max(next, index + 1) - index - 1,
                woke: now,
                delivered: now
            )
        )
    }

    /// The same ticks with a known change, as if the handler had read the clock later.
    func changed(by planted: Planted, _ random: inout SplitMix64) -> Recording {
        var other = self
        for place in 0..<ticks {
            let lateness = Double(storage[place].lateness) * planted.factor
            let isHit = Double.random(in: 0..<1, using: &random) < planted.share
            other.storage[place].lateness = Int64(lateness) + (isHit ? Int64(planted.delay) : 0)
        }
        return other
    }

    /// The number of deadlines that had passed when the last tick was decided, by division rather than by counting
    /// ticks. A tick that hops is decided on its arrival. So the number lies between those at the wake-up and at the
    /// handler.
    var passed: ClosedRange<UInt64> {
        guard let last else { return 0...0 }
        let atWake = deadlines.passed(at: last.woke)
        return atWake...max(atWake, deadlines.passed(at: last.delivered))
    }

    /// The broken promise of the mechanism, in one line; nil if there is none.
    var problem: String? {
        if early > 0 { return "\(early) of \(ticks) ticks came before their deadline" }
        if misplaced > 0 { return "\(misplaced) of \(ticks) ticks were not for the next deadline of the grid" }
        guard passed.contains(accounted) else {
            let count = passed.count == 1 ? "\(passed.lowerBound)" : "\(passed.lowerBound) to \(passed.upperBound)"
            return "\(ticks) ticks + \(missed) missed are not the \(count) deadlines passed"
        }
        return nil
    }
}

/// The record of one tick.
struct Sample: Hashable, Sendable {
    /// The index of the deadline.
    var index: UInt64
    /// Nanoseconds from the deadline to the handler; negative for an early tick.
    var lateness: Int64
    /// Nanoseconds from the deadline to the reading of the clock on the alarm's thread.
    var wakeLateness: Int64
    /// The number of later deadlines that got no tick of their own.
    var missed: UInt64

    /// Nanoseconds from the alarm's thread to the handler, which may be on another thread.
    var hopLateness: Int64 { lateness &- wakeLateness }
}

/// The expected deadlines of a measurement: start + index × period. This is written again rather than taken from the
/// library, so that the two check each other.
struct Deadlines: Hashable, Sendable {
    /// Deadline 0.
    let start: TimerInstant
    /// Nanoseconds between two deadlines, at least 1.
    let period: UInt64

    /// Those of some timers whose deadlines are spread over the period.
    static func spread(_ timers: UInt64, from start: TimerInstant, _ period: Duration) -> [Deadlines] {
        // No overflow: each timer has at least ten deadlines in a day, and all together have at most 10^7.
        (0..<timers)
            .map { Deadlines(start: start.advanced(by: period * $0 / timers), period: period.wholeNanoseconds) }
    }

    /// The time between two deadlines.
    var step: Duration { .nanoseconds(Int64(clamping: period)) }

    /// The deadline with an index.
    subscript(index: UInt64) -> TimerInstant {
        TimerInstant(nanoseconds: start.nanoseconds + index * period, clock: start.clock)
    }

    /// The number of deadlines that have passed at an instant of the same clock.
    func passed(at now: TimerInstant) -> UInt64 {
        now.nanoseconds < start.nanoseconds ? 0 : (now.nanoseconds - start.nanoseconds) / period + 1
    }
}

/// A change of a row that is known, so that a verdict on it can be checked: `timerfd#2=1.1` makes it later by a tenth,
/// and `libevent=+800us/3%` makes 3 % of its ticks later by 800 µs.
package struct Planted: Hashable, Sendable {
    let row: String
    private(set) var factor = 1.0
    private(set) var delay: UInt64 = 0
    private(set) var share = 0.0

    package static func parse(_ text: String) throws(Failure) -> Planted {
        let parts = text.split(separator: "=").map(String.init)
        guard parts.count == 2 else {
            throw .invalid("write a row and a change, as in timerfd#2=1.1 or timerfd=+800us/3%")
        }
        var planted = Planted(row: parts[0])
        let tail = parts[1].dropFirst().split(separator: "/").map(String.init)
        if parts[1].hasPrefix("+"), tail.count == 2, tail[1].hasSuffix("%"), let percent = Double(tail[1].dropLast()) {
            planted.delay = try DurationText.parse(tail[0]).wholeNanoseconds
            planted.share = percent / 100
        } else if let factor = Double(parts[1]), (0.001...1000).contains(factor) {
            planted.factor = factor
        } else {
            throw .invalid("write a factor, as in timerfd#2=1.1, or a delay and a share, as in timerfd=+800us/3%")
        }
        return planted
    }
}
