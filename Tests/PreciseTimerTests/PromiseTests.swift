import PreciseTimer
import TestSupport
import Testing

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
    func aRateWithAFractionalNanosecondStepDoesNotDrift(ground: Ground) throws {
        let site = try ground.site()
        let log = Log()
        let earliest = site.service.now
        // 7 ticks in 10 ms, the first one step after the start.
        let timer = try PreciseTimer.schedule(.rate(7, per: .milliseconds(10)), on: site.service, target: log) {
            $0.note($1)
        }
        let latest = site.service.now
        #expect(site.until { log.count >= 100 })
        timer.cancel()
        let first = try #require(log.ticks.first).deadline
        // Deadlines are rounded up, so only whole groups of seven, which take exactly 10 ms, are compared.
        for tick in log.ticks where tick.index % 7 == 0 {
            #expect(first.duration(to: tick.deadline) == .milliseconds(10) * Int(tick.index / 7))
        }
        #expect(log.ticks.allSatisfy { $0.flawInTime == nil })
        let step = Duration.nanoseconds(1_428_572)
        #expect(earliest.advanced(by: step) <= first)
        #expect(first <= latest.advanced(by: step))
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
        #expect(order.all == (0..<5).flatMap { phase in (0..<20).map { $0 * 5 + phase } })
    }

    @Test(arguments: Ground.all)
    func catchingUpDeliversAtMostTheLimitPerLookAndTheLastTickCountsTheRest(ground: Ground) throws {
        let site = try ground.site()
        let (log, start) = (Log(), site.service.now.advanced(by: .milliseconds(1)))
        let timer = try PreciseTimer.schedule(
            .every(.milliseconds(1), at: start),
            on: site.service,
            missedTicks: .catchUp(limit: 3),
            target: log
        ) { $0.note($1) }
        for _ in 0..<5 {
            try site.stall(.milliseconds(12))
            site.pass(.milliseconds(3))
        }
        #expect(site.until { log.count >= 30 })
        timer.cancel()
        let ticks = log.ticks
        #expect(ticks.flaw(from: start, every: .milliseconds(1)) == nil)
        let rounds = ticks.rounds.dropLast()
        #expect(rounds.allSatisfy { $0.count <= 3 })
        #expect(rounds.allSatisfy { $0.dropLast().allSatisfy { $0.missed == 0 } })
        #expect(rounds.contains { $0.count == 3 && ($0.last?.missed ?? 0) >= 5 }, "a stall of 12 ms is seen")
        for round in rounds {
            let last = try #require(round.last)
            #expect(last.index + last.missed == Int(start.duration(to: last.woke) / .milliseconds(1)))
        }
    }

    @Test(arguments: Ground.all)
    func delayCountsDroppedDeadlinesAndRestartsTheGrid(ground: Ground) throws {
        let site = try ground.site()
        let (log, period) = (Log(), Duration.milliseconds(2))
        let timer = try PreciseTimer.schedule(
            .every(period),
            on: site.service,
            missedTicks: .delay,
            target: log
        ) { $0.note($1) }
        for _ in 0..<5 {
            try site.stall(.milliseconds(11))
            site.pass(.milliseconds(5))
        }
        #expect(site.until { log.count >= 20 })
        timer.cancel()
        let ticks = log.ticks
        #expect(ticks.contains { $0.missed >= 3 }, "a stall of 11 ms is seen")
        for (tick, next) in zip(ticks, ticks.dropFirst()) {
            #expect(tick.missed == Int(tick.wakeLateness / period))
            #expect(next.index == tick.index + 1 + tick.missed)
            #expect(next.deadline == (tick.missed > 0 ? tick.woke : tick.deadline).advanced(by: period))
        }
        #expect(ticks.allSatisfy { $0.flawInTime == nil })
    }

    @Test(arguments: Ground.all)
    func aFixedDelayIsMeasuredFromTheReturnOfTheHandler(ground: Ground) throws {
        let site = try ground.site()
        let (log, returns) = (Log(), Notes<TimerInstant>())
        let service = site.service
        let timer = try PreciseTimer.schedule(.fixedDelay(.milliseconds(1)), on: service, target: log) { log, tick in
            log.note(tick)
            returns.append(service.now)
        }
        #expect(site.until { log.count >= 20 })
        timer.cancel()
        #expect(log.ticks.enumerated().allSatisfy { $1.index == $0 && $1.missed == 0 && $1.flawInTime == nil })
        for (returned, next) in zip(returns.all, log.ticks.dropFirst()) {
            #expect(returned.advanced(by: .milliseconds(1)) <= next.deadline)
        }
    }

    @Test(arguments: Ground.all)
    func schedulingForNowInAHandlerDoesNotStarveOtherTimers(ground: Ground) throws {
        let site = try ground.site()
        let chain = Chain(service: site.service, length: 2_000)
        chain.goOn()
        let sibling = Log()
        try PreciseTimer.schedule(.once(after: .milliseconds(1)), on: site.service, target: sibling) { $0.note($1) }
        #expect(site.until { chain.left == 0 })
        #expect(site.until { sibling.count == 1 })
        #expect(site.until { site.service.pendingCount == 0 })
    }

    // Not on virtual time, which would stop at every nanosecond.
    @Test(arguments: TimerService.Backend.available)
    func aPeriodOfOneNanosecondDoesNotStarveOtherTimers(backend: TimerService.Backend) throws {
        let service = try TimerService(backend)
        let (busy, other) = (Notes<Int>(), Log())
        let timer = try PreciseTimer.schedule(.every(.nanoseconds(1)), on: service, target: busy) { busy, tick in
            if tick.index % 1_000 == 0 { busy.append(tick.index) }
        }
        try PreciseTimer.schedule(.every(.milliseconds(5)), on: service, target: other) { $0.note($1) }
        #expect(eventually { other.count >= 10 })
        #expect(timer.cancel())
    }

    /// Schedules itself again for now, a given number of times.
    private final class Chain: Sendable {
        private let service: TimerService
        private let done = Count()
        private let length: Int

        init(service: TimerService, length: Int) {
            self.service = service
            self.length = length
        }

        var left: Int { length - done.value }

        func goOn() {
            _ = try? PreciseTimer.schedule(.once(after: .zero), on: service, target: self) { chain, _ in
                if chain.done.add(1) < chain.length { chain.goOn() }
            }
        }
    }
}
