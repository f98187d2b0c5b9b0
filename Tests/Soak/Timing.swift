import PreciseTimer

/// A random schedule, and its expected ticks.
struct Timing {
    let schedule: PreciseTimer.Schedule
    let policy: PreciseTimer.MissedTickPolicy
    let epoch: Epoch
    /// The delay of a fixed delay, in nanoseconds.
    let delay: UInt64

    /// A schedule counted from `now`; one in a hundred is fast. Later schedules of a timer keep its policy.
    init(
        now: TimerInstant,
        policy: PreciseTimer.MissedTickPolicy,
        mayEnd: Bool,
        mayRest: Bool = false,
        _ random: inout some RandomNumberGenerator
    ) {
        let isFast = Int.random(in: 0..<100, using: &random) == 0
        let nanoseconds: Int64 =
            isFast
            ? .random(in: 10_000_000...50_000_000, using: &random)
            : .random(in: 300_000_000...5_000_000_000, using: &random)
        let length = UInt64(nanoseconds)
        let period = Duration.nanoseconds(nanoseconds)
        let start = now.nanoseconds
        var delay: UInt64 = 0
        let rhythm: Epoch.Rhythm
        var (earliest, origin): (UInt64, UInt64?) = (start + length, nil)
        switch Int.random(in: (mayEnd ? 0 : 2)..<(mayRest ? 9 : 8), using: &random) {
        case 0: (schedule, rhythm) = (.once(after: period), .once)
        case 1: (schedule, rhythm) = (.once(at: now.advanced(by: period)), .once)
        case 2: (schedule, rhythm) = (.every(period), .steps(count: 1, length: length))
        case 3:
            (schedule, rhythm) = (.every(period, after: period / 2), .steps(count: 1, length: length))
            earliest = start + length / 2
        case 4, 5:
            (schedule, rhythm) = (.every(period, at: now.advanced(by: period)), .steps(count: 1, length: length))
            origin = start
        case 6:
            (schedule, rhythm) = (.rate(3, per: period * 3 + .nanoseconds(1)), .steps(count: 3, length: length * 3 + 1))
        case 7:
            (schedule, rhythm) = (.fixedDelay(period), .afterReturn)
            delay = length
        default:
            (schedule, rhythm) = (.onDemand, .rest)
            earliest = .max
        }
        self.policy = policy
        self.delay = delay
        epoch = Epoch(rhythm, earliest: earliest, origin: origin, policy: policy)
    }

    static func randomPolicy(_ random: inout some RandomNumberGenerator) -> PreciseTimer.MissedTickPolicy {
        [.skip, .catchUp(limit: 3), .delay].randomElement(using: &random) ?? .skip
    }
}

/// The promises of one schedule about its ticks, from the schedule to the next reschedule. Instants are nanoseconds.
///
/// A schedule counted from the call has an unknown origin; its first tick on the grid reveals it. From then on, each
/// deadline is known by its index.
struct Epoch {
    enum Rhythm {
        case once
        /// `count` steps take `length` nanoseconds.
        case steps(count: UInt64, length: UInt64)
        case afterReturn
        /// No deadline, until the timer is rescheduled.
        case rest
    }

    /// The relation of a tick to its epoch.
    enum Verdict {
        case onGrid
        /// A tick requested with `fire()`.
        case extra
        case foreign(String)
    }

    let rhythm: Rhythm
    private let policy: PreciseTimer.MissedTickPolicy
    /// The earliest possible next deadline.
    private var earliest: UInt64
    /// The index that the next tick on the grid must have.
    private(set) var next: UInt64 = 0
    /// An instant, and the index of the deadline one step after it.
    private var origin: (instant: UInt64, index: UInt64)?
    /// Whether extra ticks may come.
    var mayBeFired = false

    init(_ rhythm: Rhythm, earliest: UInt64, origin: UInt64?, policy: PreciseTimer.MissedTickPolicy) {
        self.rhythm = rhythm
        self.earliest = earliest
        self.policy = policy
        self.origin = origin.map { ($0, 0) }
    }

    /// Whether extra ticks from `fire()` can be distinguished from ticks on the grid.
    var knowsItsGrid: Bool { origin != nil && policy != .delay }

    /// The next deadline to deliver; nil if it is not known.
    var nextDeadline: UInt64? { deadline(next) }

    private func deadline(_ index: UInt64) -> UInt64? {
        guard case .steps(let count, let length) = rhythm, let origin else { return nil }
        return origin.instant + ((index - origin.index + 1) * length + count - 1) / count
    }

    /// Accepts a tick, if it belongs to this epoch.
    mutating func accept(_ tick: PreciseTimer.Tick) -> Verdict {
        let deadline = tick.deadline.nanoseconds
        guard tick.index == next else { return .foreign("index \(tick.index), and \(next) was next") }
        if let known = nextDeadline {
            if deadline != known {
                return mayBeFired && tick.missed == 0
                    ? .extra : .foreign("deadline \(deadline) of index \(next), and not \(known)")
            }
        } else if deadline < earliest {
            return mayBeFired && tick.missed == 0
                ? .extra : .foreign("deadline \(deadline), and none is before \(earliest)")
        }
        switch rhythm {
        case .rest: return .foreign("a tick of a timer that rests")
        case .once:
            if next > 0 || tick.missed > 0 { return .foreign("a second tick, or missed ones, of a single deadline") }
        case .afterReturn:
            if tick.missed > 0 { return .foreign("a fixed delay missed \(tick.missed)") }
        case .steps(let count, let length):
            if policy == .delay, tick.missed > 0 {
                origin = nil
                earliest = tick.woke.nanoseconds + length / count
            } else if origin == nil {
                // The first step of a rate is rounded up from a whole number of nanoseconds.
                origin = (deadline - (length + count - 1) / count, next)
            }
        }
        next += 1 + UInt64(tick.missed)
        if policy == .skip, let following = nextDeadline, following <= tick.woke.nanoseconds {
            return .foreign("a late tick left a deadline at \(following) that had passed")
        }
        return .onGrid
    }

    /// Notes that the handler has returned. Before the first tick of this epoch, it was called in the former one.
    mutating func handlerReturned(at now: UInt64, delay: UInt64) {
        if case .afterReturn = rhythm, next > 0 { earliest = now + delay }
    }
}
