import PreciseTimer
import TestSupport
import Testing

/// Pausing, resuming, rescheduling and firing, on every backend and on virtual time.
@Suite(.waits("every backend fires by its own clock"), .timeLimit(.minutes(60))) struct ControlTests {
    private let log = Log()

    @Test(arguments: Ground.all)
    func aPausedTimerIsSilentAndItsGridRunsOn(ground: Ground) throws {
        let site = try ground.site()
        let (period, start) = (Duration.milliseconds(2), site.service.now.advanced(by: .milliseconds(2)))
        let timer = try PreciseTimer.schedule(.every(period, at: start), on: site.service, target: log) { $0.note($1) }
        #expect(site.until { log.count >= 3 })
        #expect(timer.pause(keeping: .grid))
        #expect(timer.pause(keeping: .grid) == false)
        #expect(timer.state == .paused)
        let before = log.count
        site.pass(.milliseconds(30))
        let during = log.count
        #expect(during <= before + 1, "at most the running handler finished")
        #expect(timer.resume())
        #expect(timer.resume() == false)
        #expect(timer.state == .scheduled)
        #expect(site.until { log.count >= during + 3 })
        timer.cancel()
        let mostMissed = log.ticks.dropFirst(before).prefix(2).map(\.missed).max() ?? 0
        #expect(mostMissed >= 13, "30 ms are 15 periods, or 14 after a tick that was running")
        #expect(log.ticks.flaw(from: start, every: period) == nil)
    }

    @Test(arguments: Ground.all)
    func aTimerCanBeginPaused(ground: Ground) throws {
        let site = try ground.site()
        let timer = try PreciseTimer.schedule(.once(after: .zero), on: site.service, paused: true, target: log) {
            $0.note($1)
        }
        site.pass(.milliseconds(10))
        #expect(log.count == 0)
        #expect(timer.state == .paused)
        timer.resume()
        #expect(site.until { log.count == 1 })
        #expect(site.until { timer.state == .ended(.completed) })
        #expect(timer.pause(keeping: .grid) == false)
        #expect(timer.resume() == false)
    }

    @Test(arguments: Ground.all)
    func siblingsPausedInTheSameBatchDoNotRunUntilResumed(ground: Ground) throws {
        let site = try ground.site()
        let (service, ran, timers) = (site.service, Notes<Int>(), Box<[PreciseTimer]>())
        try PreciseTimer.schedule(.once(after: .zero), on: service, target: ran) { ran, _ in
            let due = service.now.advanced(by: .milliseconds(2))
            timers.value = (0..<3)
                .compactMap { number in
                    try? PreciseTimer.schedule(.once(at: due), on: service, target: ran) { ran, _ in
                        ran.append(number)
                        if number == 0 { timers.value?[1].pause(keeping: .grid) }
                    }
                }
        }
        #expect(site.until { ran.all.count >= 2 })
        site.pass(.milliseconds(5))
        #expect(ran.all == [0, 2])
        timers.value?[1].resume()
        #expect(site.until { ran.all == [0, 2, 1] })
        timers.value = nil
    }

    @Test(arguments: Ground.all)
    func noTickOfTheOldScheduleStartsAfterAReschedule(ground: Ground) throws {
        let site = try ground.site()
        let service = site.service
        let timer = try PreciseTimer.schedule(.every(.microseconds(200)), on: service, target: log) { $0.note($1) }
        for round in 0..<30 {
            let before = log.count
            #expect(site.until { log.count > before })
            site.pass(.microseconds(round * 17))
            let start = service.now.advanced(by: .milliseconds(3))
            try timer.reschedule(.every(.microseconds(200), at: start))
            let atReturn = log.count
            #expect(site.until { log.count >= atReturn + 3 })
            let after = log.ticks.dropFirst(atReturn)
            // At most the first of these ticks was already running at the reschedule.
            #expect(after.dropFirst().allSatisfy { start <= $0.deadline })
            // All ticks since the call: some may have come before `atReturn` was read.
            let new = Array(log.ticks.dropFirst(before).drop { $0.deadline != start })
            #expect(!new.isEmpty)
            #expect(new.flaw(from: start, every: .microseconds(200)) == nil, "numbered from 0 again")
        }
        timer.cancel()
    }

    @Test(arguments: Ground.all)
    func aSiblingRescheduledInTheSameBatchDoesNotTickForItsOldDeadline(ground: Ground) throws {
        let site = try ground.site()
        let (service, deadlines) = (site.service, Notes<TimerInstant>())
        let (sibling, later) = (Box<PreciseTimer>(), Box<TimerInstant>())
        try PreciseTimer.schedule(.once(after: .zero), on: service, target: log) { log, _ in
            let due = service.now.advanced(by: .milliseconds(2))
            later.value = due.advanced(by: .milliseconds(5))
            _ = try? PreciseTimer.schedule(.once(at: due), on: service, target: log) { _, _ in
                if let later = later.value { try? sibling.value?.reschedule(.once(at: later)) }
            }
            sibling.value = try? PreciseTimer.schedule(.once(at: due), on: service, target: log) { _, tick in
                deadlines.append(tick.deadline)
            }
        }
        #expect(site.until { !deadlines.all.isEmpty })
        site.pass(.milliseconds(10))
        #expect(deadlines.all == [try #require(later.value)])
        sibling.value = nil
    }

    @Test(arguments: Ground.all)
    func reschedulingInTheHandlerOfTheLastTickMakesTheTimerGoOn(ground: Ground) throws {
        let site = try ground.site()
        let (reasons, count) = (Notes<PreciseTimer.EndReason>(), Count())
        let timer = try PreciseTimer.schedule(
            .once(after: .milliseconds(1)),
            on: site.service,
            onEnd: { reasons.append($0) },
            handler: { timer, _ in if count.add(1) < 5 { try? timer.reschedule(.once(after: .milliseconds(1))) } }
        )
        #expect(site.until { !reasons.all.isEmpty })
        #expect(count.value == 5)
        #expect(reasons.all == [.completed])
        let error = #expect(throws: TimerError.self) { try timer.reschedule(.every(.seconds(1))) }
        #expect(error?.code == .timerEnded)
    }

    @Test(arguments: Ground.all)
    func aRefusedRescheduleLeavesTheTimerAsItWas(ground: Ground) throws {
        let site = try ground.site()
        let start = site.service.now.advanced(by: .milliseconds(1))
        let schedule = PreciseTimer.Schedule.every(.milliseconds(1), at: start)
        let timer = try PreciseTimer.schedule(schedule, on: site.service, target: log) { $0.note($1) }
        let error = #expect(throws: TimerError.self) { try timer.reschedule(.every(.zero)) }
        #expect(error?.code == .invalidSchedule)
        #expect(site.until { log.count >= 5 })
        timer.cancel()
        #expect(log.ticks.flaw(from: start, every: .milliseconds(1)) == nil)
    }

    @Test(arguments: Ground.all)
    func fireAddsOneExtraTickAndLeavesTheGridAlone(ground: Ground) throws {
        let site = try ground.site()
        let service = site.service
        let start = service.now.advanced(by: .seconds(2))
        let timer = try PreciseTimer.schedule(.every(.milliseconds(1), at: start), on: service, target: log) {
            $0.note($1)
        }
        let before = service.now
        #expect(timer.fire())
        let after = service.now
        #expect(site.until { log.count >= 5 })
        timer.cancel()
        let extra = try #require(log.ticks.first)
        #expect(before <= extra.deadline)
        #expect(extra.deadline <= after)
        #expect(extra.index == 0)
        #expect(extra.missed == 0)
        #expect(Array(log.ticks.dropFirst()).flaw(from: start, every: .milliseconds(1)) == nil)
        #expect(timer.fire() == false, "it has ended")
    }

    @Test(arguments: Ground.all)
    func firingTwiceBeforeTheTickAddsOneTick(ground: Ground) throws {
        let site = try ground.site()
        let far = try PreciseTimer.schedule(.once(after: .seconds(3_600)), on: site.service, target: log) {
            $0.note($1)
        }
        // On the delivery context, so that no tick can begin in between.
        try PreciseTimer.schedule(.once(after: .zero), on: site.service, target: log) { _, _ in
            far.fire()
            far.fire()
        }
        #expect(site.until { log.count >= 1 })
        site.pass(.milliseconds(10))
        #expect(log.count == 1)
        #expect(far.state == .scheduled, "its deadline is still to come")
    }

    @Test(arguments: Ground.all)
    func aPausedTimerGetsItsExtraTickOnResume(ground: Ground) throws {
        let site = try ground.site()
        let timer = try PreciseTimer.schedule(
            .once(after: .seconds(3_600)),
            on: site.service,
            paused: true,
            target: log
        ) { $0.note($1) }
        #expect(timer.fire())
        site.pass(.milliseconds(10))
        #expect(log.count == 0)
        timer.resume()
        #expect(site.until { log.count == 1 })
        timer.cancel()
    }
}
