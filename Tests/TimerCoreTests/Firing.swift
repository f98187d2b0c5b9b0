import PreciseTimer
import TimerKernel

// What the tests of the scheduler have in common: schedules, timers of nobody, and firings of the alarm.

/// Deadlines a period apart.
func every(_ period: UInt64, from origin: UInt64) -> ResolvedSchedule { ResolvedSchedule(.at(origin), .every(period)) }

/// One deadline.
func once(at nanoseconds: UInt64) -> ResolvedSchedule { ResolvedSchedule(.at(nanoseconds), .once) }

/// No deadline until the timer is rescheduled.
let onDemand = ResolvedSchedule(.never, .onDemand)

extension TimerRecord {
    /// A timer of nobody.
    convenience init(burstLimit: Int = 1, tolerance: UInt64 = 0, isPaused: Bool = false) {
        self.init(Timing(burstLimit: burstLimit, tolerance: tolerance, isPaused: isPaused))
    }
}

/// Timers are compared by identity.
extension TimerRecord: Equatable {
    static func == (left: TimerRecord, right: TimerRecord) -> Bool { left === right }
}

/// A tick and its timer.
struct Ticked: Equatable {
    let timer: TimerRecord
    let due: Expiration
}

extension Ticked {
    init(
        _ timer: TimerRecord,
        _ index: UInt64,
        _ deadline: UInt64,
        latest: UInt64? = nil,
        missed: UInt64 = 0,
        isExtra: Bool = false
    ) {
        let span = latest.map { $0 - deadline } ?? 0
        due = Expiration(index: index, deadline: deadline, span: span, missed: missed, isExtra: isExtra)
        self.timer = timer
    }
}

/// The results of one firing of the alarm.
struct Firing: Equatable {
    var ticks: [Ticked] = []
    var completed: [TimerRecord] = []
    var alarm: AlarmOrder = .leave
}

extension Scheduler {
    /// Creates a timer and adds it.
    mutating func add(
        _ schedule: ResolvedSchedule,
        burstLimit: Int = 1,
        tolerance: UInt64 = 0,
        isPaused: Bool = false
    ) -> (timer: TimerRecord, alarm: AlarmOrder) {
        let timer = TimerRecord(burstLimit: burstLimit, tolerance: tolerance, isPaused: isPaused)
        return (timer, add(timer, on: schedule))
    }

    /// Adds a timer on a schedule that begins at an instant.
    mutating func add(_ timer: TimerRecord, on schedule: ResolvedSchedule) -> AlarmOrder { add(timer, schedule, at: 0) }

    /// Reschedules a timer to a schedule that begins at an instant.
    mutating func reschedule(_ timer: TimerRecord, on schedule: ResolvedSchedule) -> AlarmOrder? {
        reschedule(timer, schedule, at: 0)
    }

    /// Resumes a timer whose time did not stand still.
    mutating func resume(_ timer: TimerRecord) -> AlarmOrder? { resume(timer, at: 0) }

    /// Cancels a timer.
    mutating func end(_ timer: TimerRecord) -> Bool { end(timer, .cancelled) != nil }

    /// The timer whose turn is next, even if the scheduler must be asked several times.
    mutating func nextDue() -> TimerRecord? {
        while true {
            if let timer = firstDue() { return timer }
            if !hasDue { return nil }
        }
    }

    /// Sends the timer whose turn is next on its way.
    mutating func takeNext() -> TimerRecord? {
        let timer = nextDue()
        if let timer { send(timer) }
        return timer
    }

    /// The first due timer of a round, which is sent on its way.
    mutating func take(at now: UInt64) -> TimerRecord? {
        beginRound(at: now)
        return takeNext()
    }

    /// One firing of the alarm. Each handler is called at once, runs `handler` and returns at once.
    mutating func firing(at now: UInt64, handler: (inout Scheduler, Ticked) -> Void = { _, _ in }) -> Firing {
        var firing = Firing()
        beginRound(at: now)
        while let timer = nextDue() {
            if let due = begin(timer, at: now) {
                firing.ticks.append(Ticked(timer: timer, due: due))
                handler(&self, Ticked(timer: timer, due: due))
            }
            if putBack(timer, decidedAt: now, now: now) == nil, end(timer, .completed) != nil {
                firing.completed.append(timer)
            }
        }
        firing.alarm = endRound(at: now)
        return firing
    }
}
