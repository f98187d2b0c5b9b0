internal import TimerAlarms
internal import TimerCore

/// All that a service's lock protects. Whatever a method takes out of it is returned, so that it is released, called or
/// stopped only after the lock is let go.
struct ServiceState {
    /// Makes an alarm that has not been started.
    typealias MakeAlarm = @Sendable () throws(TimerError) -> any TimerAlarm

    /// How far the service has come.
    enum Phase {
        /// Not running; the next timer makes it run, on an alarm made by this.
        case idle(MakeAlarm)
        /// A thread is starting an alarm.
        case starting
        /// Running on this alarm.
        case running(any TimerAlarm)
        /// Ended for good; the error is what scheduling is answered with.
        case ended(TimerError)
    }

    /// A backend that does not work any more.
    struct Failure {
        let error: TimerError
        /// Which run of the service it was.
        let run: Int
    }

    /// What is let go at the end.
    struct Remains {
        var alarm: (any TimerAlarm)?
        var farewells: [Farewell] = []
    }

    private var phase: Phase
    /// Makes the alarm of the next run after a shutdown; nil for a service that ends with it.
    private let restart: MakeAlarm?
    /// How many times the service was started: a firing of an earlier run's alarm is told by it.
    private(set) var run = 0
    /// Decides what is due.
    var scheduler: Scheduler
    /// By slot: the rest of what is known of the scheduler's timers.
    private var records: [Record?] = []
    /// The service itself while a timer is pending, which keeps it alive.
    private var serviceWhilePending: TimerService?
    /// Why the alarm could not be set.
    private var failure: Failure?
    /// Why the run that is being started has ended already.
    private var endOfStart: TimerError?
    /// The memory for the next round's claims.
    private var claims: [Claim] = []
    /// Whether the caretaker looks after the service: it does while there are timers.
    var isCaredFor = false
    /// Where the caretaker goes on.
    var care: Care

    /// Of a service that is started, and started again, by the next timer.
    init(startedOnUse makeAlarm: @escaping MakeAlarm) {
        phase = .idle(makeAlarm)
        restart = makeAlarm
        scheduler = Scheduler()
        care = Care(hasOwnThread: true)
    }

    /// Of a service that has this one alarm.
    init(own alarm: any TimerAlarm, hasOwnThread: Bool) {
        phase = .idle { alarm }
        restart = nil
        scheduler = Scheduler(clock: alarm.now.clock)
        care = Care(hasOwnThread: hasOwnThread)
    }

    /// The alarm of a running service.
    var alarm: (any TimerAlarm)? {
        if case .running(let alarm) = phase { alarm } else { nil }
    }

    /// The alarm of a service that can take a timer in as it is.
    var readyAlarm: (any TimerAlarm)? { isCaredFor ? alarm : nil }

    /// What is known of a timer beside its numbers.
    func record(of timer: TimerID) -> Record {
        guard let record = records[timer.slot.position] else {
            preconditionFailure("a timer that is used has a record")
        }
        return record
    }

    // MARK: Beginning and ending

    /// Begins a start, if the service is idle: how to make the alarm, and which run it is for.
    mutating func beginStart() throws(TimerError) -> (MakeAlarm, run: Int)? {
        switch phase {
        case .running: return nil
        case .starting: preconditionFailure("one thread at a time starts a service")
        case .ended(let error): throw error
        case .idle(let makeAlarm):
            run += 1
            endOfStart = nil
            phase = .starting
            return (makeAlarm, run)
        }
    }

    /// The alarm of a run has started.
    ///
    /// - Throws: the error that ended the run meanwhile.
    mutating func finishStart(_ alarm: any TimerAlarm) throws(TimerError) {
        if let endOfStart { throw endOfStart }
        failure = nil
        phase = .running(alarm)
    }

    /// The alarm of a run was refused, or its run has ended: the next timer tries again.
    mutating func abandonStart(_ makeAlarm: @escaping MakeAlarm, _ run: Int) {
        if run == self.run { phase = .idle(makeAlarm) }
    }

    /// Takes a timer in; the service is held while it is pending.
    mutating func admit(_ grid: Grid, _ rules: TimerRules, service: TimerService) -> TimerID {
        let (timer, order) = scheduler.add(
            grid,
            policy: rules.policy,
            tolerance: rules.tolerance,
            isPaused: rules.isPaused
        )
        while records.count < scheduler.slotCapacity { records.append(nil) }
        serviceWhilePending = service
        carryOut(order)
        return timer
    }

    /// Notes what else there is to know of a new timer.
    mutating func keep(_ timer: TimerID, _ record: sending Record) { records[timer.slot.position] = record }

    /// Ends a timer; nil where it had ended.
    mutating func end(_ timer: TimerID, _ reason: PreciseTimer.EndReason) -> Farewell? {
        scheduler.end(timer) ? ended(timer, reason) : nil
    }

    /// The farewell of a timer that the scheduler has just ended.
    mutating func ended(_ timer: TimerID, _ reason: PreciseTimer.EndReason) -> Farewell {
        var farewell = record(of: timer).end(reason)
        if scheduler.count == 0 { farewell.service = serviceWhilePending.take() }
        forgetIfOver(timer)
        return farewell
    }

    /// Frees what nobody needs any more.
    mutating func forgetIfOver(_ timer: TimerID) {
        guard let entry = scheduler[timer], entry.hasEnded, !entry.isInDelivery, !record(of: timer).hasHandle
        else { return }
        scheduler.forget(timer)
        records[timer.slot.position] = nil
    }

    /// Ends the run, if it is still the given one, and all timers; what is to be stopped and released is handed out.
    /// Scheduling is answered with the error from now on, unless the service can be started again.
    mutating func close(run: Int?, _ reason: PreciseTimer.EndReason, answering error: TimerError) -> Remains {
        guard run == nil || run == self.run else { return Remains() }
        if case .ended = phase { return Remains() }
        let remains = Remains(alarm: alarm, farewells: scheduler.pending.compactMap { end($0.id, reason) })
        scheduler.alarmStopped()
        if case .starting = phase { endOfStart = error }
        phase = restart.map(Phase.idle) ?? .ended(error)
        // A firing that is still going on is of no run any more.
        self.run += 1
        return remains
    }

    // MARK: The alarm

    /// Does with the alarm what the scheduler says; false where it says nothing, since the timer had ended.
    @discardableResult
    mutating func carryOut(_ order: Scheduler.AlarmOrder?) -> Bool {
        if case .set(let deadline) = order, let alarm {
            do throws(TimerError) { try alarm.set(deadline) } catch { failure = Failure(error: error, run: run) }
        }
        return order != nil
    }

    /// Whether the alarm could not be set, and nobody has been told yet.
    var hasFailed: Bool { failure != nil }

    /// Why the alarm could not be set, once.
    mutating func takeFailure() -> Failure? { failure.take() }

    // MARK: The memory of a round

    /// The claims of what is due now, in order.
    mutating func claimDue(at now: TimerInstant) -> [Claim] {
        var claims: [Claim] = []
        swap(&claims, &self.claims)
        scheduler.expire(at: now, into: &claims)
        return claims
    }

    /// Takes the memory of a round's claims back.
    mutating func recycle(_ claims: inout [Claim]) {
        claims.removeAll(keepingCapacity: true)
        swap(&claims, &self.claims)
    }
}

/// How a timer's deadlines are dealt with.
struct TimerRules: Sendable {
    let policy: LatePolicy
    /// Nanoseconds.
    let tolerance: UInt64
    let isPaused: Bool
}
