import PreciseTimer

/// Runs a timer on every backend of the build, for a machine on which the tests cannot run.
@main enum EveryBackend {
    static func main() async throws {
        for backend in TimerService.Backend.allCases where backend.availability == .available {
            let service = try TimerService(backend)
            let (start, period) = (service.now, Duration.milliseconds(10))
            var count = 0
            for try await _ in PreciseTimer.ticks(.every(period, count: 50), on: service) { count += 1 }
            let time = start.duration(to: service.now)
            print("\(backend.rawValue): \(count) ticks in \(time)")
            if count == 0 || time < period * 50 { fatalError("no tick, or an early one, on \(backend.rawValue)") }
            service.shutdown()
        }
    }
}
