import PreciseTimer
import PreciseTimerTestKit
import Testing

/// Tests of code with timers: hours pass at once, and no test sleeps.
struct VirtualTimeTests {
    let virtual = VirtualTime()

    @Test @MainActor func aStopwatchCountsSecondsAndEndsWithItsView() async throws {
        var stopwatch: Stopwatch? = Stopwatch()
        try stopwatch?.start(on: virtual.service)
        virtual.advance(by: .seconds(3_600))
        await virtual.settle()
        #expect(stopwatch?.seconds == 3_600)
        stopwatch = nil
        virtual.advance(by: .seconds(1))
        #expect(virtual.pendingCount == 0)
    }

    @Test func aCacheForgetsAMinuteAfterTheLastRead() async throws {
        let cache = Cache()
        try await cache.put("value", on: virtual.service)
        virtual.advance(by: .seconds(59))
        await virtual.settle()
        #expect(try await cache.read() == "value")
        virtual.advance(by: .seconds(59))
        await virtual.settle()
        #expect(await cache.value == "value")
        virtual.advance(by: .seconds(1))
        await virtual.settle()
        #expect(await cache.value == nil)
    }

    @Test func aDiaryNotesEachHourOfADay() async throws {
        let diary = Diary()
        let keeping = Task { [service = virtual.service] in try await diary.keep(on: service) }
        while virtual.pendingCount == 0 { await virtual.settle() }
        for _ in 1...24 {
            virtual.advance(by: .seconds(3_600))
            await virtual.settle()
        }
        try await keeping.value
        #expect(await diary.hours == Array(1...24))
    }

    @Test func anOperationWithoutAnAnswerTimesOut() async {
        let asking = Task { [service = virtual.service] in
            try await withTimeout(.seconds(30), on: service) { try await Task.sleep(for: .seconds(3_600)) }
        }
        while virtual.pendingCount == 0 { await virtual.settle() }
        virtual.advance(by: .seconds(30))
        await #expect(throws: PreciseTimer.TimeoutError.self) { try await asking.value }
    }
}
