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
