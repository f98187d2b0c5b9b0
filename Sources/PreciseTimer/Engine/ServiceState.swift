internal import TimerAlarms
@_spi(Engine) internal import TimerCore

/// All that a service's lock protects. Whatever a method takes out of it is returned, so that it is released, called or
/// stopped only after the lock is let go.
struct ServiceState: ~Copyable {
    /// Makes an alarm that has not been started.
    typealias MakeAlarm = @Sendable () throws(TimerError) -> any TimerAlarm

    /// How far the service has come.
    enum Phase {
        /// Not running; the next timer makes it run, on an alarm made by this.
        case idle(MakeAlarm)
        /// A thread is starting an alarm.
        case starting
        /// Running on the alarm.
        case running
        /// Ended for good; the error is what scheduling is answered with.
        case ended(TimerError)
    }

    /// A backend that does not work any more.
    struct Failure {
        let error: TimerError
        /// Which run of the service it was.
        let run: Int
    }

    /// What is left to do for some timers that have been ended.
    struct Ended {
        /// How many there were.
        var count = 0
        /// Those whose farewell is to be said.
        var records: [TimerRecord] = []
        /// The service, if the last of its timers is among them.
        var service: TimerService?
    }

    private var phase: Phase
    /// The alarm of a running service.
    private(set) var alarm: (any TimerAlarm)?
    /// Makes the alarm of the next run after a shutdown; nil for a service that ends with it.
    private let restart: MakeAlarm?
    /// How many times the service was started: a firing of an earlier run's alarm is told by it.
    private(set) var run = 0
    /// The clock that all instants are of.
    let clock: TimerClock
    /// Decides what is due.
    var scheduler = Scheduler()
    /// The service itself while a timer is pending, which keeps it alive.
    private var serviceWhilePending: TimerService?
    /// Why the run that is being started has ended already.
    private var endOfStart: TimerError?
    /// Whether the caretaker looks after the service: it does while there are timers.
    var isCaredFor = false
    /// Where the caretaker goes on.
    var care: Care

    /// Of a service that is started, and started again, by the next timer.
    init(startedOnUse makeAlarm: @escaping MakeAlarm) {
        phase = .idle(makeAlarm)
        restart = makeAlarm
        clock = .suspending
        care = Care(hasOwnThread: true)
    }

    /// Of a service that has this one alarm.
    init(own alarm: any TimerAlarm, hasOwnThread: Bool) {
        phase = .idle { alarm }
        restart = nil
        clock = alarm.now.clock
        care = Care(hasOwnThread: hasOwnThread)
    }

    /// The time on the alarm's clock; nil if the service is not running.
    var now: TimerInstant? { alarm?.now }

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
        phase = .running
        self.alarm = alarm
    }

    /// The alarm of a run was refused, or its run has ended: the next timer tries again.
    mutating func abandonStart(_ makeAlarm: @escaping MakeAlarm, _ run: Int) {
        if run == self.run { phase = .idle(makeAlarm) }
    }

    /// Takes a timer in; the service is held while it is pending.
    mutating func admit(_ record: TimerRecord, on grid: Grid, _ service: TimerService) -> Failure? {
        if serviceWhilePending == nil { serviceWhilePending = service }
        return arm(scheduler.add(record, on: grid))
    }

    /// Ends a timer. Nil if it had ended; otherwise whether its farewell is to be said, which is for the return of the
    /// handler if that is running.
    mutating func end(_ record: TimerRecord, _ ending: TimerEntry.Ending) -> Bool? {
        scheduler.end(record, ending) ? record.whereabouts != .runs : nil
    }

    /// The service, if its last timer has ended: to be released outside the lock.
    mutating func takeServiceIfIdle() -> TimerService? { scheduler.count == 0 ? serviceWhilePending.take() : nil }

    /// Begins the end of all timers, of a certain run if one is given: none of them ticks any more. Returns the alarm, which
    /// is to be stopped, and the former phase, which may hold it, too; nil if there is nothing to end.
    ///
    /// A shared service is idle afterwards, and can be started again.
    mutating func close(run: Int?, answering error: TimerError) -> (alarm: (any TimerAlarm)?, former: Phase)? {
        guard run == nil || run == self.run else { return nil }
        let former = phase
        if case .ended = phase { return nil }
        if case .starting = phase { endOfStart = error }
        phase = restart.map(Phase.idle) ?? .ended(error)
        // A firing that is still going on is of no run any more.
        self.run += 1
        scheduler.close()
        return (alarm.take(), former)
    }

    /// Ends some of the timers that are to be ended; none when all have been.
    mutating func endClosing(_ ending: TimerEntry.Ending, _ error: TimerError) -> Ended {
        var ended = Ended()
        while ended.count < Scheduler.portion, let timer = scheduler.closing {
            let record = TimerRecord.of(timer)
            ended.count += 1
            if ending == .backendFailed { record.onDemand.error = error }
            if end(record, ending) == true { ended.records.append(record) }
        }
        ended.service = takeServiceIfIdle()
        return ended
    }

    // MARK: The alarm

    /// Does with the alarm what the scheduler says. Returns why that was refused.
    mutating func arm(_ order: Scheduler.AlarmOrder) -> Failure? {
        guard order != .leave, let alarm else { return nil }
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
            return nil
        } catch {
            return Failure(error: error, run: run)
        }
    }
}

extension TimerRecord {
    /// The record that a timer of the scheduler is.
    static func of(_ timer: TimerEntry) -> TimerRecord { unsafe unsafeDowncast(timer, to: TimerRecord.self) }
}
