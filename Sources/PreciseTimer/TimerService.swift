internal import TimerAlarms

/// A running backend: one alarm, with the deadlines and deliveries of any number of timers.
///
/// Ten thousand timers on a service cost one thread and one set of descriptors. There is a shared service for each
/// backend, started on first use:
///
/// ```swift
/// try PreciseTimer.schedule(.every(.milliseconds(5)), on: .timerFD, target: model) { model, tick in … }
/// ```
///
/// A service of one's own, `try TimerService(.timerFD)`, lives while somebody holds it or a timer on it is pending; then
/// its thread ends. All members may be used from any thread, and from inside a handler.
public final class TimerService: Sendable {
    private let state: Lock<ServiceState>
    /// The process that made the service: threads do not survive a fork, and a lock may be held for ever there.
    private let processID = Process.id

    /// A service around a state, not started.
    init(_ state: sending ServiceState) { self.state = Lock(state) }

    deinit {
        if isOfAnotherProcess { return }
        state.withLock { $0.alarm }?.stop()
    }

    /// The time on the service's clock, that of its alarm. Before the service is started, after it was shut down, and
    /// in a forked child: CLOCK_MONOTONIC.
    public var now: TimerInstant {
        if isOfAnotherProcess { return KernelClock.now(.suspending) }
        let alarm = state.withLock { $0.alarm }
        return alarm?.now ?? KernelClock.now(.suspending)
    }

    /// Ends all timers of the service, and its thread. What was due together with the running handler does not run.
    ///
    /// May be called more than once, and from a handler; does not wait for a handler that is running on another thread.
    /// Scheduling on a service of one's own is a `TimerError` afterwards; a shared service is started again by the next
    /// schedule. O(n) for n timers.
    public func shutdown() {
        let error = TimerError(.shutDown, "scheduling on a service that was shut down")
        close(.serviceShutDown, run: nil, answering: error)
    }

    /// Whether this is a forked child of the process that made the service. Asked before any lock is taken.
    var isOfAnotherProcess: Bool { Process.id != processID }

    /// How many timers are pending.
    package var pendingCount: Int { state.withLock { $0.scheduler.count } }

    // MARK: The way of one timer: start, admit, fire, forget; and its end with the service: fail, close

    /// Starts the alarm, if it is not running.
    func start() throws(TimerError) {
        try state.withLock { state throws(TimerError) in _ = try state.runningAlarm(of: self) }
    }

    /// Takes a timer in, and sets the alarm if its first deadline is the earliest of all.
    func admit(_ registration: Registration, _ schedule: PreciseTimer.Schedule) throws(TimerError) {
        try schedule.validate()
        if isOfAnotherProcess { throw .inForkedChild("scheduling a timer") }
        let failure = try state.withLock { state throws(TimerError) in
            let alarm = try state.runningAlarm(of: self)
            state.admit(registration, on: schedule.grid(from: alarm.now))
            state.serviceWhilePending = self
            return state.alarmFailure
        }
        guard let failure else { return }
        fail(failure)
        throw failure.error
    }

    /// The alarm has fired: delivers what is due, and sets the alarm for what comes next.
    func fire(_ run: Int) {
        guard var round = state.withLock({ $0.takeDue(run) }) else { return }
        var ended: [TimerID] = []
        for (registration, due) in round.deliveries
        where registration.deliver(due, woke: round.woke, readingClockOf: round.alarm) {
            ended.append(due.timer)
        }
        // Released here, outside of the lock; the memory itself goes back for the next round.
        round.deliveries.removeAll(keepingCapacity: true)
        let (removed, failure) = state.withLock { state in
            let removed = ended.map { state.remove($0) }
            state.finish(round)
            return (removed, state.alarmFailure)
        }
        withExtendedLifetime(removed) {}
        if let failure { fail(failure) }
    }

    /// Forgets a timer that has ended.
    func forget(_ timer: TimerID) {
        let removed = state.withLock { $0.remove(timer) }
        withExtendedLifetime(removed) {}
    }

    /// The backend does not work any more: ends its timers.
    func fail(_ failure: ServiceState.Failure) {
        close(.backendFailed(failure.error), run: failure.run, answering: failure.error)
    }

    /// Ends all timers and the alarm; of a certain run where one is given.
    private func close(_ reason: PreciseTimer.EndReason, run: Int?, answering error: TimerError) {
        if isOfAnotherProcess { return }
        let removed = state.withLock { $0.close(run: run, answering: error) }
        removed.alarm?.stop()
        for registration in removed.registrations { registration.end(reason) }
    }
}
