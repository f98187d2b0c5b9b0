import TimerCore

/// An instant of the scheduler's clock.
func instant(_ nanoseconds: UInt64) -> TimerInstant { TimerInstant(nanoseconds: nanoseconds) }

/// Deadlines a period apart.
func every(_ period: UInt64, from origin: UInt64) -> Grid {
    Grid(origin: instant(origin), repetition: .every(Period(nanoseconds: period)))
}

/// One deadline.
func once(at nanoseconds: UInt64) -> Grid { Grid(origin: instant(nanoseconds)) }

/// A tick, and whose it was.
struct Ticked: Hashable {
    let timer: TimerID
    let due: Due

    init(_ timer: TimerID, _ due: Due) {
        self.timer = timer
        self.due = due
    }

    init(_ timer: TimerID, _ index: UInt64, _ deadline: UInt64, missed: UInt64 = 0) {
        self.init(timer, Due(index: index, deadline: instant(deadline), missed: missed))
    }
}

/// What came of one firing of the alarm.
struct Firing {
    var ticks: [Ticked] = []
    var completed: [TimerID] = []
    var alarm: Scheduler.AlarmOrder = .leave
}

extension Scheduler {
    /// One firing of the alarm, in which every handler is called at once, does this, and returns at once.
    mutating func firing(at now: UInt64, handler: (inout Scheduler, Ticked) -> Void = { _, _ in }) -> Firing {
        var firing = Firing()
        var claims: [Claim] = []
        expire(at: instant(now), into: &claims)
        while !claims.isEmpty {
            let claim = claims.removeFirst()
            if let due = begin(claim, at: instant(now)) {
                firing.ticks.append(Ticked(claim.timer, due))
                handler(&self, Ticked(claim.timer, due))
            }
            switch finish(claim, lookedAt: instant(now), now: instant(now)) {
            case .again(let another):
                claims.insert(another, at: claims.firstIndex { another.precedes($0) } ?? claims.count)
            case .completes: firing.completed.append(claim.timer)
            case .waits, .hasEnded: break
            }
        }
        firing.alarm = finishFiring()
        return firing
    }
}
