import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// A timer on demand ticks after a reschedule and rests otherwise; on virtual time.
struct OnDemandTests {
    private let scene = Scene()

    @Test func aRestingTimerIsScheduledAndHasNoDeadline() throws {
        let timer = try scene.timer(.onDemand, paused: true)
        #expect(timer.state == .paused && timer.resume())
        scene.advance(86_400_000)
        #expect(timer.state == .scheduled && scene.virtual.pendingCount == 1)
        #expect([timer.nextDeadline, scene.virtual.nextDeadline] == [nil, nil] && timer.period == nil)
        #expect(scene.ticks == "")
    }

    private static let once = PreciseTimer.Schedule.once(after: .milliseconds(10))

    @Test(
        arguments: [
            (
                "a deadline is discarded", .onDemand,
                [
                    .reschedule(once), .advance(9), .reschedule(.onDemand), .advance(991), .reschedule(once),
                    .advance(10),
                ],
                "0@1010"
            ),
            (
                "a period ends", .every(.milliseconds(10)),
                [
                    .advance(10), .reschedule(.onDemand), .advance(990), .reschedule(once), .advance(20), .fire,
                    .advance(0),
                ],
                "0@10, 0@1010, extra 1@1020"
            ),
            (
                "a single deadline is no end", once,
                [
                    .advance(9), .reschedule(.onDemand), .advance(991), .reschedule(once), .advance(20), .fire,
                    .advance(0),
                ],
                "0@1010, extra 1@1020"
            ),
            (
                "firing gives one tick", .onDemand,
                [.advance(10), .fire, .fire, .advance(10), .fire, .advance(0)], "extra 0@10, extra 0@20"
            ),
            (
                "firing leaves a deadline alone", .onDemand,
                [.reschedule(once), .advance(4), .fire, .advance(16), .fire, .advance(0)],
                "extra 0@4, 0@10, extra 1@20"
            ),
            (
                "it can be paused", .onDemand,
                [.pause, .reschedule(once), .advance(25), .reschedule(once), .advance(25), .fire, .advance(5), .resume]
                    + [.advance(9), .fire, .advance(0)],
                "0@35 late 20, extra 1@50 late 5, extra 1@64"
            ),
        ] as [Play]
    )
    func aTimerRestsUntilItIsRescheduledOrFired(play: Play) throws { try expectTicks(of: play) }
}

/// A timer on demand keeps its promises on every backend and on virtual time.
@Suite(.waits("every backend fires by its own clock"), .timeLimit(.minutes(60))) struct OnDemandPromiseTests {
    private let log = Log()

    @Test(arguments: Ground.all)
    func aRescheduleByAnotherThreadWhileTheHandlerRunsTakesEffect(ground: Ground) throws {
        let site = try ground.site()
        let (entered, isSet) = (Gate(), Gate())
        let timer = try PreciseTimer.schedule(.onDemand, on: site.service, target: log) { log, tick in
            log.note(tick)
            if log.count > 1 { return }
            entered.open()
            isSet.pass()
        }
        try timer.reschedule(.once(after: .milliseconds(1)))
        // On virtual time, handlers run on the thread that moves the time.
        try onThreads(2) { thread in
            if thread == 0 { return site.pass(.milliseconds(5)) }
            entered.pass()
            #expect(throws: Never.self) { try timer.reschedule(.once(after: .milliseconds(1))) }
            isSet.open()
        }
        #expect(site.until { log.count == 2 })
        site.pass(.milliseconds(5))
        #expect(log.ticks.map(\.index) == [0, 0] && log.ticks.allSatisfy { $0.flawInTime == nil })
        #expect(timer.state == .scheduled && timer.nextDeadline == nil)
    }

    @Test(arguments: Ground.all)
    func theLastOfManyReschedulesIsServedAndNoDeadlineTwice(ground: Ground) throws {
        let (site, delay) = (try ground.site(), Duration.microseconds(100))
        let timer = try PreciseTimer.schedule(.onDemand, on: site.service, target: log) { $0.note($1) }
        var last = site.service.now
        for round in 0..<500 {
            last = site.service.now
            try timer.reschedule(.once(after: delay))
            // Before, at or after the deadline, so that the next reschedule meets the tick at each place on its way.
            if round % 3 > 0 { site.pass(.microseconds(round % 29 * 10)) }
        }
        #expect(site.until { log.ticks.last.map { $0.deadline >= last.advanced(by: delay) } ?? false })
        site.pass(.milliseconds(2))
        #expect(zip(log.ticks, log.ticks.dropFirst()).allSatisfy { $0.deadline < $1.deadline }, "no tick comes twice")
        #expect(log.ticks.allSatisfy { $0.index == 0 && $0.missed == 0 && $0.flawInTime == nil })
        #expect(timer.state == .scheduled && timer.nextDeadline == nil && log.count <= 500)
    }
}
