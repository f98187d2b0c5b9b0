import PreciseTimer
import Synchronization
import TimerAlarms
import TimerKernel

/// One timer under observation: checks every tick against the promises.
final class Subject: Sendable {
    /// The operations performed on the timer, which decide how it may end.
    struct Deeds: OptionSet {
        let rawValue: Int
        static let cancelled = Deeds(rawValue: 1)
        static let targetReleased = Deeds(rawValue: 2)
        static let handleReleased = Deeds(rawValue: 4)
    }

    private struct State {
        var epoch: Epoch
        var delay: UInt64
        /// The last schedules before this one, the newest last.
        var formers: [Former] = []
        var deeds: Deeds = []
        var isRunning = false
        /// Whether the running handler is for an extra tick.
        var isExtra = false
        var mustBeSilent = false
        var hasEnded = false
        var isPaused: Bool
        var targetReleasedAt: UInt64?
    }

    /// A schedule that was replaced.
    private struct Former {
        var epoch: Epoch
        /// How many of its ticks may still arrive.
        var allowance: Int
    }

    /// How many former schedules are remembered. A thread that stands still between the decision on a tick and its
    /// handler may meet several new schedules.
    private static let formers = 8

    let name: String
    let tally: Tally
    private let fate: ServiceFate
    private let state: Lock<State>

    init(_ name: String, _ timing: Timing, isPaused: Bool, fate: ServiceFate, _ tally: Tally) {
        self.name = name
        self.fate = fate
        self.tally = tally
        state = Lock(State(epoch: timing.epoch, delay: timing.delay, isPaused: isPaused))
    }

    // MARK: Calls from the timer

    /// Notes that a handler begins. That of an extra tick takes some time, so that other ticks meet it.
    func begin(_ tick: PreciseTimer.Tick) {
        tally.begun.add(1)
        let now = tick.deadline.clock.now
        if tick.delivered < tick.deadline || tick.woke < tick.deadline || (now < tick.deadline && now.clock != .wall) {
            tally.violate("never early", "\(name): \(tick) at \(now)")
        }
        let wrong: (String, String)? = state.withLock { state in
            defer { state.isRunning = true }
            state.isExtra = false
            if state.isRunning { return ("one handler at a time", "\(name): \(tick)") }
            if state.hasEnded { return ("no tick after onEnd", "\(name): \(tick)") }
            if state.mustBeSilent { return ("no tick after cancelAndWait", "\(name): \(tick)") }
            return account(for: tick, &state)
        }
        if let (promise, detail) = wrong { tally.violate(promise, detail) }
        if state.withLock({ $0.isExtra }) { KernelClock.sleep(for: .microseconds(100)) }
    }

    private func account(for tick: PreciseTimer.Tick, _ state: inout State) -> (String, String)? {
        switch state.epoch.accept(tick) {
        case .onGrid:
            tally.ticks.add(1)
            tally.missed.add(Int(clamping: tick.missed))
            return nil
        case .extra:
            tally.extraTicks.add(1)
            state.isExtra = true
            return nil
        case .foreign(let why):
            // This handler had begun when the timer was rescheduled.
            for place in state.formers.indices.reversed() where state.formers[place].allowance > 0 {
                var former = state.formers[place]
                if case .onGrid = former.epoch.accept(tick) {
                    former.allowance -= 1
                    state.formers[place] = former
                    tally.ticks.add(1)
                    return nil
                }
                if former.epoch.mayBeFired { return nil }
            }
            return ("no deadline is lost or invented", "\(name): \(why): \(tick)")
        }
    }

    /// Notes that a handler returns. A fixed delay counts from now, unless the call says otherwise.
    func end(_ tick: PreciseTimer.Tick, delayCountsFrom start: TimerInstant? = nil) {
        let now = (start ?? tick.deadline.clock.now).nanoseconds
        let wasRunning = state.withLock { state in
            defer { state.isRunning = false }
            state.epoch.handlerReturned(at: now, delay: state.delay)
            return state.isRunning
        }
        if !wasRunning { tally.violate("one handler at a time", "\(name) returned twice") }
        tally.returned.add(1)
    }

