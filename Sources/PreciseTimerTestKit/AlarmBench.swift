internal import PreciseTimer
internal import TimerAlarms

/// One started alarm under observation: sets it as a service does, and notes what it does.
final class AlarmBench: Sendable {
    private struct State {
        /// The deadline that is to be fired for.
        var deadline: TimerInstant?
        /// Whether a firing at or after the deadline has begun.
        var hasFired = false
        /// Firings since the last `forget`.
        var firings = 0
        /// Firings that are running.
        var running = 0
        /// The thread that is inside `set`.
        var settingThread: ThreadID?
        /// How long to stay in a firing.
        var stay = Duration.zero
        var stopsInside = false
        var violations: [String] = []
    }

    let alarm: any TimerAlarm
    private let elapse: @Sendable (any TimerAlarm, Duration) -> Void
    private let patience: Duration
    private let state = Lock(State())
    /// Held while the alarm is set, as a service holds its own; counts the settings. (Around a state without a size the
    /// thread sanitizer takes the lock's object for its state.)
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

    /// What the alarm did wrong.
    var violations: [String] { state.withLock { $0.violations } }

    /// How often it fired since the last `forget`.
    var firings: Int { state.withLock { $0.firings } }

    func report(_ violation: String) { state.withLock { $0.violations.append(violation) } }

    /// Sets the alarm to so long after its now.
    func set(in delay: Duration) throws(TimerError) { try set(alarm.now.advanced(by: delay)) }

    func set(_ deadline: TimerInstant) throws(TimerError) {
        try setAlarm { state in
            state.deadline = deadline
            state.hasFired = false
        }
    }

    func disarm() throws(TimerError) { try setAlarm { $0.deadline = nil } }

    /// Forgets the firings so far.
    func forget() { state.withLock { $0.firings = 0 } }

    /// Makes each firing last.
    func stayInFirings(for duration: Duration) { state.withLock { $0.stay = duration } }

    /// Says whether firings stop the alarm.
    func stopInsideFiring(_ stops: Bool) { state.withLock { $0.stopsInside = stops } }

    /// Lets the alarm's time pass.
    func `let`(pass duration: Duration) { elapse(alarm, duration) }

    /// What ends a check: an alarm that does not fire cannot be checked any further.
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

    /// Expects no more than one firing, which may be for nothing.
    func expectQuiet(orElse violation: String) {
        forget()
        elapse(alarm, .milliseconds(30))
        if firings > 1 { report(violation) }
    }

    /// Changes what is to be fired for, and sets the alarm to it.
    private func setAlarm(_ change: (inout State) -> Void) throws(TimerError) {
        try setting.withLock { settings throws(TimerError) in
            settings += 1
            let deadline = state.withLock { state in
                change(&state)
                state.settingThread = .current
                return state.hasFired ? nil : state.deadline
            }
            defer { state.withLock { $0.settingThread = nil } }
            try alarm.set(deadline)
        }
    }

    private func fired() {
        let now = alarm.now
        let seen = state.withLock { state in
            state.firings += 1
            state.running += 1
            if state.running > 1 { state.violations.append("two firings ran at once") }
            if let deadline = state.deadline, deadline <= now { state.hasFired = true }
            return state
        }
        if seen.settingThread == .current {
            report("the alarm fired inside set")
        } else {
            if seen.stay > .zero { KernelClock.sleep(for: seen.stay) }
            if seen.stopsInside {
                alarm.stop()
                // Which must not take the stop back.
                try? disarm()
            }
            // Fired early, which is allowed: set it again, as a service does.
            if !seen.hasFired, seen.deadline != nil { try? setAlarm { _ in } }
        }
        state.withLock { $0.running -= 1 }
    }
}
