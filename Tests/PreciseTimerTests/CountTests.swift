import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Schedules with a count of ticks. `ModelTests` has them, too, beside everything else.
struct CountTests {
    @Test(arguments: Ground.all)
    func aTimerEndsAfterItsLastTick(ground: Ground) throws {
        let (site, log, endings) = (try ground.site(), Log(), Notes<PreciseTimer.EndReason>())
        let period = Duration.milliseconds(2)
        for schedule in [
            PreciseTimer.Schedule.every(period, count: 5), .every(period, at: site.service.now, count: 5),
            .every(period, alignedTo: .origin(on: .suspending), count: 5), .rate(500, per: .seconds(1), count: 5),
            .fixedDelay(period, count: 5),
        ] {
            let before = log.count
            let timer = try PreciseTimer.schedule(schedule, on: site.service, target: log, onEnd: endings.append) {
                $0.note($1)
            }
            #expect(site.until { timer.state == .ended(.completed) })
            site.pass(.milliseconds(10))
            #expect(log.count == before + 5, "\(schedule)")
            #expect(timer.nextDeadline == nil)
        }
        #expect(endings.all == Array(repeating: .completed, count: 5))
    }

    @Test func aLateTickIsOneTickHoweverManyDeadlinesItMissed() throws {
        let (virtual, log) = (VirtualTime(), Log())
        try PreciseTimer.schedule(.every(.seconds(1), count: 3), on: virtual.service, target: log) { $0.note($1) }
        virtual.jump(by: .seconds(10))
        virtual.advance(by: .seconds(10))
        #expect(log.ticks.map(\.index) == [0, 10, 11])
        #expect(log.ticks.map(\.missed) == [9, 0, 0])
    }

    @Test func lateTicksThatCatchUpAreCountedOneByOne() throws {
        let (virtual, log) = (VirtualTime(), Log())
        try PreciseTimer.schedule(
            .every(.seconds(1), count: 3),
            on: virtual.service,
            missedTicks: .catchUp(limit: 5),
            target: log
        ) { $0.note($1) }
        virtual.jump(by: .seconds(10))
        #expect(log.ticks.map(\.index) == [0, 1, 2])
        #expect(virtual.pendingCount == 0)
    }

    @Test func aGridThatRestartsKeepsItsCount() throws {
        let (virtual, log) = (VirtualTime(), Log())
        try PreciseTimer.schedule(
            .every(.seconds(1), count: 3),
            on: virtual.service,
            missedTicks: .delay,
            target: log
        ) { $0.note($1) }
        virtual.jump(by: .milliseconds(2_500))
        virtual.advance(by: .seconds(10))
        #expect(log.count == 3)
        #expect(virtual.pendingCount == 0)
    }

    @Test func extraTicksAreNotCounted() throws {
        let (virtual, log) = (VirtualTime(), Log())
        let timer = try PreciseTimer.schedule(.every(.seconds(1), count: 2), on: virtual.service, target: log) {
            $0.note($1)
        }
        for _ in 0..<3 {
            timer.fire()
            virtual.advance(by: .zero)
        }
        virtual.advance(by: .seconds(5))
        #expect(log.count == 5)
        #expect(timer.state == .ended(.completed))
    }

    @Test func anExtraTickAfterTheLastOneIsDelivered() throws {
        let (virtual, log) = (VirtualTime(), Log())
        let box = Box<PreciseTimer>()
        box.value = try PreciseTimer.schedule(.every(.seconds(1), count: 1), on: virtual.service, target: log) {
            $0.note($1)
            if $1.index == 0, $0.count == 1 { box.value?.fire() }
        }
        virtual.advance(by: .seconds(5))
        #expect(log.count == 2)
        #expect(virtual.pendingCount == 0)
    }

    @Test(arguments: Ground.all)
    func aTimerOnDemandRestsAfterItsLastTick(ground: Ground) throws {
        let (site, log) = (try ground.site(), Log())
        let timer = try PreciseTimer.schedule(.onDemand, on: site.service, target: log) { $0.note($1) }
        for round in 1...3 {
            try timer.reschedule(.every(.milliseconds(2), count: 2))
            #expect(site.until { log.count == 2 * round })
            site.pass(.milliseconds(10))
            #expect(log.count == 2 * round)
            #expect(timer.state == .scheduled)
        }
        timer.cancel()
    }

    @Test func aTimerThatRestsAfterItsLastTickHasNoDeadlineAndNoPeriod() throws {
        let (virtual, log) = (VirtualTime(), Log())
        let timer = try PreciseTimer.schedule(.onDemand, on: virtual.service, target: log) { $0.note($1) }
        for schedule in [PreciseTimer.Schedule.every(.seconds(1), count: 2), .fixedDelay(.seconds(1), count: 2)] {
            try timer.reschedule(schedule)
            #expect(timer.period == .seconds(1))
            virtual.advance(by: .seconds(10))
            #expect(timer.state == .scheduled)
            #expect(timer.nextDeadline == nil)
            #expect(timer.period == nil)
            #expect(timer.description.hasSuffix(": scheduled"))
        }
    }

    @Test func reschedulingInTheLastHandlerGoesOnWithAnewCount() throws {
        let (virtual, log) = (VirtualTime(), Log())
        let box = Box<PreciseTimer>()
        let timer = try PreciseTimer.schedule(.every(.seconds(1), count: 2), on: virtual.service, target: log) {
            $0.note($1)
            if $0.count == 2 { try? box.value?.reschedule(.fixedDelay(.seconds(2), count: 3)) }
        }
        box.value = timer
        virtual.advance(by: .seconds(60))
        #expect(log.count == 5)
        #expect(timer.state == .ended(.completed))
        box.value = nil
    }

    @Test(arguments: [0, -1, Int.min])
    func aCountBelowOneIsRefused(count: Int) throws {
        let (virtual, log) = (VirtualTime(), Log())
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { $0.note($1) }
        for schedule in [
            PreciseTimer.Schedule.every(.seconds(1), count: count), .rate(1, per: .seconds(1), count: count),
            .fixedDelay(.seconds(1), count: count),
        ] {
            let error = #expect(throws: TimerError.self) { try timer.reschedule(schedule) }
            #expect(error?.attempted == "scheduling \(count) ticks (the count must be at least 1)")
        }
        virtual.advance(by: .seconds(2))
        #expect(log.count == 2, "a refused reschedule leaves the timer as it was")
    }
}
