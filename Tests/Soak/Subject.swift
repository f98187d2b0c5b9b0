import PreciseTimer
import TestSupport
import TimerKernel

/// One timer under observation: each of its deadlines must have a tick, or be counted as missed.
final class Subject: Sendable {
    private struct State {
        var epoch: Epoch
        /// The schedules before this one, the newest last. A thread that stands still between the decision on a tick
        /// and its handler may meet several new schedules.
        var formers: [Epoch] = []
        var isRunning = false
        var hasEnded = false
        var isPaused: Bool
        /// Whether somebody ends it.
        var isDoomed = false
    }

    private let name: String
    private let tally: Tally
    private let state: Lock<State>

    init(_ name: String, _ timing: Timing, isPaused: Bool, _ tally: Tally) {
        (self.name, self.tally) = (name, tally)
        state = Lock(State(epoch: timing.epoch, isPaused: isPaused))
    }

    // MARK: Calls from the timer

    /// Notes that a handler begins.
    func begin(_ tick: PreciseTimer.Tick) {
        tally.begun.add(1)
        let now = tick.deadline.clock.now
        if tick.flawInTime != nil || (now < tick.deadline && now.clock != .wall) {
            tally.violate("never early", "\(name): \(tick) at \(now)")
        }
        let wrong: (promise: String, detail: String)? = state.withLock { state in
            defer { state.isRunning = true }
            if state.isRunning { return ("one handler at a time", "") }
            if state.hasEnded { return ("no tick after onEnd", "") }
            if tick.isExtra { return tick.missed == 0 ? nil : ("an extra tick misses nothing", "") }
            guard let flaw = state.epoch.accept(tick) else { return nil }
            for place in state.formers.indices.reversed() {
                if state.formers[place].accept(tick) == nil { return nil }
            }
            return ("no deadline is lost or invented", flaw)
        }
        if let wrong { tally.violate(wrong.promise, "\(name): \(wrong.detail): \(tick)") }
        if tick.isExtra {
            tally.extraTicks.add(1)
            return
        }
        tally.ticks.add(1)
        tally.missed.add(Int(clamping: tick.missed))
    }

    /// Notes that a handler returns. A fixed delay counts from now, unless the call says otherwise.
    func end(_ tick: PreciseTimer.Tick, delayCountsFrom start: TimerInstant? = nil) {
        let now = (start ?? tick.deadline.clock.now).nanoseconds
        state.withLock { state in
            state.isRunning = false
            if !tick.isExtra { state.epoch.handlerReturned(at: now) }
        }
        tally.returned.add(1)
    }

    /// Notes a call of `onEnd`.
    func ended(_ reason: PreciseTimer.EndReason) {
        tally.ended.add(1)
        let (isFirst, isRunning) = state.withLock { state in
            defer { state.hasEnded = true }
            return (!state.hasEnded, state.isRunning)
        }
        if !isFirst { tally.violate("one ending", "\(name) ended again: \(reason)") }
        if isRunning { tally.violate("onEnd after the handler", "\(name): \(reason)") }
        if case .backendFailed = reason { tally.violate("no backend fails", "\(name): \(reason)") }
    }

    // MARK: Operations on the timer

    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    func pause(_ isPaused: Bool) { state.withLock { $0.isPaused = isPaused } }

    func doom() { state.withLock { $0.isDoomed = true } }

    /// Notes a schedule that the timer is about to get.
    func reschedule(_ timing: Timing) {
        state.withLock { state in
            state.formers = (state.formers + [state.epoch]).suffix(8)
            state.epoch = timing.epoch
        }
    }

    /// The deadline before an instant that has not been delivered.
    func lack(asOf instant: UInt64) -> String? {
        state.withLock { state in
            if state.hasEnded || state.isDoomed || state.isPaused { return nil }
            guard let next = state.epoch.nextDeadline, next < instant else { return nil }
            return "\(name): deadline \(next) of index \(state.epoch.next) by \(instant)"
        }
    }
}

/// A random schedule, and its expected ticks.
struct Timing {
    let schedule: PreciseTimer.Schedule
    let policy: PreciseTimer.MissedTickPolicy
    let epoch: Epoch

