import PreciseTimer
import TestSupport
import Testing
import TimerKernel

// MARK: A timer class with the members of NSTimer

extension ComingFromNSTimerTests {
    @Test(arguments: Ground.all)
    func theNextDeadlineIsReadAndMoved(ground: Ground) throws {
        let site = try ground.site()
        let (start, hour) = (site.service.now, Duration.seconds(3_600))
        let timer = try PreciseTimer.schedule(.every(hour), on: site.service) { [log] in log.note($1) }
        let latest = site.service.now
        #expect(timer.period == hour)
        let next = try #require(timer.nextDeadline)
        #expect((start.advanced(by: hour)...latest.advanced(by: hour)).contains(next))
        try timer.reschedule(.every(hour, at: next.advanced(by: .seconds(-7))))
        #expect(timer.nextDeadline == next.advanced(by: .seconds(-7)))

        let (moved, period) = (site.service.now, Duration.milliseconds(10))
        try timer.reschedule(.every(period, at: moved.advanced(by: .milliseconds(3))))
        #expect(timer.period == period)
        #expect(site.pass(.milliseconds(13)) { log.count >= 2 })
        timer.cancel()
        #expect(log.ticks.first?.deadline == moved.advanced(by: .milliseconds(3)))
        #expect(log.ticks.flaw(every: period) == nil)
        if site.virtual != nil { #expect(log.ticks.map(\.index) == [0, 1]) }
    }

    @Test(arguments: Ground.all)
    func fireAddsOneExtraTick(ground: Ground) throws {
        let (site, threads) = (try ground.site(), Notes<ThreadID>())
        let (period, start) = (Duration.milliseconds(10), site.service.now.advanced(by: .milliseconds(10)))
        let timer = try PreciseTimer.schedule(.every(period, at: start), on: site.service) { [log] in
            threads.append(.current)
            log.note($1)
        }
        site.pass(.milliseconds(4))
        let asked = site.service.now
        timer.fire()
        let latest = site.service.now
        if site.virtual != nil { #expect(log.count == 0, "not inside the call") }
        // The extra tick has the number of the next deadline, which follows.
        let extra = { [log] in
            let ticks = log.ticks
            return ticks.indices.dropLast().first { ticks[$0].index == ticks[$0 + 1].index }
        }
        #expect(site.pass(.milliseconds(6)) { extra() != nil })
        if site.virtual != nil { #expect(log.ticks.map(\.deadline) == [asked, asked.advanced(by: .milliseconds(6))]) }
        let count = log.count
        #expect(site.pass(period) { log.count > count })
        timer.cancel()
        if site.virtual == nil { #expect(!threads.all.contains(.current), "not inside the call") }
        var ticks = log.ticks
        let tick = ticks.remove(at: try #require(extra()))
        #expect((asked...latest).contains(tick.deadline))
        #expect(tick.missed == 0 && tick.flawInTime == nil)
        #expect(ticks.first?.deadline == start)
        #expect(ticks.flaw(every: period) == nil, "the grid does not move, and no other tick is added")
    }

    @Test(arguments: Ground.all)
    func aTimerIsCreatedPaused(ground: Ground) throws {
        let (site, period) = (try ground.site(), Duration.milliseconds(4))
        let timer = try PreciseTimer.schedule(.every(period), on: site.service, paused: true) { [log] in
            log.note($1)
        }
        #expect(timer.state == .paused)
        site.pass(.milliseconds(10))
        #expect(log.count == 0)
        let resumed = site.service.now
        timer.resume()
        #expect(site.pass(period) { log.count >= 1 })
        let first = try #require(log.ticks.first)
        #expect(first.index == 0 && first.deadline >= resumed.advanced(by: period), "nothing passed meanwhile")
        #expect(site.pass(period) { log.count >= 2 })
        if site.virtual != nil { #expect(log.count == 2) }
        timer.cancel()
        #expect(log.ticks.flaw(every: period) == nil)
    }

    @Test(arguments: Ground.all)
    func aCancelledTimerNeverTicksAndMayBeCancelledAgain(ground: Ground) throws {
        let site = try ground.site()
        let (period, start) = (Duration.milliseconds(10), site.service.now.advanced(by: .milliseconds(10)))
        let timer = try PreciseTimer.schedule(.every(period, at: start), on: site.service) { [log] in log.note($1) }
        #expect(timer.cancel())
        // A busy machine may have let deadlines pass before: then at most the running handler finishes.
        let most = site.service.now < start ? 0 : log.count + 1
        #expect(timer.cancel() == false)
        #expect(timer.fire() == false)
        #expect(timer.nextDeadline == nil)
        site.pass(.milliseconds(30))
        #expect(log.count <= most)
        #expect(timer.state == .ended(.cancelled))
    }

    @Test(arguments: Ground.all)
    func aHandleWithoutATargetEndsItsTimerWhenReleased(ground: Ground) throws {
        let (site, endings) = (try ground.site(), Notes<PreciseTimer.EndReason>())
        var timer: PreciseTimer? = try PreciseTimer.schedule(
            .every(.milliseconds(1)),
            on: site.service,
            onEnd: endings.append
        ) { [log] in log.note($1) }
        #expect(site.pass(.milliseconds(1)) { log.count >= 1 })
        #expect(timer != nil)
        #expect(endings.all == [])
        timer = nil
        #expect(site.pass(.zero) { endings.all == [.handleReleased] })
        let count = log.count
        site.pass(.milliseconds(3))
        #expect(log.count == count)
        if site.virtual != nil { #expect(count == 1) }
        #expect(endings.all == [.handleReleased])
        #expect(log.ticks.flaw(every: .milliseconds(1)) == nil)
    }
}

// MARK: A timer that was created again with each event

extension ComingFromNSTimerTests {
    @Test(arguments: Ground.all)
    func aTimeOutIsPostponedDisarmedAndSetAgain(ground: Ground) throws {
        let site = try ground.site()
        let (service, delay, start) = (site.service, Duration.milliseconds(30), site.service.now)
        let early = Notes<TimerInstant>()
        let timeout = try PreciseTimer.schedule(.onDemand, on: service, target: log) {
            if service.now < $1.deadline { early.append($1.deadline) }
            $0.note($1)
        }
        // Virtual time comes as close to the deadline as it can.
        let nearly = Duration.milliseconds(site.virtual == nil ? 10 : 29)
        // A busy machine may let a deadline pass before it is postponed.
        var (passed, last) = (0, service.now.advanced(by: delay))
        for _ in 0..<10 {
            let next = service.now.advanced(by: delay)
            try timeout.reschedule(.once(after: delay))
            if last <= service.now { passed += 1 }
            last = next
            site.pass(nearly)
        }
        try timeout.reschedule(.onDemand)
        if last <= service.now { passed += 1 }
        site.pass(.milliseconds(10))
        #expect(log.count <= passed)
        #expect(timeout.nextDeadline == nil)
        if site.virtual != nil { #expect(passed == 0) }

        let again = service.now
        for _ in 0..<2 {
            let asked = service.now
            try timeout.reschedule(.once(after: delay))
            let latest = service.now
            #expect(site.pass(.milliseconds(60)) { log.ticks.contains { asked <= $0.deadline } })
            let tick = try #require(log.ticks.last)
            #expect((asked.advanced(by: delay)...latest.advanced(by: delay)).contains(tick.deadline))
            #expect(tick.missed == 0 && tick.flawInTime == nil)
        }
        site.pass(.milliseconds(5))
        #expect(log.ticks.count { again <= $0.deadline } == 2)
        #expect(early.all == [])
        #expect(timeout.state == .scheduled)
        guard site.virtual != nil else { return }
        #expect(log.ticks.map { start.duration(to: $0.deadline) } == [.milliseconds(330), .milliseconds(390)])
    }
}
