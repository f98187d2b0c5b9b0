import PreciseTimer
import TimerKernel

/// Deadlines a period apart.
func every(_ period: UInt64, from origin: UInt64) -> Grid {
    Grid(origin: origin, repetition: .every(Period(nanoseconds: period)))
}

/// One deadline.
func once(at nanoseconds: UInt64) -> Grid { Grid(origin: nanoseconds) }

/// No deadline until the timer is rescheduled.
let onDemand = Grid(origin: .max, repetition: .onDemand)

/// A timer without a user.
struct Nothing: UserFacts {
    struct Extras: UserExtras {}
}

typealias PlainRecord = TimerRecord<Nothing>
typealias PlainScheduler = Scheduler<Nothing>

/// Timers are compared by identity.
extension TimerRecord: Equatable {
    static func == (left: TimerRecord, right: TimerRecord) -> Bool { left === right }
}

/// A tick and its timer.
struct Ticked: Equatable {
    let timer: PlainRecord
    let due: Due
}

extension Ticked {
    init(_ timer: PlainRecord, _ index: UInt64, _ deadline: UInt64, missed: UInt64 = 0, isExtra: Bool = false) {
        self.init(timer: timer, due: Due(index: index, deadline: deadline, missed: missed, isExtra: isExtra))
    }
}

/// The results of one firing of the alarm.
struct Firing: Equatable {
    var ticks: [Ticked] = []
    var completed: [PlainRecord] = []
    var alarm: AlarmOrder = .leave
}

/// What a timer does after a delivery.
enum Sequel: Hashable {
    /// It waits for its next deadline, or rests.
    case waits(AlarmOrder)
    /// It is on its way again, to another of its late deadlines.
    case again
    /// It has ended, for that was its last deadline.
    case completes
    /// It had ended before.
    case hasEnded
}

extension Scheduler<Nothing> {
    /// Creates a timer and adds it.
    mutating func add(
        _ grid: Grid,
        policy: LatePolicy = .skip,
        tolerance: UInt64 = 0,
        isPaused: Bool = false
    ) -> (timer: PlainRecord, alarm: AlarmOrder) {
        let timer = PlainRecord(Nothing(), policy: policy, tolerance: tolerance, isPaused: isPaused)
        return (timer, add(timer, on: grid))
    }

    /// Cancels a timer.
    mutating func end(_ timer: PlainRecord) -> Bool { end(timer, .cancelled) }

    /// Ends a delivery.
    mutating func finish(_ timer: PlainRecord, lookedAt look: UInt64, byHop: Bool = false, now: UInt64) -> Sequel {
        let hadEnded = timer.hasEnded
        let order = putBack(timer, lookedAt: look, byHop: byHop, now: now)
        if hadEnded { return .hasEnded }
        if timer.hasEnded { return .completes }
        return timer.isInDelivery ? .again : .waits(order)
    }

    /// The timer whose turn is next, even if the scheduler must be asked several times.
    mutating func nextDue() -> PlainRecord? {
        while true {
            if let timer = firstDue() { return timer }
            if !hasDue { return nil }
        }
    }

    /// Sends the timer whose turn is next on its way.
    mutating func takeNext() -> PlainRecord? {
        let timer = nextDue()
        if let timer { send(timer) }
        return timer
    }

    /// The first due timer of a look.
    mutating func take(at now: UInt64) -> PlainRecord? {
        beginLook(at: now)
        return takeNext()
    }

    /// One firing of the alarm. Each handler is called at once, runs `handler` and returns at once.
    mutating func firing(at now: UInt64, handler: (inout PlainScheduler, Ticked) -> Void = { _, _ in }) -> Firing {
        var firing = Firing()
        beginLook(at: now)
        while let timer = nextDue() {
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
