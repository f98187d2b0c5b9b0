package import PreciseTimer
internal import TimerAlarms
internal import TimerKernel

/// An alarm with its own clock. Both move only when a test moves them, and fail when a test injects a fault.
package final class VirtualAlarm: SteppingAlarm {
    private struct State {
        /// The time on the alarm's clock.
        var now: TimerInstant
        /// Nanoseconds that have passed, regardless of steps of the clock.
        var elapsed: UInt64 = 0
        /// The sum of the steps of the clock, and of the suspensions in which it went on, in nanoseconds.
        var steps: Int64 = 0
        /// When the service next sweeps for released targets.
        var nextSweep: UInt64 = 1_000_000_000
        var deadline: TimerInstant?
        /// The sum of the steps since the deadline came: it stays so, as in a kernel.
        var stepsSinceDeadline = Duration.zero
        /// Nanoseconds from the deadline to the next one; nil without a repetition.
        var period: UInt64?
        var onFire: (@Sendable () -> Void)?
        /// The thread that is firing.
        var firing: ThreadID?
        /// The faults to come, with their times, in order.
        var faults: [(elapsed: UInt64, fault: VirtualTime.Fault)] = []
        /// How late the next firing will be; negative if it will be early.
        var wakeError = Duration.zero
        var isStopped = false
        /// Is called for steps of the clock and of suspensions.
        var watchers: [Watcher] = []

        /// Lets time pass.
        mutating func pass(_ nanoseconds: UInt64) {
            now = now.advanced(by: Duration(wholeNanoseconds: nanoseconds))
            elapsed = elapsed.addingReportingOverflow(nanoseconds).overflow ? .max : elapsed + nanoseconds
        }

        /// Keeps the setting that a firing leaves: no deadline, or the first instant of the repetition that is still
        /// to come.
        mutating func useUpDeadline() {
            stepsSinceDeadline = .zero
            guard let period, let deadline else {
                self.deadline = nil
                return
            }
            // An early firing changes nothing.
            guard deadline <= now else { return }
            let passed = (now.nanoseconds - deadline.nanoseconds) / period * period
            self.deadline = deadline.moved(by: passed).moved(by: period)
        }

        /// The time until the alarm fires, in nanoseconds; nil if it is not set.
        var untilFiring: UInt64? { timeToFiring.map { UInt64(clamping: $0) } }

        /// The same, which is negative if the time to fire has passed.
        private var timeToFiring: Int128? {
            guard onFire != nil, let deadline, !deadline.isNever else { return nil }
            return (now.duration(to: deadline) + stepsSinceDeadline + wakeError).exactNanoseconds
        }

        /// The next event up to an end, in the order of time. If a handler moved time past the end, the events before
        /// the end are still to come.
        func next(until end: UInt64) -> Event? {
            let fault = faults.first.map { ($0.elapsed, Event.fault) }.flatMap { $0.0 <= end ? $0 : nil }
            guard let time = timeToFiring, Int128(elapsed) + time <= end else { return fault?.1 }
            // A fault whose time has passed comes first.
            return fault.flatMap { $0.0 <= elapsed || $0.0 - elapsed <= time ? .fault : nil } ?? .firing
        }
    }

    /// One watcher of the clock.
    private final class Watcher: Sendable {
        let onCheck: @Sendable (ClockChanges) -> Void
        let onEnd: @Sendable () -> Void

        init(_ onCheck: @escaping @Sendable (ClockChanges) -> Void, _ onEnd: @escaping @Sendable () -> Void) {
            (self.onCheck, self.onEnd) = (onCheck, onEnd)
        }
    }

    private enum Event { case fault, firing }

    private let state: Lock<State>

    /// Without a start, time begins one second after the clock's origin. A wall clock then shows the year 2026, so that
    /// it can be set back.
    package convenience init(clock: TimerClock = .suspending) {
        let seconds: UInt64 = clock == .wall ? 1_767_225_600 : 1
        self.init(at: TimerInstant(nanoseconds: seconds * 1_000_000_000, clock: clock))
    }

    package init(at start: TimerInstant) { state = Lock(State(now: start)) }

    package var now: TimerInstant { state.withLock { $0.now } }

    package var steps: Int64 { state.withLock { $0.steps } }

    package func start(onFire: @escaping @Sendable () -> Void, onFailure: @escaping @Sendable (TimerError) -> Void) {
        state.withLock { $0.onFire = onFire }
    }

    package func set(_ deadline: TimerInstant?) {
        state.withLock { state in
            (state.deadline, state.stepsSinceDeadline, state.period) = (deadline, .zero, nil)
        }
    }

    package func set(_ first: TimerInstant, every period: UInt64) -> Bool {
        state.withLock { state in
            (state.deadline, state.stepsSinceDeadline, state.period) = (first, .zero, period > 0 ? period : nil)
        }
        return period > 0
    }

    package func watchClock(
        _ onCheck: @escaping @Sendable (ClockChanges) -> Void,
        onEnd: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void {
        let watcher = Watcher(onCheck, onEnd)
        let isStopped = state.withLock { state in
            if !state.isStopped { state.watchers.append(watcher) }
            return state.isStopped
        }
        if isStopped { onEnd() }
        return { [weak self] in
            let remaining = self?.state
                .withLock { state in
                    let all = state.watchers
                    state.watchers.removeAll { $0 === watcher }
                    return all
                }
            // The watcher is released outside the lock.
            withExtendedLifetime(remaining) {}
        }
    }

    package func stop() {
        let (onFire, watchers) = state.withLock { state in
            state.isStopped = true
            defer { state.watchers = [] }
            return (state.onFire.take(), state.watchers)
        }
        for watcher in watchers { watcher.onEnd() }
        // Released outside the lock.
        withExtendedLifetime(onFire) {}
    }

    /// Whether a second has passed since this last returned true.
    package func isTimeToSweep() -> Bool {
        state.withLock { state in
            guard state.elapsed >= state.nextSweep else { return false }
            let (next, overflow) = state.elapsed.addingReportingOverflow(1_000_000_000)
            state.nextSweep = overflow ? .max : next
            return true
        }
    }

    /// Injects a fault after a length of time.
    package func inject(_ fault: VirtualTime.Fault, after delay: Duration) {
        state.withLock { state in
            let (sum, overflow) = state.elapsed.addingReportingOverflow(UInt64(clamping: delay.exactNanoseconds))
            let at = overflow ? .max : sum
            let place = state.faults.firstIndex { $0.elapsed > at } ?? state.faults.endIndex
            state.faults.insert((at, fault), at: place)
        }
    }

    /// Lets time pass, and fires at every deadline on the way. From inside a firing it only lets time pass.
    package func advance(by duration: Duration) {
        guard var end = begin(duration) else { return }
        while step(until: &end) {}
        arrive(at: end)
    }

    /// Begins an advance: its end, for `step` and `arrive`. Inside a firing time only passes, and the result is nil.
    package func begin(_ duration: Duration) -> UInt64? {
        let nanoseconds = UInt64(clamping: duration.exactNanoseconds)
        let isInside = isInsideFiring
        return state.withLock { state in
            if isInside { state.pass(nanoseconds) }
            let (end, overflow) = state.elapsed.addingReportingOverflow(nanoseconds)
            return isInside ? nil : overflow ? .max : end
        }
    }

    /// The instant at which the next step fires; nil if it does not fire.
    package func nextFiring(until end: UInt64) -> TimerInstant? {
        state.withLock { state in
            guard case .firing = state.next(until: end), let wait = state.untilFiring else { return nil }
            return state.now.moved(by: wait)
        }
    }

    /// Moves time to the next firing or fault up to the end, which a stall may put off; false if there is none.
    package func step(until end: inout UInt64) -> Bool {
        switch state.withLock({ $0.next(until: end) }) {
        case .fault: end = max(end, nextFaultHappens())
        case .firing: fire()
        case nil: return false
        }
        return true
    }

    /// Moves time to the end.
    package func arrive(at end: UInt64) { state.withLock { $0.pass($0.elapsed < end ? end - $0.elapsed : 0) } }

    /// Lets time pass in one step, and then fires for the deadlines that have passed. From inside a firing it only
    /// lets time pass.
    package func jump(by duration: Duration) {
        let isInside = isInsideFiring
        state.withLock { $0.pass(UInt64(clamping: duration.exactNanoseconds)) }
        if !isInside { advance(by: .zero) }
    }

    /// Whether any thread is in a firing.
    package var isFiring: Bool { state.withLock { $0.firing != nil } }

    /// Whether the calling thread is in a firing, in which time only passes.
    package var isInsideFiring: Bool {
        guard let thread = state.withLock({ $0.firing }) else { return false }
        precondition(thread == .current, "virtual time was moved by two threads at once")
        return true
    }

    /// Performs the next fault, and returns when it is over.
    private func nextFaultHappens() -> UInt64 {
        let (end, changes, watchers) = state.withLock { state in
            var changes: ClockChanges?
            // Another thread may have injected an earlier one.
            let (elapsed, fault) = state.faults.removeFirst()
            state.pass(elapsed - min(state.elapsed, elapsed))
            switch fault {
            case .wakeLate(let delay): state.wakeError += delay
            case .wakeEarly(let lead): state.wakeError -= lead
            case .stall(let length): state.pass(UInt64(clamping: length.exactNanoseconds))
            case .stepClock(let step):
                if let deadline = state.deadline, state.now.duration(to: deadline) + state.stepsSinceDeadline <= .zero {
                    state.stepsSinceDeadline += step
                }
                state.now = state.now.advanced(by: step)
                state.steps &+= Int64(clamping: step.exactNanoseconds)
                changes = ClockChanges(step: step)
            case .suspend(let length):
                // The suspending clock stands still.
                if state.now.clock != .suspending {
                    state.pass(UInt64(clamping: length.exactNanoseconds))
                    state.steps &+= Int64(clamping: length.exactNanoseconds)
                }
                changes = ClockChanges(suspension: length)
            }
            return (state.elapsed, changes, state.watchers)
        }
        if let changes { for watcher in watchers { watcher.onCheck(changes) } }
        return end
    }

    /// Moves time to the firing and fires, which uses up the deadline.
    private func fire() {
        let onFire = state.withLock { state in
            state.pass(state.untilFiring ?? 0)
            state.wakeError = .zero
            state.useUpDeadline()
            state.firing = .current
            return state.onFire
        }
        onFire?()
        state.withLock { $0.firing = nil }
    }
}
