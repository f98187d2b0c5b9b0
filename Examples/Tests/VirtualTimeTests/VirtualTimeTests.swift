import PreciseTimer
import PreciseTimerPatterns
import PreciseTimerTestKit
import Testing

/// Tests of code with timers: hours pass at once, and no test sleeps.
struct VirtualTimeTests {
    let virtual = VirtualTime()

    @Test @MainActor func aStopwatchCountsSecondsAndEndsWithItsView() async throws {
        var stopwatch: Stopwatch? = Stopwatch()
        try stopwatch?.start(on: virtual.service)
        await virtual.advance(by: .seconds(600))
        #expect(stopwatch?.seconds == 600)
        stopwatch = nil
        await virtual.advance(by: .seconds(1))
        #expect(virtual.pendingCount == 0, "\(virtual)")
    }

    @Test func aCacheForgetsAMinuteAfterTheLastRead() async throws {
        let cache = Cache()
        try await cache.put("value", on: virtual.service)
        await virtual.advance(by: .seconds(59))
        #expect(try await cache.read() == "value")
        await virtual.advance(by: .seconds(59))
        #expect(await cache.value == "value")
        await virtual.advance(by: .seconds(1))
        #expect(await cache.value == nil)
    }

    @Test func aDiaryNotesEachHourOfADay() async throws {
        let (diary, start, service) = (Diary(), virtual.now, virtual.service)
        try await virtual.run { try await diary.keep(on: service) }
        #expect(await diary.hours == Array(1...24))
        #expect(virtual.now == start.advanced(by: .seconds(24 * 3_600)))
    }

    @Test func anOperationWithoutAnAnswerTimesOut() async {
        let (start, service) = (virtual.now, virtual.service)
        await #expect(throws: TimeoutError.self) {
            try await virtual.run {
                try await withTimeout(.seconds(30), on: service) { try await service.clock.sleep(for: .seconds(3_600)) }
            }
        }
        #expect(virtual.now == start.advanced(by: .seconds(30)))
    }
}

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
