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
    let fate: ServiceFate
    private let tally: Tally
    private let state: Lock<State>

    init(_ name: String, _ timing: Timing, isPaused: Bool, fate: ServiceFate, _ tally: Tally) {
        self.name = name
        self.fate = fate
        self.tally = tally
        state = Lock(State(epoch: timing.epoch, delay: timing.delay, isPaused: isPaused))
    }

    // MARK: Calls from the timer

    /// Notes that a handler begins.
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

    /// The handler of an extra tick takes some time, so that other ticks meet it.
    func work() { if state.withLock({ $0.isExtra }) { KernelClock.sleep(for: .microseconds(100)) } }

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

    /// Whether all deadlines before an instant have been delivered, and whether a target released before a limit has
    /// been noticed. If not, and `noting` is true, this is a violation.
    func isSettled(asOf instant: UInt64, released limit: UInt64, noting: Bool) -> Bool {
        let wrong: (String, String)? = state.withLock { state in
            if state.hasEnded { return nil }
            if let released = state.targetReleasedAt {
                if released >= limit { return nil }
                return (
                    "a dead target is found within seconds", "\(name): released at \(released), and now is \(limit)"
                )
            }
            if state.isPaused || !state.deeds.isEmpty { return nil }
            guard let next = state.epoch.nextDeadline, next < instant else { return nil }
            return ("no deadline is lost", "\(name): deadline \(next) of index \(state.epoch.next) by \(instant)")
        }
        if noting, let (promise, detail) = wrong { tally.violate(promise, detail) }
        return wrong == nil
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
