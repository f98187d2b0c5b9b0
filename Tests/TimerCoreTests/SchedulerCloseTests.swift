import Testing
@_spi(Engine) import TimerCore

/// After a close, the timers that were there are ended one by one, and none of them ticks. Newer ones go on.
struct SchedulerCloseTests {
    @Test func everyTimerThatWasThereIsEndedOnce() {
        var scheduler = Scheduler()
        let timers = (0..<5).map { scheduler.add(once(at: 10 + UInt64($0))).timer }
        #expect(scheduler.end(timers[1]) == true)
        scheduler.close()
        var ended = 0
        while let timer = scheduler.closing {
            #expect(scheduler.end(timer, .serviceShutDown) == true)
            ended += 1
        }
        #expect(ended == 4)
        let reasons: [TimerEntry.Ending] = [
            .serviceShutDown, .cancelled, .serviceShutDown, .serviceShutDown, .serviceShutDown,
        ]
        #expect(timers.map(\.ending) == reasons)
        #expect(scheduler.count == 0)
        #expect(scheduler.nextLook == nil)
    }

    @Test func aTimerThatIsCancelledMeanwhileIsNotEndedAgain() {
        var scheduler = Scheduler()
        let timers = (0..<3).map { _ in scheduler.add(once(at: 10), isPaused: true).timer }
        scheduler.close()
        #expect(scheduler.end(timers[0]) == true)
        var ended: [TimerEntry] = []
        while let timer = scheduler.closing {
            #expect(scheduler.end(timer, .backendFailed) == true)
            ended.append(timer)
        }
        #expect(ended.count == 2 && !ended.contains(timers[0]))
        #expect(timers[0].ending == .cancelled)
    }

    @Test func newerTimersTickWhileTheOthersAreStillToBeEnded() {
        var scheduler = Scheduler()
        let old = (0..<3).map { scheduler.add(every(10, from: 10), tolerance: UInt64($0) * 4).timer }
        scheduler.close()
        let newer = scheduler.add(every(10, from: 15)).timer
        #expect(scheduler.firing(at: 30).ticks == [Ticked(newer, 0, 15, missed: 1)])
        #expect(scheduler.count == 4)
        while let timer = scheduler.closing { #expect(scheduler.end(timer, .serviceShutDown) && old.contains(timer)) }
        #expect(scheduler.count == 1)
        #expect(scheduler.firing(at: 35).ticks == [Ticked(newer, 2, 35)])
    }

    @Test func aClosedTimerIsNotBroughtBack() {
        var scheduler = Scheduler()
        let (timer, paused) = (scheduler.add(every(10, from: 10)).timer, scheduler.add(once(at: 9), isPaused: true).timer)
        scheduler.close()
        let newer = scheduler.add(once(at: 20)).timer
        #expect(scheduler.reschedule(timer, on: once(at: 5)) != nil)
        #expect(scheduler.fire(timer, at: 3) != nil)
        #expect(scheduler.resume(paused) != nil)
        #expect(scheduler.firing(at: 30).ticks.map(\.timer) == [newer])
        #expect(scheduler.nextLook == nil)
        #expect(scheduler.brokenInvariant == nil)
    }

    @Test(arguments: [false, true])
    func aHopOfAClosedTimerBeginsNothing(hasBegun: Bool) {
        var scheduler = Scheduler()
        let timer = scheduler.add(every(10, from: 10), policy: .catchUp(limit: 9)).timer
        scheduler.beginLook(at: 40)
        #expect(scheduler.takeNext() == timer)
        if hasBegun { #expect(scheduler.begin(timer, at: 40) == Due(index: 0, deadline: 10, missed: 0)) }
        scheduler.close()
        if hasBegun { _ = scheduler.finish(timer, lookedAt: 40, byHop: true, now: 40) }
        if timer.isInDelivery {
            #expect(scheduler.begin(timer, at: 40) == nil)
            #expect(scheduler.finish(timer, lookedAt: 40, now: 40) == .waits(.leave))
        }
        #expect(scheduler.nextLook == nil)
        #expect(scheduler.closing == timer)
        #expect(scheduler.end(timer, .serviceShutDown) == true)
    }

    @Test func aCloseEndsTheLook() {
        var scheduler = Scheduler()
        let timers = (0..<3).map { _ in scheduler.add(once(at: 10)).timer }
        let newer = TimerEntry()
        let firing = scheduler.firing(at: 10) { scheduler, _ in
            scheduler.close()
            #expect(scheduler.look == nil)
            _ = scheduler.add(newer, on: once(at: 10))
        }
        #expect(firing.ticks.map(\.timer) == [timers[0]])
        #expect(scheduler.firing(at: 11).ticks.map(\.timer) == [newer])
        #expect(scheduler.closing.map { timers[1...].contains($0) } == true)
    }
}