    /// Notes a call of `onEnd`.
    func ended(_ reason: PreciseTimer.EndReason) {
        tally.noteEnd("\(reason)".split(separator: "(").first.map(String.init) ?? "")
        let (isFirst, isRunning, deeds, isSingle) = state.withLock { state in
            defer { state.hasEnded = true }
            // The schedule that ends may be the former one, while a call gives the timer another.
            let epochs = [state.epoch] + state.formers.filter { $0.allowance == .max }.map(\.epoch)
            let isSingle = epochs.contains { if case .once = $0.rhythm { true } else { false } }
            return (!state.hasEnded, state.isRunning, state.deeds, isSingle)
        }
        if !isFirst { tally.violate("one ending", "\(name) ended again: \(reason)") }
        if isRunning { tally.violate("onEnd after the handler", "\(name): \(reason)") }
        let isPlausible =
            switch reason {
            case .completed: isSingle
            case .cancelled: deeds.contains(.cancelled)
            case .targetReleased: deeds.contains(.targetReleased)
            case .handleReleased: deeds.contains(.handleReleased)
            case .serviceShutDown: fate.isShutDown
            default: false
            }
        if !isPlausible { tally.violate("a plausible reason", "\(name): \(reason) after deeds \(deeds.rawValue)") }
    }

    // MARK: Operations on the timer

    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    var isPaused: Bool {
        get { state.withLock { $0.isPaused } }
        set { state.withLock { $0.isPaused = newValue } }
    }

    /// Notes an operation that is about to happen.
    func note(_ deed: Deeds) {
        let now = TimerClock.suspending.now.nanoseconds
        state.withLock { state in
            state.deeds.insert(deed)
            if deed == .targetReleased { state.targetReleasedAt = now }
        }
    }

    /// Notes that `cancelAndWait` has returned.
    func cancelledAndWaited() {
        let isRunning = state.withLock { state in
            state.mustBeSilent = true
            return state.isRunning
        }
        if isRunning { tally.violate("cancelAndWait waits for the handler", name) }
    }

    /// Whether an extra tick may be requested. If so, one is expected from now on.
    func mayFire() -> Bool {
        state.withLock { state in
            guard state.epoch.knowsItsGrid else { return false }
            state.epoch.mayBeFired = true
            return true
        }
    }

    /// Changes the schedule by a call that may be refused because the timer has ended.
    func reschedule(_ timing: Timing, _ call: () throws(TimerError) -> Void) {
        let before = state.withLock { state in
            let before = (state.epoch, state.delay)
            // Any number of old ticks may come until the call returns.
            state.formers = (state.formers + [Former(epoch: state.epoch, allowance: .max)]).suffix(Self.formers)
            var epoch = timing.epoch
            epoch.mayBeFired = state.epoch.mayBeFired
            (state.epoch, state.delay) = (epoch, timing.delay)
            return before
        }
        do throws(TimerError) {
            try call()
            state.withLock { $0.formers[$0.formers.count - 1].allowance = 1 }
        } catch {
            state.withLock { state in
                (state.epoch, state.delay) = before
                state.formers.removeLast()
            }
            if error.code != .timerEnded {
                tally.violate("a reschedule that makes sense is accepted", "\(name): \(error)")
            }
        }
    }

    /// The broken promise if a deadline before an instant has not been delivered, or if a target that was released
    /// before a limit has not been noticed.
    func lack(asOf instant: UInt64, released limit: UInt64) -> (promise: String, detail: String)? {
        state.withLock { state in
            if state.hasEnded { return nil }
            if let released = state.targetReleasedAt {
                let detail = "\(name): released at \(released), and now is \(limit)"
                return released >= limit ? nil : ("a dead target is found within seconds", detail)
            }
            if state.isPaused || !state.deeds.isEmpty { return nil }
            guard let next = state.epoch.nextDeadline, next < instant else { return nil }
            return ("no deadline is lost", "\(name): deadline \(next) of index \(state.epoch.next) by \(instant)")
        }
    }
}

/// Whether a service has been shut down. For objects that must not keep the service alive.
final class ServiceFate: Sendable {
    private let flag = Atomic(false)

    var isShutDown: Bool {
        get { flag.load(ordering: .sequentiallyConsistent) }
        set { flag.store(newValue, ordering: .sequentiallyConsistent) }
    }
}

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
        let length = UInt64.random(in: isFast ? 10_000_000...50_000_000 : 300_000_000...5_000_000_000, using: &random)
        let (period, start) = (Duration.nanoseconds(Int64(length)), now.nanoseconds)
        let rhythm: Epoch.Rhythm
        var (delay, earliest, origin): (UInt64, UInt64, UInt64?) = (0, start + length, nil)
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
        if nextDeadline.map({ deadline != $0 }) ?? (deadline < earliest) {
            if mayBeFired, tick.missed == 0 { return .extra }
            let expected = nextDeadline.map { "not \($0)" } ?? "none is before \(earliest)"
            return .foreign("deadline \(deadline) of index \(next), and \(expected)")
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
        if tick.missed > 0, let last = self.deadline(next - 1), last > tick.delivered.nanoseconds {
            return .foreign("a deadline at \(last) was missed before it came")
        }
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
