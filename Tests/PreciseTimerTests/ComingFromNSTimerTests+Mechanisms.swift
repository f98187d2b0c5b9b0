import Foundation
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

// MARK: Tolerance and a busy run loop

extension ComingFromNSTimerTests {
    @Test(arguments: Ground.all)
    func aToleranceMakesNoTickEarlyAndKeepsTheGrid(ground: Ground) throws {
        let (site, early) = (try ground.site(), Notes<Int>())
        // The tolerance rounds up to round instants, and these deadlines are not round.
        let unit = site.virtual == nil ? 1 : 100
        let (period, tolerance) = (Duration.nanoseconds(3_333_330 * unit), Duration.milliseconds(unit))
        let service = site.service
        let timer = try PreciseTimer.schedule(.every(period), on: service, tolerance: tolerance, target: log) {
            if service.now < $1.deadline { early.append($1.index) }
            $0.note($1)
        }
        site.virtual?.inject(.wakeEarly(by: .milliseconds(200)), after: .seconds(3))
        #expect(site.pass(.seconds(60)) { log.count >= (site.virtual == nil ? 20 : 179) })
        timer.cancel()
        #expect(early.all == [])
        #expect(log.ticks.flaw(every: period) == nil)

        guard site.virtual != nil else { return }
        let lateness = log.ticks.map(\.lateness)
        #expect(lateness.allSatisfy { (.zero...tolerance).contains($0) })
        #expect(lateness.contains { $0 > .milliseconds(1) }, "the tolerance is used to share wake-ups")
        #expect(log.ticks.allSatisfy { $0.missed == 0 })
    }

    @Test(arguments: Ground.all)
    func timersWithAToleranceShareWakeUps(ground: Ground) throws {
        let (site, period) = (try ground.site(), Duration.milliseconds(5))
        let start = site.service.now.advanced(by: period)
        // Their deadlines differ by 200 us, and their ticks come at multiples of 2^20 ns.
        let logs = [Log(), Log()]
        for (number, log) in logs.enumerated() {
            let first = start.advanced(by: .microseconds(number * 200))
            try PreciseTimer.schedule(
                .every(period, at: first),
                on: site.service,
                tolerance: .milliseconds(2),
                target: log
            ) { $0.note($1) }
        }
        #expect(site.pass(.milliseconds(502)) { logs.allSatisfy { $0.count >= 20 } })
        site.service.shutdown()
        let shared = Set(logs[0].ticks.map(\.woke)).intersection(logs[1].ticks.map(\.woke)).count
        #expect(shared >= 10, "a round instant comes between the two deadlines in a fifth of the cases")
        #expect(logs.map { $0.ticks.flaw(every: period) } == [nil, nil])
        #expect(logs.map { $0.ticks.first?.deadline } == [start, start.advanced(by: .microseconds(200))])
        guard site.virtual != nil else { return }
        #expect(logs.map(\.count) == [100, 100])
        #expect(shared >= 79)
    }

    @Test(arguments: Ground.all)
    func ticksDelayedByABusyThreadBecomeOneLateTickThatCountsThem(ground: Ground) throws {
        let (site, period) = (try ground.site(), Duration.milliseconds(4))
        let timer = try PreciseTimer.schedule(.every(period), on: site.service, target: log) { $0.note($1) }
        try PreciseTimer.schedule(.once(after: .milliseconds(6)), on: site.service, target: log) { _, _ in
            site.pass(.milliseconds(12))
        }
        #expect(site.pass(.milliseconds(20)) { log.count >= 3 && log.ticks.dropLast().contains { $0.missed >= 2 } })
        timer.cancel()
        #expect(log.ticks.flaw(every: period) == nil)
        guard site.virtual != nil else { return }
        #expect(log.ticks.map(\.index) == [0, 1, 4])
        #expect(log.ticks.map(\.missed) == [0, 2, 0])
        #expect(log.ticks.map(\.lateness) == [.zero, .milliseconds(10), .zero])
    }
}

#if RunLoop
// MARK: Run loops and their modes

extension ComingFromNSTimerTests {
    @Test func aTimerCanBeAttachedToARunLoopAndMode() throws {
        let (log, loop) = (log, RunLoop.current)
        let (normal, other) = (RunLoop.Mode.default, RunLoop.Mode("of its own"))
        let service = try TimerService(attachedTo: loop, mode: other)
        defer { service.shutdown() }
        let timer = try PreciseTimer.schedule(.every(.milliseconds(2)), on: service) { _, tick in log.note(tick) }
        _ = loop.run(mode: normal, before: Date(timeIntervalSinceNow: 0.02))
        #expect(log.count == 0, "the loop has not been run in its mode")
        for _ in 0..<1_000 where log.count < 3 {
            _ = loop.run(mode: other, before: Date(timeIntervalSinceNow: 0.05))
        }
        #expect(log.count >= 3)
        #expect(log.ticks.allSatisfy { $0.lateness >= .zero })
        timer.cancel()
    }
}
#endif

// MARK: A Dispatch timer

extension ComingFromNSTimerTests {
    @Test func dispatchNeedsNoRunLoopAndItsServiceIsKeptByItsTimer() throws {
        let log = log
        weak var released: TimerService?
        let timer = try {
            let service = try TimerService(.dispatch)
            released = service
            return try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) { $0.note($1) }
        }()
        #expect(eventually { log.count >= 3 }, "on a thread that runs no run loop")
        #expect(released != nil, "only the timer holds it")
        timer.cancel()
        #expect(eventually { released == nil })
    }

    /// A Dispatch source that is released before it was activated, or while it is suspended, ends the process.
    @Test func dispatchServicesAreReleasedUnusedAndWithPausedTimers() throws {
        weak var unused: TimerService?
        weak var released: TimerService?
        do {
            let service = try TimerService(.dispatch)
            unused = service
            let other = try TimerService(.dispatch)
            released = other
            let never = try PreciseTimer.schedule(.every(.milliseconds(1)), on: other, paused: true) { [log] in
                log.note($1)
            }
            let later = try PreciseTimer.schedule(.every(.milliseconds(1)), on: other) { [log] in log.note($1) }
            later.pause(keeping: .grid)
            let count = log.count
            pause(.milliseconds(5))
            #expect(log.count <= count + 1, "at most the running tick finished")
            #expect([never.state, later.state] == [.paused, .paused])
        }
        #expect(eventually { unused == nil })
        #expect(eventually { released == nil })
    }

    @Test func aPausedTimerOnDispatchMayBeEndedInAnyWay() throws {
        let endings = Notes<PreciseTimer.EndReason>()
        let service = try TimerService(.dispatch)
        for way in 0..<3 {
            var handle: PreciseTimer? = try PreciseTimer.schedule(
                .every(.seconds(3_600)),
                on: service,
                paused: true,
                onEnd: endings.append
            ) { _, _ in }
            handle?.resume()
            handle?.resume()
            handle?.pause(keeping: .grid)
            handle?.pause(keeping: .grid)
            switch way {
            case 0: handle?.cancel()
            case 1: handle = nil
            default: service.shutdown()
            }
            // The reaper may hold the handle for a moment, and finalizes the timer then.
            #expect(eventually { endings.all.count > way })
        }
        #expect(endings.all == [.cancelled, .handleReleased, .serviceShutDown])
    }
}
