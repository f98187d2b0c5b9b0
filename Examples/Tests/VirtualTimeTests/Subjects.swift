import PreciseTimer

// What an app would have: each takes the service that its timers run on, so that a test can give it virtual time.

/// A view model that counts seconds.
@MainActor
final class Stopwatch {
    private(set) var seconds = 0

    func start(on service: TimerService) throws {
        try PreciseTimer.schedule(.every(.seconds(1)), on: service, target: self) { @MainActor stopwatch, tick in
            stopwatch.seconds += 1 + tick.missed
        }
    }
}

/// A cache that forgets a value after a minute, unless it is read.
actor Cache {
    private(set) var value: String?
    private var expiry: PreciseTimer?

    func put(_ value: String, on service: TimerService) throws {
        self.value = value
        expiry = try PreciseTimer.schedule(.once(after: .seconds(60)), on: service, target: self) { cache, _ in
            cache.value = nil
        }
    }

    func read() throws -> String? {
        if value != nil { try expiry?.reschedule(.once(after: .seconds(60))) }
        return value
    }
}

/// Notes each hour of a day, in a task.
actor Diary {
    private(set) var hours: [Int] = []

    func keep(on service: TimerService) async throws {
        for try await tick in PreciseTimer.ticks(.every(.seconds(3_600), count: 24), on: service) {
            hours.append(tick.index + 1)
        }
    }
}
