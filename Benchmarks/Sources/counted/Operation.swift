import PreciseTimer

/// The operations to count.
enum Operation: String, CaseIterable {
    case pair
    case schedule
    case cancel
    case reschedule
    case tick
    case tickWithStatistics = "tick-with-statistics"
    case tickWithOwnStatistics = "tick-with-own-statistics"

    /// Performs the operation `count` times on one thread, without the kernel.
    func perform(_ count: Int) throws {
        let alarm = ManualAlarm()
        let service = try TimerService(alarm: alarm)
        let target = Target()
        switch self {
        case .pair:
            let others = try timers(1_000, on: service, target)
            for number in 0..<count { try timer(number, on: service, target).cancel() }
            withExtendedLifetime(others) {}
        case .schedule: withExtendedLifetime(try timers(count, on: service, target)) {}
        case .cancel:
            let timers = try timers(4_000, on: service, target)
            for timer in timers.prefix(count) { timer.cancel() }
        case .reschedule:
            let timers = try timers(1_000, on: service, target)
            for number in 0..<count {
                try timers[number % 1_000].reschedule(.once(after: .seconds(7_200) + .microseconds(number)))
            }
        case .tick, .tickWithStatistics, .tickWithOwnStatistics:
            service.collectsStatistics = self == .tickWithStatistics
            for _ in 0..<1_000 {
                let timer = try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: target) {
                    $0.tick($1)
                }
                timer.collectsStatistics = self == .tickWithOwnStatistics
            }
            while target.ticks < count { alarm.advance(by: 1_000_000) }
        }
    }

    private func timers(_ count: Int, on service: TimerService, _ target: Target) throws -> [PreciseTimer] {
        try (0..<count).map { try timer($0, on: service, target) }
    }

    private func timer(_ number: Int, on service: TimerService, _ target: Target) throws -> PreciseTimer {
        let delay = Duration.seconds(3_600) + .microseconds(number)
        return try PreciseTimer.schedule(.once(after: delay), on: service, target: target) { $0.tick($1) }
    }
}
