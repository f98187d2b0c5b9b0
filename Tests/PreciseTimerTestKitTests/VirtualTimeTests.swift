import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Virtual time moves only when a test moves it, and delivers all due ticks.
struct VirtualTimeTests {
    private let virtual = VirtualTime()
    private let log = Log()

    @Test func nothingHappensUntilTimeMoves() throws {
        try schedule(.once(after: .zero))
        #expect(log.ticks.isEmpty)
        #expect(virtual.pendingCount == 1)
        virtual.advance(by: .zero)
        #expect(log.ticks.count == 1)
        #expect(virtual.pendingCount == 0)
    }

    @Test func advancingStopsAtEveryDeadline() throws {
        try schedule(.every(.milliseconds(10)))
        virtual.advance(by: .milliseconds(35))
        #expect(log.ticks.map(\.index) == [0, 1, 2])
        #expect(log.ticks.allSatisfy { $0.lateness == .zero && $0.missed == 0 })
    }

    @Test func advancingMovesTheClockByExactlyThatMuch() {
        let start = virtual.now
        virtual.advance(by: .nanoseconds(12_345))
        #expect(start.duration(to: virtual.now) == .nanoseconds(12_345))
        #expect(virtual.service.now == virtual.now)
    }

    @Test func aJumpDeliversOnArrivalOnly() throws {
        try schedule(.every(.milliseconds(10)))
        virtual.jump(by: .milliseconds(35))
        #expect(log.ticks.map(\.index) == [0])
        #expect(log.ticks.map(\.missed) == [2])
        #expect(log.ticks.map(\.lateness) == [.milliseconds(25)])
    }

    @Test func aTimerScheduledByAHandlerTicksWithinTheSameAdvance() throws {
        let (service, log) = (virtual.service, log)
        try PreciseTimer.schedule(.once(after: .milliseconds(1)), on: service, target: log) { log, tick in
            log.note(tick)
            _ = try? PreciseTimer.schedule(.once(after: .milliseconds(1)), on: service, target: log) { $0.note($1) }
        }
        virtual.advance(by: .milliseconds(2))
        #expect(log.ticks.count == 2)
        #expect(virtual.pendingCount == 0)
    }

    @Test func manyTimersWithOneSeedTickTheSameTwice() throws {
        #expect(try trace(seed: 1) == trace(seed: 1))
        #expect(try trace(seed: 1) != trace(seed: 2))
    }

    @discardableResult
    private func schedule(_ schedule: PreciseTimer.Schedule) throws -> PreciseTimer {
        try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { $0.note($1) }
    }

    private func trace(seed: UInt64) throws -> [PreciseTimer.Tick] {
        let (virtual, log) = (VirtualTime(), Log())
        var state = seed
        for _ in 0..<Effort.of(1_000, thorough: 10_000) {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let period = Duration.microseconds(Int64(state >> 44) + 1)
            try PreciseTimer.schedule(.every(period), on: virtual.service, target: log) { $0.note($1) }
        }
        virtual.advance(by: .milliseconds(300))
        virtual.jump(by: .milliseconds(700))
        return log.ticks
    }
}
