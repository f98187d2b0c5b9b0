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
        let diary = Diary()
        let keeping = Task { [service = virtual.service] in try await diary.keep(on: service) }
        while virtual.pendingCount == 0 { await virtual.settle() }
        await virtual.advance(by: .seconds(24 * 3_600))
        try await keeping.value
        #expect(await diary.hours == Array(1...24))
    }

    @Test func anOperationWithoutAnAnswerTimesOut() async {
        let asking = Task { [service = virtual.service] in
            try await withTimeout(.seconds(30), on: service) { try await Task.sleep(for: .seconds(3_600)) }
        }
        while virtual.pendingCount == 0 { await virtual.settle() }
        await virtual.advance(by: .seconds(30))
        await #expect(throws: TimeoutError.self) { try await asking.value }
    }
}
