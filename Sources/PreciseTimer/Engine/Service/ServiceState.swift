internal import TimerAlarms
internal import TimerKernel

/// What became of a request.
enum Answer {
    /// Nothing was done: the timer or the service is not in a state for it.
    case refused
    case done
    /// It was done, but the alarm failed, which ends all timers.
    case failed(TimerError)
}

/// All state that a service's lock protects. What a method leaves to be done without the lock is in ``teardown``.
struct ServiceState: ~Copyable {
    /// Makes an alarm that has not been started.
    typealias MakeAlarm = @Sendable () throws(TimerError) -> any TimerAlarm

    /// The phases of a service.
    enum Phase {
        /// Not running. The next timer starts the service, on an alarm that this closure makes.
        case idle(MakeAlarm)
        /// A thread is starting the alarm.
        case starting
        /// Running.
        case running
        /// Ended permanently. Scheduling throws this error.
        case ended(TimerError)
    }

    var phase: Phase
    /// The alarm of a running service.
    var alarm: (any TimerAlarm)?
    /// Makes the alarm of the next epoch after a shutdown; nil for a service that cannot restart.
    let restart: MakeAlarm?
    /// How many times the service was started or shut down. It tells a firing of an earlier alarm apart.
    var epoch = 0
    /// The clock of all instants.
    let clock: TimerClock
    /// The alarm of the service if its wall clock is not the kernel's.
    let steppingAlarm: (any SteppingAlarm)?
    /// Decides which timers are due.
    var scheduler = Scheduler()
    /// The work that is left for the time without the lock.
    var teardown = Teardown()
    /// Sees the ticks, if anybody wants to know of them.
    var observer = isDebugBuild ? Observer() : nil
    /// Recomputes computed deadlines when the clock is set.
    lazy var ruleWatch = RuleWatch()
    /// How many times the clock was checked for them.
    var clockChecks = 0
    /// The service, held while a timer is pending, which keeps it alive.
    var serviceWhilePending: AnyObject?
    /// The error that ended an epoch while it was being started.
    var endOfStart: TimerError?
    /// Whether the supervisor checks the service. It does while the service has timers.
    var isSupervised = false
    /// What the supervisor knows of the service.
    var supervision: Supervision

    /// The state of a service that the next timer starts, also after a shutdown.
    init(startedOnUse makeAlarm: @escaping MakeAlarm, on clock: TimerClock) {
        phase = .idle(makeAlarm)
        restart = makeAlarm
        self.clock = clock
        steppingAlarm = nil
        supervision = Supervision(hasOwnThread: true)
    }

    /// The state of a service with this one alarm.
    init(own alarm: any TimerAlarm, hasOwnThread: Bool) {
        phase = .idle { alarm }
        restart = nil
        clock = alarm.now.clock
        steppingAlarm = alarm as? any SteppingAlarm
        supervision = Supervision(hasOwnThread: hasOwnThread)
    }

    /// The time on the alarm's clock; nil if the service is not running.
    var now: TimerInstant? { alarm?.now }

    // MARK: Starting

    /// Begins a start. Returns the alarm's maker and the new epoch; nil if the service is already running.
    mutating func beginStart() throws(TimerError) -> (MakeAlarm, epoch: Int)? {
        switch phase {
        case .running: return nil
        case .starting: preconditionFailure("one thread at a time starts a service")
        case .ended(let error): throw error
        case .idle(let makeAlarm):
            epoch += 1
            endOfStart = nil
            phase = .starting
            return (makeAlarm, epoch)
        }
    }

    /// Notes that the alarm has started. Returns false if the service was shut down in the meantime, and can be started
    /// again.
    ///
    /// - Throws: the error that ended the epoch in the meantime.
    mutating func finishStart(_ alarm: any TimerAlarm) throws(TimerError) -> Bool {
        if let endOfStart {
            if restart != nil, endOfStart.code == .shutDown { return false }
            throw endOfStart
        }
        phase = .running
        self.alarm = alarm
        observer?.watchClock(of: alarm)
        return true
    }

    /// Notes that a start failed, or that its epoch ended in the meantime: the next timer tries again.
    mutating func abandonStart(_ makeAlarm: @escaping MakeAlarm, _ epoch: Int) {
        if epoch == self.epoch { phase = .idle(makeAlarm) }
    }

    // MARK: Timers

    /// Adds a timer. The service is held while the timer is pending. Refused if the service must be started first.
    @inline(__always) mutating func register(
        _ record: Record,
        _ schedule: borrowing ResolvedSchedule,
        _ service: AnyObject
    ) -> Answer {
        guard isSupervised, alarm != nil else { return .refused }
        if serviceWhilePending == nil { serviceWhilePending = service }
        let start = start(of: schedule)
        if record.timing.isPaused { freeze(record, at: schedule.countsFromNow ? start : nil) }
        let order = scheduler.add(record, schedule, at: start)
        // Nearly every timer ends here.
        if case .leave = order { return .done }
        let answer = arm(order)
        // The caller gets the error, and no timer existed, so `onEnd` must not be called.
        if case .failed = answer { record.rare?.onEnd = nil }
        return answer
    }

    /// The instant from which a schedule counts. The clock is read only if it matters.
    func start(of schedule: borrowing ResolvedSchedule) -> UInt64 {
        schedule.countsFromNow ? alarm?.now.nanoseconds ?? 0 : 0
    }

    /// Lets the time to the next deadline of a paused timer stand still from now on, or from the reading of the clock
    /// from which its schedule counts: a later one would be a part of the delay.
    mutating func freeze(_ record: Record, at start: UInt64? = nil) {
        if let instant = start ?? now?.nanoseconds { record.timing.freeze(at: instant) }
    }

    /// Carries out the scheduler's order for the alarm. If the alarm refuses, the failure is left in the teardown,
    /// which ends all timers.
    @discardableResult mutating func arm(_ order: AlarmOrder) -> Answer {
        guard let alarm else { return .done }
        do throws(TimerError) {
            switch order {
            case .leave: break
            case .disarm: try alarm.set(nil)
            case .set(let nanoseconds):
                let deadline = TimerInstant(nanoseconds: nanoseconds, clock: clock)
                if let period = scheduler.periodFromNext {
                    if try alarm.set(deadline, every: period) { scheduler.alarmGoesOn(every: period) }
                } else {
                    try alarm.set(deadline)
                }
            }
            return .done
        } catch {
            teardown.needRare().failure = Teardown.Failure(error: error, epoch: epoch)
            return .failed(error)
        }
    }
}
