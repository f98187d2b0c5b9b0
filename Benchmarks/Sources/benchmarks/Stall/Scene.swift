import PreciseTimer

/// A service under load, and the watch on its calls.
struct Scene {
    /// The times recorded during the load.
    struct Reading {
        var calls = Watch.Record()
        var lateness = Histogram()
        /// The lateness without the load.
        var calm = Histogram()
    }

    let service: TimerService
    private let control: TimerService
    private let beat = Beat()
    private let target = Target()
    private let calm: Histogram

    init() throws {
        service = try TimerService(.timerFD)
        control = try TimerService(.timerFD)
        try beat.start(on: service)
        let watch = Watch(own: service, control: control)
        Clock.sleep(milliseconds: 50)
        _ = beat.take()
        Clock.sleep(milliseconds: 500)
        calm = beat.take()
        _ = watch.stop()
    }

    /// Times calls and ticks while a body runs.
    func watch(_ body: () throws -> Void) rethrows -> Reading {
        let watch = Watch(own: service, control: control)
        Clock.sleep(milliseconds: 20)
        _ = beat.take()
        try body()
        Clock.sleep(milliseconds: 20)
        let lateness = beat.take()
        return Reading(calls: watch.stop(), lateness: lateness, calm: calm)
    }

    /// Schedules timers that are due in two hours and later.
    func fill(_ count: Int) throws -> [PreciseTimer] {
        try (0..<count).map { try timer(.once(after: .nanoseconds(7_200_000_000_000 + $0 * 1_000))) }
    }

    func timer(
        _ schedule: PreciseTimer.Schedule,
        _ policy: PreciseTimer.MissedTickPolicy = .skip
    ) throws -> PreciseTimer {
        try PreciseTimer.schedule(schedule, on: service, missedTicks: policy, target: target) { target, _ in
            target.tick()
        }
    }

    func close() {
        service.shutdown()
        control.shutdown()
    }
}
