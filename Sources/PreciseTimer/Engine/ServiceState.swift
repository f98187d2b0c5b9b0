internal import TimerAlarms
internal import TimerKernel

/// All state that a service's lock protects. Methods return what they remove, so that the caller releases, calls or
/// stops it only after releasing the lock.
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

    /// The failure of a backend. An object, because nearly every answer of the state has room for one.
    final class Failure: Sendable {
        let error: TimerError
        /// The run of the service that failed.
        let run: Int

        init(error: TimerError, run: Int) {
            self.error = error
            self.run = run
        }
    }

    /// The remaining work for timers that have just been ended.
    struct Ended {
        /// The number of timers.
        var count = 0
        /// The timers whose farewell must be said.
        var records: [Record] = []
        /// The tasks of running handlers, which must be cancelled.
        var tasks: [TaskDestination] = []
        /// The service, if the last of its timers is among them.
        var service: AnyObject?
    }

    private var phase: Phase
    /// The alarm of a running service.
    private(set) var alarm: (any TimerAlarm)?
    /// Makes the alarm of the next run after a shutdown; nil for a service that cannot restart.
    private let restart: MakeAlarm?
    /// The number of the current run. It tells a firing of an earlier run's alarm apart.
    private(set) var run = 0
    /// The clock of all instants.
    let clock: TimerClock
    /// The alarm of the service if its wall clock is not the kernel's.
    let steppingAlarm: (any SteppingAlarm)?
    /// Decides which timers are due.
    var scheduler = Scheduler<UserSide>()
    /// Draws the random phases of timers.
    var random = SeededGenerator(seed: .random(in: 0 ... .max))
    /// Sees the ticks, if anybody wants to know of them.
    var observer = isDebugBuild ? Observer() : nil
    /// Has computed deadlines computed anew.
    lazy var ruleWatch = RuleWatch()
    /// How many times it has asked for that. What was computed meanwhile is outdated.
    var ruleLooks = 0
    /// The service, held while a timer is pending, which keeps it alive.
    private var serviceWhilePending: AnyObject?
    /// The error that ended a run while it was being started.
    private var endOfStart: TimerError?
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

    // MARK: Beginning and ending

    /// Begins a start. Returns the alarm's maker and the new run; nil if the service is already running.
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

    /// Notes that the alarm has started. Returns false if the service was shut down in the meantime, and can be started
    /// again.
    ///
    /// - Throws: the error that ended the run in the meantime.
    mutating func finishStart(_ alarm: any TimerAlarm) throws(TimerError) -> Bool {
        if let endOfStart {
            if restart != nil, endOfStart.code == .shutDown { return false }
            throw endOfStart
        }
        phase = .running
        self.alarm = alarm
        return true
    }

    /// Notes that a start failed, or that its run ended in the meantime: the next timer tries again.
    mutating func abandonStart(_ makeAlarm: @escaping MakeAlarm, _ run: Int) {
        if run == self.run { phase = .idle(makeAlarm) }
    }

    /// The deadlines of a plan from now on; nil if the service is not running.
    @inline(__always) mutating func grid(_ plan: Plan, of record: Record) -> Grid? {
        if alarm == nil { return nil }
        let grid = plan.grid(from: alarm?.now.nanoseconds ?? 0, using: &random)
        if plan.bounds != nil { record.bound(plan.bounds(of: grid, using: &random)) }
        return grid
    }

    /// Adds a timer. The service is held while the timer is pending.
    mutating func admit(_ record: Record, on grid: Grid, _ service: AnyObject) -> Failure? {
        if serviceWhilePending == nil { serviceWhilePending = service }
        return arm(scheduler.add(record, on: grid))
    }

    /// Lets the time to the next deadline of a paused timer stand still from now on. Computed deadlines are instants,
    /// which no pause moves.
    mutating func hold(_ record: Record) {
        if let now, record.side?.extras.chain == nil { scheduler.hold(record, at: now.nanoseconds) }
    }

    /// Ends a timer. Returns nil if it had ended before; otherwise whether the caller must say the farewell. If the
    /// handler is running, the farewell follows its return.
    mutating func end(_ record: Record, _ ending: TimerEnding) -> Bool? {
        guard scheduler.end(record, ending) else { return nil }
        if let observer { observer.ended(record) }
        return !record.isInHandler
    }

    /// Removes and returns the service if its last timer has ended. The caller releases it outside the lock.
    mutating func takeServiceIfIdle() -> AnyObject? { scheduler.count == 0 ? serviceWhilePending.take() : nil }

    /// Begins the end of all timers: no timer ticks any more. Returns the alarm, which the caller must stop, and the
    /// former phase, which may hold the alarm, too. Returns nil if there is nothing to end, or if `run` is given and
    /// is not the current run.
    ///
    /// A shared service is idle afterwards, and can be started again.
    mutating func close(run: Int?, answering error: TimerError) -> (alarm: (any TimerAlarm)?, former: Phase)? {
        guard run == nil || run == self.run else { return nil }
        let former = phase
        if case .ended = phase { return nil }
        if case .starting = phase { endOfStart = error }
        phase = restart.map(Phase.idle) ?? .ended(error)
        // A firing that is still going on belongs to no run any more.
        self.run += 1
        scheduler.close()
        return (alarm.take(), former)
    }

    /// Ends up to a portion of the timers that a close has left. Its count is 0 when all have been ended.
    mutating func endClosing(_ ending: TimerEnding, _ error: TimerError) -> Ended {
        var ended = Ended()
        while ended.count < Scheduler<UserSide>.portion, let record = scheduler.closing {
            ended.count += 1
            if ending == .backendFailed { record.onDemand.extras.error = error }
            if end(record, record.isOrphan ? record.endingIfTargetIsGone : ending) == true {
                ended.records.append(record)
            } else if let task = record.taskToCancel {
                ended.tasks.append(task)
            }
        }
        ended.service = takeServiceIfIdle()
        return ended
    }
}
