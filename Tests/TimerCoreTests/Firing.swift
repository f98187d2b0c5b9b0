@_spi(Engine) import TimerCore

/// Deadlines a period apart.
func every(_ period: UInt64, from origin: UInt64) -> Grid {
    Grid(origin: origin, repetition: .every(Period(nanoseconds: period)))
}

/// One deadline.
func once(at nanoseconds: UInt64) -> Grid { Grid(origin: nanoseconds) }

/// No deadline until the timer is rescheduled.
let onDemand = Grid(origin: .max, repetition: .onDemand)

/// Timers are compared by identity.
extension TimerEntry: Equatable {
    static func == (left: TimerEntry, right: TimerEntry) -> Bool { left === right }
}

/// A tick and its timer.
struct Ticked: Equatable {
    let timer: TimerEntry
    let due: Due
}

extension Ticked {
    init(_ timer: TimerEntry, _ index: UInt64, _ deadline: UInt64, missed: UInt64 = 0) {
        self.init(timer: timer, due: Due(index: index, deadline: deadline, missed: missed))
    }
}

/// The results of one firing of the alarm.
struct Firing: Equatable {
    var ticks: [Ticked] = []
    var completed: [TimerEntry] = []
    var alarm: Scheduler.AlarmOrder = .leave
}

extension Scheduler {
    /// Creates a timer and adds it.
    mutating func add(
        _ grid: Grid,
        policy: LatePolicy = .skip,
        tolerance: UInt64 = 0,
        isPaused: Bool = false
    ) -> (timer: TimerEntry, alarm: AlarmOrder) {
        let timer = TimerEntry()
        timer.setRules(policy: policy, tolerance: tolerance, isPaused: isPaused)
        return (timer, add(timer, on: grid))
    }

    /// Cancels a timer.
    mutating func end(_ timer: TimerEntry) -> Bool { end(timer, .cancelled) }

    /// The timer whose turn is next, even if the scheduler must be asked several times.
    mutating func takeNext() -> TimerEntry? {
        switch next() {
        case .of(let timer): timer
        case .notFound: takeNext()
        case .none: nil
        }
    }

    /// The first due timer of a look.
    mutating func take(at now: UInt64) -> TimerEntry? {
        beginLook(at: now)
        return takeNext()
    }

    /// One firing of the alarm. Each handler is called at once, runs `handler` and returns at once.
    mutating func firing(at now: UInt64, handler: (inout Scheduler, Ticked) -> Void = { _, _ in }) -> Firing {
        var firing = Firing()
        beginLook(at: now)
        while let timer = takeNext() {
            if let due = begin(timer, at: now) {
                firing.ticks.append(Ticked(timer: timer, due: due))
                handler(&self, Ticked(timer: timer, due: due))
            }
            if finish(timer, lookedAt: now, now: now) == .completes { firing.completed.append(timer) }
        }
        firing.alarm = endLook()
        return firing
    }
}
