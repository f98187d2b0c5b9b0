package import PreciseTimer

extension [PreciseTimer.Tick] {
    /// The number of deadlines that the ticks stand for.
    package var accounted: Int { reduce(0) { $0 + 1 + $1.missed } }

    /// The first fault in ticks of one fixed grid, from its first deadline on; nil if no tick is lost,
    /// invented or early.
    package func flaw(from start: TimerInstant, every period: Duration) -> String? {
        var next = 0
        for tick in self {
            if tick.index != next { return "tick \(tick.index) instead of \(next)" }
            if tick.deadline != start.advanced(by: period * tick.index) {
                return "tick \(tick.index) off the grid"
            }
            if let flaw = tick.flawInTime { return flaw }
            next += 1 + tick.missed
        }
        return nil
    }

    /// The first fault in ticks of one fixed grid that begins with the first tick; nil if no tick is lost, invented or
    /// early. For ticks that are delivered on the alarm's thread: each deadline up to the last round must be ticked
    /// or missed.
    package func flaw(every period: Duration) -> String? {
        guard let first, let last else { return "no tick" }
        if let flaw = flaw(from: first.deadline, every: period) { return flaw }
        // An independent count.
        let passed = Int(first.deadline.duration(to: last.woke) / period) + 1
        return accounted == passed ? nil : "\(accounted) deadlines of \(passed)"
    }

    /// The ticks of each round of the alarm's thread. For ticks that are delivered on that thread.
    package var rounds: [[PreciseTimer.Tick]] {
        var rounds: [[PreciseTimer.Tick]] = []
        for tick in self {
            if rounds.last?.first?.woke == tick.woke {
                rounds[rounds.count - 1].append(tick)
            } else {
                rounds.append([tick])
            }
        }
        return rounds
    }
}

extension PreciseTimer.Tick {
    /// The fault in the order of the tick's instants; nil if they are in order.
    package var flawInTime: String? {
        if woke < deadline { return "tick \(index) woke early" }
        if delivered < woke { return "tick \(index) was delivered before it woke" }
        return nil
    }
}
