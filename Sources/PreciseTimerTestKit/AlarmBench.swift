internal import PreciseTimer
internal import TimerAlarms
internal import TimerKernel

/// One started alarm under test. Sets it as a service does, and records its firings.
final class AlarmBench: Sendable {
    private struct State {
        /// The deadline that the alarm must fire for; in a repetition, the first deadline without a firing.
        var deadline: TimerInstant?
        /// Nanoseconds from each deadline of a repetition to the next.
        var period: UInt64?
        /// Whether a firing has begun at or after the deadline, or at or after the first deadline of a repetition.
        var hasFired = false
        /// Firings that found a deadline of the repetition due.
        var dueFirings = 0
        /// Firings since the last `forget`.
        var firings = 0
        /// Firings that are running.
        var running = 0
        /// The thread that is inside `set`.
        var settingThread: ThreadID?
        /// How long each firing lasts.
        var stay = Duration.zero
        var stopsInside = false
        /// An action for the next firing, which performs it once.
        var action: (@Sendable () -> Void)?
        var violations: [String] = []

        /// Records a firing for the deadlines at or before now.
        mutating func fire(at now: TimerInstant) {
            guard let due = deadline, due <= now else { return }
            hasFired = true
            guard let period else { return }
            dueFirings += 1
            deadline = due.moved(by: (now.nanoseconds - due.nanoseconds) / period * period).moved(by: period)
        }
    }

    let alarm: any TimerAlarm
    private let elapse: @Sendable (any TimerAlarm, Duration) -> Void
    private let patience: Duration
    private let state = Lock(State())
    /// Held while the alarm is set, as a service holds its own lock; counts the settings. (If the state had no size,
    /// the thread sanitizer would confuse the state with the lock's object.)
    private let setting = Lock(0)

    /// Starts a new alarm.
    init(_ conformance: AlarmConformance) throws {
        alarm = try conformance.makeAlarm()
        elapse = conformance.elapse
        patience = conformance.patience
        try alarm.start(
            onFire: { [weak self] in self?.fired() },
            onFailure: { [weak self] in self?.report("the alarm failed: \($0)") }
        )
    }

    /// The alarm's violations of the contract.
    var violations: [String] { state.withLock { $0.violations } }

    /// The number of firings since the last `forget`.
    var firings: Int { state.withLock { $0.firings } }

    /// The number of firings that found a deadline due since the alarm was set to the repetition.
    var dueFirings: Int { state.withLock { $0.dueFirings } }

    func report(_ violation: String) { state.withLock { $0.violations.append(violation) } }

    /// Sets the alarm to a deadline this long after its current time.
    func set(in delay: Duration) throws(TimerError) { try set(alarm.now.advanced(by: delay)) }

    func set(_ deadline: TimerInstant) throws(TimerError) {
        try setAlarm { state in
            state.deadline = deadline
            state.period = nil
            state.hasFired = false
        }
    }

    func disarm() throws(TimerError) {
        try setAlarm { state in
            state.deadline = nil
            state.period = nil
        }
    }

    /// Sets the alarm to a repetition. Returns whether it repeats by itself; if not, it is set to the
    /// first deadline.
    func set(_ first: TimerInstant, every period: Duration) throws(TimerError) -> Bool {
        let period = UInt64(period.nanosecondsRoundedUp)
        return try setting.withLock { settings throws(TimerError) in
            settings += 1
            state.withLock { state in
                state.deadline = first
                state.period = period
                state.hasFired = false
                state.dueFirings = 0
                state.settingThread = .current
            }
            defer { state.withLock { $0.settingThread = nil } }
            let goesOn = try alarm.set(first, every: period)
            if !goesOn {
                state.withLock { state in
                    state.period = nil
                    if state.hasFired { state.deadline = nil }
                }
            }
            return goesOn
        }
    }

    /// Forgets the firings so far.
    func forget() { state.withLock { $0.firings = 0 } }

    /// Makes each firing last this long.
    func stayInFirings(for duration: Duration) { state.withLock { $0.stay = duration } }

    /// Makes the next firing perform an action once.
    func doInsideFiring(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.action = action } }

    /// Whether a firing has performed the action.
    var hasActed: Bool { state.withLock { $0.action == nil } }

    /// Sets whether firings stop the alarm.
    func stopInsideFiring(_ stops: Bool) { state.withLock { $0.stopsInside = stops } }

    /// Lets the alarm's time pass.
    func `let`(pass duration: Duration) { elapse(alarm, duration) }

    /// Ends a check: an alarm that does not fire cannot be checked further.
    struct Silence: Error {
        let violation: String
    }

    /// Waits for a firing at or after the deadline.
    func expectFiring(orElse violation: String) throws(Silence) {
        try expect(orElse: violation) { state.withLock { $0.hasFired } }
    }

    /// Waits for a condition.
    func expect(orElse violation: String, _ condition: () -> Bool) throws(Silence) {
        let step = Duration.milliseconds(1)
        for _ in 0..<max(1, Int(patience / step)) {
            if condition() { return }
            elapse(alarm, step)
        }
        throw Silence(violation: violation)
    }

    /// Expects at most one firing, which may be needless.
    func expectQuiet(orElse violation: String) {
        forget()
        elapse(alarm, .milliseconds(30))
        if firings > 1 { report(violation) }
    }

    /// Changes the expected deadlines, and sets the alarm accordingly.
    private func setAlarm(_ change: (inout State) -> Void) throws(TimerError) {
        try applySetting { state in
            change(&state)
            return .some(state.hasFired ? nil : state.deadline)
        }
    }

    /// Sets the alarm again after an early firing, as a service does. A repetition continues without this.
    private func setAgain() throws(TimerError) {
        try applySetting { state in
            guard state.period == nil, !state.hasFired, let deadline = state.deadline else { return nil }
            return .some(deadline)
        }
    }

    /// Sets the alarm to the result of `decide`, unless `decide` returns nil.
    private func applySetting(_ decide: (inout State) -> TimerInstant??) throws(TimerError) {
        try setting.withLock { settings throws(TimerError) in
            settings += 1
            let deadline = state.withLock { state in
                state.settingThread = .current
                return decide(&state)
            }
            defer { state.withLock { $0.settingThread = nil } }
            if let deadline { try alarm.set(deadline) }
        }
    }

    private func fired() {
        let now = alarm.now
        let seen = state.withLock { state in
            state.firings += 1
            state.running += 1
            if state.running > 1 { state.violations.append("two firings ran at once") }
            state.fire(at: now)
            return state
        }
        if seen.settingThread == .current {
            report("the alarm fired inside set")
        } else {
            if let action = seen.action {
                action()
                state.withLock { $0.action = nil }
            }
            if seen.stay > .zero { KernelClock.sleep(for: seen.stay) }
            if seen.stopsInside {
                alarm.stop()
                // This must not undo the stop.
                try? disarm()
            }
            // The alarm fired early, which is allowed.
            if !seen.hasFired, seen.deadline != nil { try? setAgain() }
        }
        state.withLock { $0.running -= 1 }
    }
}
