import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// The ways in which a test moves time.
enum WayOfTime: CaseIterable, Sendable {
    case jump, advance, asyncAdvance

    func move(_ virtual: VirtualTime, by duration: Duration) async {
        if self == .asyncAdvance { await virtual.advance(by: duration) } else { moveHere(virtual, by: duration) }
    }

    /// In a handler, in which nothing can be awaited.
    func moveHere(_ virtual: VirtualTime, by duration: Duration) {
        if self == .jump { virtual.jump(by: duration) } else { virtual.advanceWithoutSettling(by: duration) }
    }
}

/// Virtual time moves only when a test moves it.
struct VirtualTimeTests {
    /// A search at the end of the first step is the last one before.
    @Test(arguments: WayOfTime.allCases)
    func aReleasedTargetIsSearchedForASecondAfterTheLastSearch(way: WayOfTime) async throws {
        let virtual = VirtualTime()
        var (target, counts): (Thing?, [Int]) = (Thing(), [])
        try PreciseTimer.schedule(.onDemand, on: virtual.service, target: try #require(target)) { _, _ in }
        for time in [2_500, 999, 1] {
            await way.move(virtual, by: .milliseconds(time))
            counts.append(virtual.pendingCount)
            target = nil
        }
        #expect(counts == [1, 1, 0])
    }
}

/// A virtual alarm that repeats by itself.
struct VirtualRepetitionTests {
    @Test(arguments: [
        (VirtualTime.Fault.stall(.zero), 15, [15, 25, 35]), (.stall(.milliseconds(28)), 15, [28, 35]),
        (.wakeLate(by: .milliseconds(3)), 15, [18, 25, 35]), (.wakeEarly(by: .milliseconds(4)), 15, [11, 15, 25, 35]),
        (.stall(.zero), -24, [0, 6, 16, 26]),
    ])
    func aFiringAtAnotherTimeDoesNotMoveTheGrid(fault: VirtualTime.Fault, first: Int, expected: [Int]) {
        let (alarm, firings) = (VirtualAlarm(), Notes<Int>())
        let start = alarm.now
        alarm.start(
            onFire: { firings.append(Int(start.duration(to: alarm.now) / .milliseconds(1))) },
            onFailure: { _ in }
        )
        #expect(alarm.set(start.advanced(by: .milliseconds(first)), every: 10_000_000))
        alarm.inject(fault, after: .zero)
        alarm.advance(by: .milliseconds(35))
        #expect(firings.all == expected)
    }

    /// A `deinit` may use the alarm, so its lock is not held.
    @Test func aStoppedAlarmLetsGoOfWhatItCalls() {
        let (alarm, released, ends) = (VirtualAlarm(), Count(), Count())
        let captured = { Thing { released.add(alarm.now.isNever ? 0 : 1) } }
        alarm.start(onFire: { [captured = captured()] in withExtendedLifetime(captured) {} }, onFailure: { _ in })
        _ = alarm.watchClock(
            { [captured = captured()] _ in withExtendedLifetime(captured) {} },
            onEnd: { ends.add(1) }
        )
        #expect([released.value, ends.value] == [0, 0])
        alarm.stop()
        #expect([released.value, ends.value] == [2, 1])
    }
}

/// A handler that moves time keeps no deadline from the call that it came in.
struct MovedTimeTests {
    private let virtual: VirtualTime
    private let log: TickLog

    init() {
        virtual = VirtualTime()
        log = TickLog(virtual)
    }

    @Test(arguments: WayOfTime.allCases, [WayOfTime.jump, .advance])
    func aDeadlineBeforeTheEndComesInTheSameCall(way: WayOfTime, inner: WayOfTime) async throws {
        let (virtual, log) = (virtual, log)
        try PreciseTimer.schedule(.once(after: .seconds(1)), on: virtual.service, target: log) { _, tick in
            inner.moveHere(virtual, by: .seconds(10))
            // It has passed, and waits for the next round.
            let late = PreciseTimer.Schedule.once(at: tick.deadline.advanced(by: .seconds(1)))
            _ = try? PreciseTimer.schedule(late, on: virtual.service, target: log) { $0.note($1) }
        }
        try PreciseTimer.schedule(.once(after: .seconds(2)), on: virtual.service, target: log) { $0.note($1) }
        await way.move(virtual, by: .seconds(3))
        #expect(log.deadlines == [.seconds(2), .seconds(2)] && virtual.pendingCount == 0, "\(virtual)")
    }

    /// Otherwise a handler that takes longer than the period would hold the call for ever.
    @Test(arguments: WayOfTime.allCases, [WayOfTime.jump, .advance])
    func aDeadlineAfterTheEndWaitsForTheNextCall(way: WayOfTime, inner: WayOfTime) async throws {
        let virtual = virtual
        try PreciseTimer.schedule(.every(.seconds(3)), on: virtual.service, target: log) { log, tick in
            log.note(tick)
            inner.moveHere(virtual, by: .seconds(10))
        }
        await way.move(virtual, by: .seconds(3))
        #expect(log.deadlines == [.seconds(3)])
        await way.move(virtual, by: .zero)
        #expect(log.deadlines == [.seconds(3), .seconds(6)] && log.missed == [0, 2])
    }
}
