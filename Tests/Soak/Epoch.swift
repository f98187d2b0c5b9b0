import PreciseTimer

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
        next += 1 + tick.missed
        if policy == .skip, let following = nextDeadline, following <= tick.woke.nanoseconds {
            return .foreign("a late tick left a deadline at \(following) that had passed")
        }
        return .onGrid
    }

    /// Notes that the handler has returned.
    mutating func handlerReturned(at now: UInt64, delay: UInt64) {
        if case .afterReturn = rhythm { earliest = now + delay }
    }
}
