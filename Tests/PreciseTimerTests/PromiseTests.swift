import Foundation
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

/// Promises 1 to 5, on every backend and on virtual time: no tick early, no drift, no deadline lost, one handler at a
/// time, and ticks in order.
@Suite(.waits("every backend fires by its own clock"), .timeLimit(.minutes(60))) struct PromiseTests {
    @Test(arguments: Ground.all)
    func ticksAreNeverEarlyAndNoDeadlineIsLost(ground: Ground) throws {
        let site = try ground.site()
        let service = site.service
        let (log, start) = (Log(), service.now.advanced(by: .milliseconds(2)))
        let early = Notes<Int>()
        let timer = try PreciseTimer.schedule(.every(.milliseconds(1), at: start), on: service, target: log) {
            if service.now < $1.deadline { early.append($1.index) }
            $0.note($1)
        }
        #expect(site.until { log.count >= 300 })
        timer.cancel()

        #expect(early.all == [])
        let ticks = log.ticks
        #expect(ticks.flaw(from: start, every: .milliseconds(1)) == nil)
        // An independent count: the deadlines that had passed when the clock was last read.
        let woke = try #require(ticks.last?.woke)
        #expect(ticks.accounted == Int(start.duration(to: woke) / .milliseconds(1)) + 1)
    }

    @Test(arguments: Ground.all)
    func aHandlerSlowerThanItsPeriodNeverOverlapsAndItsMissesAreCounted(ground: Ground) throws {
        let site = try ground.site()
        let (log, running, overlaps) = (Log(), Count(), Count())
        let start = site.service.now.advanced(by: .milliseconds(2))
        let timer = try PreciseTimer.schedule(.every(.milliseconds(2), at: start), on: site.service, target: log) {
            if running.add(1) > 1 { overlaps.add(1) }
            if site.virtual == nil { pause(.milliseconds(5)) }
            $0.note($1)
            running.add(-1)
        }
        while log.count < 40 { try site.stall(.milliseconds(5)) }
        timer.cancel()
        #expect(overlaps.value == 0)
        let ticks = log.ticks
        #expect(ticks.dropFirst().allSatisfy { $0.missed >= 1 }, "5 ms of work miss a deadline of 2 ms each time")
        #expect(ticks.flaw(from: start, every: .milliseconds(2)) == nil)
    }

    @Test(arguments: Ground.all)
    func ticksComeInOrderOfDeadlineAndThenOfScheduling(ground: Ground) throws {
        let site = try ground.site()
        let (service, order) = (site.service, Notes<Int>())
        // From inside a handler, so that no tick can be delivered before all timers are scheduled.
        try PreciseTimer.schedule(.once(after: .zero), on: service, target: order) { order, _ in
            let start = service.now.advanced(by: .milliseconds(5))
            for number in 0..<100 {
                let schedule = PreciseTimer.Schedule.once(at: start.advanced(by: .microseconds(number % 5 * 100)))
                _ = try? PreciseTimer.schedule(schedule, on: service, target: order) { order, _ in order.append(number)
                }
            }
        }
        #expect(site.until { order.all.count == 100 })
        #expect(order.all == (0..<5).flatMap { Array(stride(from: $0, to: 100, by: 5)) })
    }

    @Test(arguments: Ground.all)
    func schedulingForNowInAHandlerDoesNotStarveOtherTimers(ground: Ground) throws {
        let site = try ground.site()
        let (chain, sibling) = (Count(), Log())
        // The timer schedules itself for now until the other one has ticked. Virtual time stands still meanwhile.
        let goesOn = { @Sendable in site.virtual == nil ? sibling.count == 0 : chain.value < 2_000 }
        let first = try PreciseTimer.schedule(.once(after: .zero), on: site.service) { timer, _ in
            chain.add(1)
            if goesOn() { try? timer.reschedule(.once(after: .zero)) }
        }
        try PreciseTimer.schedule(.once(after: .milliseconds(1)), on: site.service, target: sibling) { $0.note($1) }
        #expect(site.until { sibling.count == 1 && site.service.pendingCount == 0 })
        #expect(chain.value > 1)
        withExtendedLifetime(first) {}
    }
}

