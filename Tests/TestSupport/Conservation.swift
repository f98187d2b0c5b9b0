package import PreciseTimer

extension [PreciseTimer.Tick] {
    /// How many deadlines the ticks stand for.
    package var accounted: UInt64 { reduce(0) { $0 + 1 + $1.missed } }

    /// What is wrong with ticks of one fixed grid, from its first deadline on; nil where nothing was lost, invented or
    /// early.
    package func flaw(from start: TimerInstant, every period: Duration) -> String? {
        var next: UInt64 = 0
        for tick in self {
            if tick.index != next { return "tick \(tick.index) where \(next) was to come" }
            if tick.deadline != start.advanced(by: period * Int(tick.index)) {
                return "tick \(tick.index) off the grid"
            }
            if let flaw = tick.flawInTime { return flaw }
            next += 1 + tick.missed
        }
        return nil
    }

    /// The ticks of each look of the alarm's thread, for ticks that are delivered there.
    package var looks: [[PreciseTimer.Tick]] {
        var looks: [[PreciseTimer.Tick]] = []
        for tick in self {
            if looks.last?.first?.woke == tick.woke {
                looks[looks.count - 1].append(tick)
            } else {
                looks.append([tick])
            }
        }
        return looks
    }
}

extension PreciseTimer.Tick {
    /// What is wrong with the order of its instants; nil where nothing is.
    package var flawInTime: String? {
        if woke < deadline { return "tick \(index) woke early" }
        if delivered < woke { return "tick \(index) was delivered before it woke" }
        return nil
    }
}
