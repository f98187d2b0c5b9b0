import PreciseTimer

/// The loads under which calls to a service are timed.
enum StallRow: String, CaseIterable {
    case equal = "N come due at one instant"
    case spread = "N come due within 1 ms"
    case growth = "growing from 0 to 2.1 N"
    case snapshot = "activeTimers with N"
    case lastOfMany = "activeTimers with 1 left of N"
    case shutdown = "shutdown() with N"
    case storm = "4 catching up at 1 ns, beside N"

    /// The figure that the load itself yields, and its required value.
    var extra: (name: String, unit: Unit, asked: String) {
        switch self {
        case .equal, .spread: ("from the first tick to the last", .time, "")
        case .growth: ("longest schedule of the growing thread", .time, "≤ 1 ms")
        case .snapshot, .lastOfMany: ("the call itself", .time, "")
        case .shutdown: ("the call itself", .time, "")
        case .storm: ("ticks per second", .perSecond, "")
        }
    }

    /// Loads a service with about `count` timers. Returns the watch's reading, and the extra figure.
    func measure(_ count: Int) throws -> (Scene.Reading, Double) {
        let scene = try Scene()
        defer { scene.close() }
        var extra = 0.0
        var timers: [PreciseTimer] = []
        if self == .equal || self == .spread { return try due(count, scene) }
        if self != .growth { timers = try scene.fill(count) }
        if self == .lastOfMany { for timer in timers.dropLast() { timer.cancel() } }
        let reading = try scene.watch {
            switch self {
            case .growth: extra = try grow(count / 10 * 21, scene)
            case .snapshot, .lastOfMany: extra = Clock.time { _ = scene.service.activeTimers }
            case .shutdown: extra = Clock.time { scene.service.shutdown() }
            default:
                for _ in 0..<4 {
                    timers.append(try scene.timer(.every(.nanoseconds(1)), .catchUp(limit: 100_000)))
                }
                extra = 1e9 / Ticks.price()
                Clock.sleep(milliseconds: 500)
                for timer in timers.suffix(4) { timer.cancel() }
            }
        }
        withExtendedLifetime(timers) {}
        return (reading, extra)
    }

    private func due(_ count: Int, _ scene: Scene) throws -> (Scene.Reading, Double) {
        var timers: [PreciseTimer] = []
        let deadline = try Lead.scheduled(count: count) { deadline in
            Ticks.expect(count)
            timers = try (0..<UInt64(count))
                .map { number in
                    let offset = self == .spread ? number * 7_919 % 1_000_000 : 0
                    return try scene.timer(.once(at: TimerInstant(nanoseconds: deadline + offset)))
                }
            return { for timer in timers { timer.cancel() } }
        }
        Clock.sleep(until: deadline - min(deadline, 60_000_000))
        var extra = 0.0
        let reading = try scene.watch {
            let (first, last) = try Ticks.wait()
            extra = Double(last - first)
        }
        withExtendedLifetime(timers) {}
        return (reading, extra)
    }

    /// The longest of `count` schedule calls.
    private func grow(_ count: Int, _ scene: Scene) throws -> Double {
        var longest: UInt64 = 0
        for number in 0..<count {
            let start = Clock.now()
            _ = try scene.timer(.once(after: .nanoseconds(7_200_000_000_000 + number * 1_000)))
            longest = max(longest, Clock.now() - start)
        }
        return Double(longest)
    }
}
