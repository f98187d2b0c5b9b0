/// How far the wall clock is ahead of the continuous clock, which changes only when the wall clock is set.
package struct WallClockOffset {
    private let nanoseconds: Int64
    /// The greatest possible error of the reading, in nanoseconds.
    private let error: Int64

    package init(nanoseconds: Int64, error: Int64) { (self.nanoseconds, self.error) = (nanoseconds, error) }

    /// The offset now. The wall clock is read between two readings of the other clock, until these are close enough.
    package static var now: WallClockOffset {
        var best = reading
        for _ in 0..<16 where best.error > 500 {
            let next = reading
            if next.error < best.error { best = next }
        }
        return best
    }

    private static var reading: WallClockOffset {
        let before = Int64(clamping: TimerClock.continuous.now.nanoseconds)
        let wall = Int64(clamping: TimerClock.wall.now.nanoseconds)
        let width = Int64(clamping: TimerClock.continuous.now.nanoseconds) - before
        return WallClockOffset(nanoseconds: wall - before - width / 2, error: width / 2 + 1)
    }

    /// The step between two readings; nil if it is within their errors.
    package func step(to later: WallClockOffset) -> Duration? {
        let step = later.nanoseconds - nanoseconds
        return step.magnitude > (error + later.error).magnitude ? .nanoseconds(step) : nil
    }
}
