import Dispatch
import PreciseTimer
import TestSupport
import Testing

/// The replacements for patterns around NSTimer, with a group for each section of the guide ComingFromNSTimer: on every
/// backend and on virtual time, which also asserts the exact ticks.
@Suite(.waits("every backend and the main run loop fire by themselves"), .timeLimit(.minutes(60)))
struct ComingFromNSTimerTests {
    let log = Log()
}

// MARK: Block form with ids

extension ComingFromNSTimerTests {
    @Test(arguments: Ground.all)
    func oneCallTakesStartDelayPeriodAndQueue(ground: Ground) throws {
        let site = try ground.site()
        let queue = DispatchQueue(label: "test.work")
        let key = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: key, value: true)
        let isOnQueue = Notes<Bool>()
        let earliest = site.service.now.advanced(by: .milliseconds(5))
        let timer = try PreciseTimer.schedule(
            .every(.milliseconds(2), after: .milliseconds(5)),
            on: site.service,
            deliver: .queue(queue),
            target: log
        ) { log, tick in
            isOnQueue.append(DispatchQueue.getSpecific(key: key) ?? false)
            log.note(tick)
        }
        let latest = site.service.now.advanced(by: .milliseconds(5))
        for _ in 0..<9 {
            site.pass(.milliseconds(1))
            queue.sync {}
        }
        #expect(site.pass(.zero) { log.count >= 3 })
        timer.cancel()
        queue.sync {}

        let first = try #require(log.ticks.first).deadline
        #expect((earliest...latest).contains(first))
        #expect(log.ticks.flaw(from: first, every: .milliseconds(2)) == nil)
        #expect(isOnQueue.all == Array(repeating: true, count: log.count))
        if site.virtual != nil { #expect(log.ticks.map(\.index) == [0, 1, 2]) }
    }

    @Test(arguments: Ground.all)
    func aTimerWithoutRepetitionTicksOnce(ground: Ground) throws {
        let site = try ground.site()
        let (service, clock) = (site.service, Notes<TimerInstant>())
        let earliest = service.now.advanced(by: .milliseconds(5))
        try PreciseTimer.schedule(.once(after: .milliseconds(5)), on: service, target: log) {
            clock.append(service.now)
            $0.note($1)
        }
        let latest = service.now.advanced(by: .milliseconds(5))
        #expect(site.pass(.milliseconds(60)) { log.count >= 1 && service.pendingCount == 0 })
        site.pass(.milliseconds(10))
        #expect(log.count == 1)
        let tick = try #require(log.ticks.first)
        #expect((earliest...latest).contains(tick.deadline))
        #expect(clock.all.allSatisfy { tick.deadline <= $0 }, "by the clock, too, it is not early")
        #expect(tick.missed == 0 && tick.flawInTime == nil)
    }

    @Test(
        arguments: Ground.all,
        [
            (PreciseTimer.Schedule.once(after: .seconds(-1)), "a delay must not be negative"),
            (.every(.seconds(1), after: .seconds(-1)), "a delay must not be negative"),
            (.every(.zero), "a period must be longer than zero"),
            (.every(.seconds(-1)), "a period must be longer than zero"),
        ]
    )
    func badInputThrowsATypedError(ground: Ground, input: (schedule: PreciseTimer.Schedule, reason: String)) throws {
        let site = try ground.site()
        let error = #expect(throws: TimerError.self) {
            try PreciseTimer.schedule(input.schedule, on: site.service, target: log) { $0.note($1) }
        }
        #expect(error?.code == .invalidSchedule)
        #expect(error?.attempted.contains(input.reason) == true)
        #expect(site.service.pendingCount == 0)
        // The service works on after a refusal.
        let next = Log()
        try PreciseTimer.schedule(.once(after: .milliseconds(2)), on: site.service, target: next) { $0.note($1) }
        #expect(site.pass(.milliseconds(2)) { next.count == 1 })
        #expect(log.count == 0)
    }

    /// If an id is the number of timers in a dictionary, it repeats: start two, cancel the first, start a third.
    @Test(arguments: Ground.all)
    func aNewTimerNeverReplacesALiveOne(ground: Ground) throws {
        let site = try ground.site()
        let (first, second, third) = (Log(), Log(), Log())
        let (period, service) = (Duration.milliseconds(1), site.service)
        let cancelled = try PreciseTimer.schedule(.every(period), on: service, target: first) { $0.note($1) }
        let live = try PreciseTimer.schedule(.every(period), on: service, target: second) { $0.note($1) }
        cancelled.cancel()
        let before = first.count
        let new = try PreciseTimer.schedule(.every(period), on: service, target: third) { $0.note($1) }
        #expect(site.pass(period * 3) { second.count >= 3 && third.count >= 3 })
        #expect(first.count <= before + 1, "at most the running handler finished")
        if site.virtual != nil { #expect([first.count, second.count, third.count] == [0, 3, 3]) }

        #expect(new.cancel())
        #expect(live.state == .scheduled)
        let (lives, news) = (second.count, third.count)
        // On a real clock, one more tick may already be on its way.
        #expect(site.pass(period) { second.count > lives + (site.virtual == nil ? 1 : 0) })
        #expect(third.count <= news + 1, "at most the running handler finished")
        if site.virtual != nil { #expect([second.count, third.count] == [4, 3]) }
        live.cancel()
        #expect(second.ticks.flaw(every: period) == nil)
        #expect(third.ticks.flaw(every: period) == nil)
    }

    @Test(arguments: Ground.all)
    func theHandleOfAnEndedTimerNeverReachesANewerOne(ground: Ground) throws {
        let site = try ground.site()
        let (period, service) = (Duration.milliseconds(1), site.service)
        var ended: [PreciseTimer] = []
        // Each generation waits for a tick, which takes time on a real clock.
        for _ in 0..<(site.virtual == nil ? 30 : 300) {
            let log = Log()
            // Every other handle is released, so that new timers take over their places.
            try PreciseTimer.schedule(.every(period), on: service, target: log) { _, _ in }.cancel()
            let newest = try PreciseTimer.schedule(.every(period), on: service, target: log) { $0.note($1) }
            for old in ended {
                #expect(old.cancel() == false)
                #expect(old.state == .ended(.cancelled))
                old.pause(keeping: .grid)
                #expect(throws: TimerError.self) { try old.reschedule(.every(.seconds(9))) }
            }
            #expect(site.pass(period) { log.count >= 1 })
            if site.virtual != nil { #expect(log.count == 1) }
            #expect(newest.cancel())
            #expect(log.ticks.flaw(every: period) == nil)
            ended.append(newest)
        }
        #expect(site.pass(.zero) { service.pendingCount == 0 })
    }
}