    /// A schedule that begins now; one in a hundred is fast. Later schedules of a timer keep its policy.
    init(now: TimerInstant, policy: PreciseTimer.MissedTickPolicy, _ random: inout some RandomNumberGenerator) {
        let isFast = Int.random(in: 0..<100, using: &random) == 0
        let length = UInt64.random(in: isFast ? 10_000_000...50_000_000 : 300_000_000...5_000_000_000, using: &random)
        let period = Duration.nanoseconds(Int64(length))
        let (first, one) = (now.advanced(by: period), Epoch.Rhythm.steps(count: 1, length: length))
        let rhythm: Epoch.Rhythm
        var isKnown = true
        switch Int.random(in: 0..<8, using: &random) {
        case 0: (schedule, rhythm) = (.once(at: first), .once)
        case 1, 2: (schedule, rhythm) = (.every(period, at: first), one)
        case 3, 4: (schedule, rhythm, isKnown) = (.every(period), one, false)
        case 5:
            let length = length * 3 + 1
            let rate = PreciseTimer.Schedule.rate(3, per: .nanoseconds(Int64(length)), at: first)
            (schedule, rhythm) = (rate, .steps(count: 3, length: length))
        case 6: (schedule, rhythm, isKnown) = (.fixedDelay(period), .afterReturn(length), false)
        default: (schedule, rhythm) = (.onDemand, .rest)
        }
        self.policy = policy
        epoch = Epoch(rhythm, policy, earliest: first.nanoseconds, isKnown: isKnown)
    }

    static func randomPolicy(_ random: inout some RandomNumberGenerator) -> PreciseTimer.MissedTickPolicy {
        [.skip, .catchUp(limit: 3), .delay].randomElement(using: &random) ?? .skip
    }
}

/// The deadlines of one schedule, each known by its number. Instants are nanoseconds.
///
/// A schedule that counts from the call has an unknown origin. Its first tick reveals it.
struct Epoch {
    enum Rhythm {
        case once
        /// `count` steps take `length` nanoseconds.
        case steps(count: UInt64, length: UInt64)
        case afterReturn(UInt64)
        /// No deadline, until the timer is rescheduled.
        case rest
    }

    private let rhythm: Rhythm
    private let policy: PreciseTimer.MissedTickPolicy
    /// The earliest possible next deadline.
    private var earliest: UInt64
    /// The number that the next tick must have.
    private(set) var next: UInt64 = 0
    /// The instant of step 0, if it is known, and the number of the deadline there.
    private var origin: UInt64?
    private var first: UInt64 = 0

    init(_ rhythm: Rhythm, _ policy: PreciseTimer.MissedTickPolicy, earliest: UInt64, isKnown: Bool) {
        (self.rhythm, self.policy, self.earliest) = (rhythm, policy, earliest)
        if isKnown { origin = earliest }
    }

    /// The next deadline to deliver; nil if it is not known.
    var nextDeadline: UInt64? {
        guard let origin else { return nil }
        switch rhythm {
        case .once: return next == 0 ? origin : nil
        case .steps(let count, let length): return origin + ((next - first) * length + count - 1) / count
        case .afterReturn, .rest: return nil
        }
    }

    /// Goes on after a tick of this epoch. Returns what is wrong with the tick, if it is none.
    mutating func accept(_ tick: PreciseTimer.Tick) -> String? {
        let (deadline, missed) = (tick.deadline.nanoseconds, UInt64(tick.missed))
        if tick.index != next { return "\(next) was next" }
        if nextDeadline.map({ deadline != $0 }) ?? (deadline < earliest) {
            return nextDeadline.map { "the next was at \($0)" } ?? "none is before \(earliest)"
        }
        guard case .steps(let count, let length) = rhythm else {
            let isRight =
                if case .rest = rhythm { false } else { missed == 0 && (nextDeadline != nil || origin == nil) }
            if isRight { next += 1 }
            return isRight ? nil : "no such deadline"
        }
        if policy == .delay, missed > 0 {
            // The grid begins anew with this tick, one step before the next.
            (origin, earliest) = (nil, tick.woke.nanoseconds + length / count)
            next += 1 + missed
            return nil
        }
        if origin == nil {
            // The first step of a rate is rounded up to a whole number of nanoseconds.
            (origin, first) = next == 0 ? (deadline, 0) : (deadline - (length + count - 1) / count, next - 1)
        }
        next += missed
        let latest = nextDeadline ?? 0
        next += 1
        if missed > 0, latest > tick.delivered.nanoseconds { return "missed before it came" }
        if policy == .skip, let nextDeadline, nextDeadline <= tick.woke.nanoseconds { return "passed, but not missed" }
        return nil
    }

    /// Notes that the handler has returned. Before the first tick of this epoch, it was called in the former one.
    mutating func handlerReturned(at now: UInt64) {
        if case .afterReturn(let delay) = rhythm, next > 0 { earliest = now + delay }
    }
}
