internal import TimerAlarms

/// All that a service's lock protects. Whatever a method takes out of it is returned, so that it is released, called or
/// stopped only after the lock is let go.
struct ServiceState {
    /// Makes an alarm that has not been started.
    typealias MakeAlarm = @Sendable () throws(TimerError) -> any TimerAlarm

    /// How far the service has come.
    enum Phase {
        /// Not running; the next timer makes it run, on an alarm made by this.
        case idle(MakeAlarm)
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

    /// What was due at one look at the clock.
    struct Round {
        var deliveries: [(Registration, Due)]
        let woke: TimerInstant
        let alarm: any TimerAlarm
        /// Which run of the service it is of.
        let run: Int
    }

    /// What is let go at the end.
    struct Remains {
        var alarm: (any TimerAlarm)?
        var registrations: [Registration] = []
        var service: TimerService?
    }

    private var phase: Phase
    /// Makes the alarm of the next run after a shutdown; nil for a service that ends with it.
    private let restart: MakeAlarm?
    /// How many times the service was started: a firing of an earlier run's alarm is told by it.
    private var run = 0
    /// Decides what is due.
    private(set) var scheduler = Scheduler()
    /// By slot: to whom the scheduler's timers belong.
    private var registrations: [Registration?] = []
    /// The service itself while a timer is pending, which keeps it alive.
    var serviceWhilePending: TimerService?
    /// Why the alarm could not be set.
    private(set) var alarmFailure: Failure?
    /// What is due, in the scheduler's words; kept for its memory.
    private var due: [Due] = []
    /// The memory for the next round.
    private var deliveries: [(Registration, Due)] = []

    /// Of a service that is started, and started again, by the next timer.
    init(startedOnUse makeAlarm: @escaping MakeAlarm) {
        phase = .idle(makeAlarm)
        restart = makeAlarm
    }

    /// Of a service that has this one alarm.
    init(own alarm: any TimerAlarm) {
        phase = .idle { alarm }
        restart = nil
    }

    /// The alarm of a running service.
    var alarm: (any TimerAlarm)? {
        if case .running(let alarm) = phase { alarm } else { nil }
    }

    /// The alarm, started if the service is idle.
    mutating func runningAlarm(of service: TimerService) throws(TimerError) -> any TimerAlarm {
        switch phase {
        case .running(let alarm): return alarm
        case .ended(let error): throw error
        case .idle(let makeAlarm): return try start(makeAlarm(), for: service)
        }
    }

    private mutating func start(_ alarm: any TimerAlarm, for service: TimerService) throws(TimerError) -> any TimerAlarm
    {
        let run = run + 1
        try alarm.start(
            onFire: { [weak service] in service?.fire(run) },
            onFailure: { [weak service] in service?.fail(Failure(error: $0, run: run)) }
        )
        self.run = run
        alarmFailure = nil
        phase = .running(alarm)
        return alarm
    }

    /// Takes a timer in.
    mutating func admit(_ registration: Registration, on grid: Grid) {
        let (timer, order) = scheduler.add(grid)
        while registrations.count < scheduler.slotCapacity { registrations.append(nil) }
        registrations[timer.slot.position] = registration
        registration.admitted(as: timer)
        carryOut(order)
    }

    /// Takes out what is due now. Nil for a firing of an earlier run.
    mutating func takeDue(_ run: Int) -> Round? {
        guard run == self.run, let alarm else { return nil }
        let now = alarm.now
        due.removeAll(keepingCapacity: true)
        scheduler.expire(at: now, into: &due)
        var deliveries: [(Registration, Due)] = []
        swap(&deliveries, &self.deliveries)
        for due in due {
            guard let registration = registrations[due.timer.slot.position] else {
                preconditionFailure("the scheduler's timers are registered")
            }
            deliveries.append((registration, due))
        }
        return Round(deliveries: deliveries, woke: now, alarm: alarm, run: run)
    }

    /// Ends a round that has been delivered: sets the alarm for what comes next, unless the run has ended meanwhile.
    /// Takes the round's memory back, which must be empty.
    mutating func finish(_ round: Round) {
        deliveries = round.deliveries
        if round.run == run { carryOut(scheduler.finishFiring()) }
    }

    /// Forgets a timer; what it held is handed out.
    mutating func remove(_ timer: TimerID) -> (Registration?, TimerService?) {
        guard scheduler.remove(timer) else { return (nil, nil) }
        let registration = registrations[timer.slot.position].take()
        return (registration, scheduler.count == 0 ? serviceWhilePending.take() : nil)
    }

    /// Ends the run, if it is still the given one: forgets all timers, and hands out all that is to be stopped and
    /// released. Scheduling is answered with the error from now on, unless the service can be started again.
    mutating func close(run: Int?, answering error: TimerError) -> Remains {
        guard run == nil || run == self.run else { return Remains() }
        if case .ended = phase { return Remains() }
        let remains = Remains(
            alarm: alarm,
            registrations: registrations.compactMap(\.self),
            service: serviceWhilePending.take()
        )
        scheduler.removeAll()
        registrations.removeAll()
        phase = restart.map(Phase.idle) ?? .ended(error)
        return remains
    }

    private mutating func carryOut(_ order: Scheduler.AlarmOrder) {
        guard case .set(let deadline) = order, let alarm else { return }
        do throws(TimerError) { try alarm.set(deadline) } catch {
            alarmFailure = Failure(error: error, run: run)
        }
    }
}
