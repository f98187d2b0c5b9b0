/// Timers that are scheduled long enough before they come due.
enum Lead {
    /// Calls `schedule` with an instant ahead, and again with a later one if scheduling took too long. Returns the
    /// instant. The closure returns how its timers are cancelled.
    static func scheduled(count: Int, _ schedule: (UInt64) throws -> () -> Void) rethrows -> UInt64 {
        var lead = max(20_000_000, UInt64(count) * 4_000)
        while true {
            let deadline = Clock.now() + lead
            let cancel = try schedule(deadline)
            if Clock.now() + 5_000_000 < deadline { return deadline }
            cancel()
            Clock.sleep(milliseconds: 200)
            lead *= 2
        }
    }

    /// The nanoseconds from the first to the last tick of timers that come due together.
    static func fire(_ sample: Sample, _ schedule: (UInt64) -> () -> Void) throws -> Double {
        var cancel: () -> Void = {}
        _ = scheduled(count: sample.count) { deadline in
            Ticks.expect(sample.count)
            cancel = schedule(deadline)
            return cancel
        }
        let (first, last) = try Ticks.wait()
        cancel()
        return Double(last - first)
    }
}
