import PreciseTimer
import TestSupport
import Testing
import TimerAlarms

/// The promises on the real clock, on every backend: never early, nothing lost, in order, one at a time.
@Suite(.timeLimit(.minutes(3))) struct PromiseTests {
    typealias Backend = TimerService.Backend

    @Test(arguments: Backend.available)
    func ticksAreNeverEarlyAndNoneIsLost(backend: Backend) throws {
        let service = try TimerService(backend)
        let (log, start) = (Log(), service.now.advanced(by: .milliseconds(2)))
        let early = Notes<UInt64>()
        let timer = try PreciseTimer.schedule(.every(.milliseconds(1), at: start), on: service, target: log) {
            if KernelClock.now(.suspending) < $1.deadline { early.append($1.index) }
            $0.note($1)
        }
        #expect(eventually { log.count >= 300 })
        timer.cancel()

        #expect(early.all == [])
        var next: UInt64 = 0
        for tick in log.ticks {
            #expect(tick.index == next)
            #expect(tick.deadline == start.advanced(by: .milliseconds(Int64(tick.index))))
            #expect(tick.deadline <= tick.woke)
            #expect(tick.woke <= tick.delivered)
            next += 1 + tick.missed
        }
        // The independent count: the deadlines that had passed when the clock was last looked at.
        let woke = try #require(log.ticks.last?.woke)
        #expect(next == UInt64(start.duration(to: woke) / .milliseconds(1)) + 1)
    }

    @Test(arguments: Backend.available)
    func aSlowHandlerNeverOverlapsAndItsMissesAreCounted(backend: Backend) throws {
        let service = try TimerService(backend)
        let (log, running, overlaps) = (Log(), Lock(0), Notes<Int>())
        let timer = try PreciseTimer.schedule(.every(.milliseconds(2)), on: service, target: log) { log, tick in
            let others = running.withLock { running in
                running += 1
                return running - 1
            }
            if others > 0 { overlaps.append(others) }
            pause(.milliseconds(5))
            log.note(tick)
            running.withLock { $0 -= 1 }
        }
        #expect(eventually { log.count >= 40 })
        timer.cancel()
        #expect(overlaps.all == [])
        #expect(log.ticks.dropFirst().allSatisfy { $0.missed >= 1 }, "5 ms of work miss a deadline of 2 ms each time")
        let ticks = log.ticks
        let accounted = ticks.dropLast().reduce(0) { $0 + 1 + $1.missed }
        #expect(ticks.last?.index == accounted)
    }

    @Test(arguments: Backend.available)
    func ticksComeInOrderOfDeadlineAndThenOfScheduling(backend: Backend) throws {
        let service = try TimerService(backend)
        let order = Notes<Int>()
        // From inside a handler, so that none can be delivered before all are scheduled.
        try PreciseTimer.schedule(.once(after: .zero), on: service, target: order) { order, _ in
            let start = service.now.advanced(by: .milliseconds(5))
            for number in 0..<100 {
                let schedule = PreciseTimer.Schedule.once(at: start.advanced(by: .microseconds(number % 5 * 100)))
                _ = try? PreciseTimer.schedule(schedule, on: service, target: order) { order, _ in order.append(number)
                }
            }
        }
        #expect(eventually { order.all.count == 100 })
        #expect(order.all == (0..<5).flatMap { phase in (0..<20).map { $0 * 5 + phase } })
    }

    @Test(arguments: Backend.available)
    func noTickStartsAfterACancelOnTheDeliveryContext(backend: Backend) throws {
        let service = try TimerService(backend)
        let ran = Notes<Int>()
        let timers = Box<[PreciseTimer]>()
        try PreciseTimer.schedule(.once(after: .zero), on: service, target: ran) { ran, _ in
            let schedule = PreciseTimer.Schedule.every(.milliseconds(1), at: service.now.advanced(by: .milliseconds(2)))
            timers.value = (0..<5)
                .compactMap { number in
                    try? PreciseTimer.schedule(schedule, on: service, target: ran) { ran, _ in
                        ran.append(number)
                        for timer in timers.value ?? [] { timer.cancel() }
                    }
                }
        }
        #expect(eventually { !ran.all.isEmpty })
        pause(.milliseconds(20))
        #expect(ran.all == [0])
        timers.value = nil
    }

    @Test(arguments: Backend.available)
    func aTimerWithoutATargetEndsWithItsHandle(backend: Backend) throws {
        let service = try TimerService(backend)
        let log = Log()
        var timer: PreciseTimer? = try PreciseTimer.schedule(.every(.milliseconds(1)), on: service) { log.note($1) }
        #expect(eventually { log.count >= 3 })
        #expect(timer?.state == .scheduled)
        timer = nil
        #expect(eventually { service.pendingCount == 0 })
        let count = log.count
        pause(.milliseconds(5))
        #expect(log.count == count)
    }

    @Test(arguments: Backend.available)
    func whatTheHandlerOfAFarTimerCapturedIsReleasedByItsCancel(backend: Backend) throws {
        let service = try TimerService(backend)
        let target = Log()
        var captured: Log? = Log()
        weak let gone = captured
        let timer = try PreciseTimer.schedule(.once(after: .seconds(3_600)), on: service, target: target) {
            [captured] _, tick in captured?.note(tick)
        }
        captured = nil
        #expect(gone != nil)
        timer.cancel()
        #expect(gone == nil)
    }

    @Test(arguments: Backend.available)
    func aTargetReleasedOnAnotherThreadEndsTheTimer(backend: Backend) throws {
        let service = try TimerService(backend)
        var log: Log? = Log()
        weak let gone = log
        let timer = try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: try #require(log)) {
            $0.note($1)
        }
        #expect(eventually { gone?.count ?? 0 >= 3 })
        log = nil
        #expect(eventually { gone == nil })
        #expect(eventually { service.pendingCount == 0 }, "noticed by the next tick, without anyone asking")
        #expect(timer.state == .ended(.targetReleased))
    }

    @Test(arguments: Backend.available)
    func schedulingInAHandlerIsDeliveredInALaterPass(backend: Backend) throws {
        let service = try TimerService(backend)
        let chain = Chain(service: service, length: 2_000)
        chain.goOn()
        let sibling = Log()
        try PreciseTimer.schedule(.once(after: .milliseconds(1)), on: service, target: sibling) { $0.note($1) }
        #expect(eventually { chain.left == 0 })
        #expect(eventually { sibling.count == 1 })
        #expect(eventually { service.pendingCount == 0 })
    }

    @Test(arguments: Backend.available)
    func aPeriodOfOneNanosecondStarvesNobody(backend: Backend) throws {
        let service = try TimerService(backend)
        let (busy, other) = (Notes<UInt64>(), Log())
        let timer = try PreciseTimer.schedule(.every(.nanoseconds(1)), on: service, target: busy) { busy, tick in
            if tick.index % 1_000 == 0 { busy.append(tick.index) }
        }
        try PreciseTimer.schedule(.every(.milliseconds(5)), on: service, target: other) { $0.note($1) }
        #expect(eventually { other.count >= 10 })
        #expect(timer.cancel())
    }

    /// Schedules itself anew for now, a number of times.
    private final class Chain: Sendable {
        private let service: TimerService
        private let remaining: Lock<Int>

        init(service: TimerService, length: Int) {
            self.service = service
            remaining = Lock(length)
        }

        var left: Int { remaining.withLock { $0 } }

        func goOn() {
            _ = try? PreciseTimer.schedule(.once(after: .zero), on: service, target: self) { chain, _ in
                let left = chain.remaining.withLock { left in
                    left -= 1
                    return left
                }
                if left > 0 { chain.goOn() }
            }
        }
    }
}