/// Ticks that a test makes itself.
struct TickTests {
    /// What is not told is on time, and a tick is delivered when it woke.
    @Test func latenessIsThatOfTheWakeUpAndThatOfTheHop() {
        let due = TimerInstant(nanoseconds: 1_000, clock: .wall)
        let (woke, delivered) = (due.advanced(by: .nanoseconds(20)), due.advanced(by: .nanoseconds(25)))
        let lateness = [
            PreciseTimer.Tick(deadline: due), PreciseTimer.Tick(deadline: due, woke: woke),
            PreciseTimer.Tick(deadline: due, delivered: delivered),
            PreciseTimer.Tick(deadline: due, woke: woke, delivered: delivered),
        ]
        .map { [$0.lateness, $0.wakeLateness, $0.hopLateness].map { Int($0 / .nanoseconds(1)) } }
        #expect(lateness == [[0, 0, 0], [20, 20, 0], [25, 0, 25], [25, 20, 5]])
    }

    /// It woke before its deadline, it was delivered before it woke, or its instants are of two clocks.
    @Test func aTickThatCannotBeIsAProgrammingError() async {
        await #expect(processExitsWith: .failure) {
            let due = TimerInstant(nanoseconds: 1_000)
            _ = PreciseTimer.Tick(deadline: due, woke: due.advanced(by: .nanoseconds(-1)), delivered: due)
        }
        await #expect(processExitsWith: .failure) {
            let due = TimerInstant(nanoseconds: 1_000)
            _ = PreciseTimer.Tick(deadline: due, woke: due.advanced(by: .nanoseconds(1)), delivered: due)
        }
        await #expect(processExitsWith: .failure) {
            let due = TimerInstant(nanoseconds: 1_000)
            _ = PreciseTimer.Tick(deadline: due, delivered: TimerInstant(nanoseconds: 1_000, clock: .wall))
        }
    }
}

/// Backends rarely wake early: a deadline is rounded up on its way to the mechanism, so that a tick costs one firing.
/// The hybrid backend fires early on purpose.
@Suite(.waits("the kernel rounds the time of a firing"), .timeLimit(.minutes(60))) struct RoundingTests {
    @Test(arguments: TimerService.Backend.available.filter { $0 != .hybrid })
    func firingsRarelyComeBeforeTheirDeadline(backend: TimerService.Backend) throws {
        let alarm = try backend.makeAlarm()
        let (early, firings, deadline) = (Count(), Count(), Box<TimerInstant>())
        try alarm.start(
            onFire: {
                guard let due = deadline.value else { return }
                if alarm.now < due { early.add(1) }
                firings.add(1)
            },
            onFailure: { _ in }
        )
        defer { alarm.stop() }
        for round in 1...100 {
            // An instant with a fraction of a microsecond.
            let now = alarm.now.nanoseconds
            let due = TimerInstant(nanoseconds: (now / 1000 + 500) * 1000 + 1 + UInt64(round % 999))
            deadline.value = due
            try alarm.set(due)
            #expect(eventually { firings.value >= round })
        }
        #expect(early.value <= 10)
    }

    #if RunLoop
    @Test func aRunLoopsFireDateIsAFewMicrosecondsAfterItsDeadlineAndNeverBefore() {
        var generator = SeededGenerator(seed: 1)
        // Between 2026 and 2030, and up to an hour ahead.
        for _ in 0..<10_000 {
            let wall = UInt64.random(in: 1_767_225_600_000_000_000...1_900_000_000_000_000_000, using: &generator)
            let delay = UInt64.random(in: 0...3_600_000_000_000, using: &generator)
            let date = RunLoopAlarm.fireDate(TimerInstant(nanoseconds: wall, clock: .wall), in: delay)
            // Without the whole seconds, which would leave a `Double` too few digits for nanoseconds.
            let late = (date.timeIntervalSince1970 - Double((wall + delay) / 1_000_000_000)) * 1e9
            #expect((1_500...4_000).contains(late - Double((wall + delay) % 1_000_000_000)))
        }
    }
    #endif
}
