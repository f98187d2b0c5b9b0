import Dispatch
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Handlers that run for longer than their period.
@Suite(.waits("a handler holds up the alarm's thread"), .timeLimit(.minutes(60))) struct SlowHandlerTests {
    @Test func aSlowHandlerIsNamedWithItsCallSiteAndItsTime() throws {
        let (virtual, log) = (VirtualTime(), Log())
        virtual.service.collectsStatistics = true
        let line: UInt = #line + 1
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, label: "slow", target: log) {
            [virtual] log, tick in
            log.note(tick)
            virtual.advance(by: log.count == 2 ? .seconds(3) : .milliseconds(1_500))
        }
        virtual.advance(by: .seconds(10))
        let found = virtual.service.slowHandlers
        #expect(found.count == 1)
        let slow = try #require(found.first)
        #expect(slow.label == "slow" && slow.file == "PreciseTimerTests/SlowHandlerTests.swift" && slow.line == line)
        #expect(slow.period == .seconds(1) && slow.longest == .seconds(3))
        #expect(slow.count == log.count)
    }

    @Test func aHandlerThatStarvesAnotherTimerIsNamedWithThatTimersPeriod() throws {
        let (virtual, log) = (VirtualTime(), Log())
        virtual.service.collectsStatistics = true
        try PreciseTimer.schedule(.every(.milliseconds(10)), on: virtual.service, target: log) { $0.note($1) }
        try PreciseTimer.schedule(.every(.milliseconds(10)), on: virtual.service, target: log) { $0.note($1) }
        try PreciseTimer.schedule(.every(.milliseconds(100)), on: virtual.service, label: "greedy", target: log) {
            [virtual] _, _ in virtual.advance(by: .milliseconds(80))
        }
        virtual.advance(by: .milliseconds(1_000))
        let slow = virtual.service.slowHandlers
        #expect(slow.map(\.label) == ["greedy"])
        #expect(slow.map(\.period) == [.milliseconds(10)])
        #expect(slow.map(\.longest) == [.milliseconds(80)])
        #expect(slow.map(\.count) == [9], "the last call has starved nothing yet")
    }

    /// The other timer is due when the handler begins, in its middle, or when it ends.
    @Test(arguments: [(100, 10, true), (140, 79, true), (140, 80, false), (179, 50, true), (180, 50, false)])
    func aHandlerStarvesATimerThatIsDueInItsTimeAndWaitsForLongerThanItsPeriod(
        due: Int,
        period: Int,
        isStarved: Bool
    ) throws {
        let (virtual, log) = (VirtualTime(), Log())
        virtual.service.collectsStatistics = true
        try PreciseTimer.schedule(.every(.milliseconds(100)), on: virtual.service, label: "greedy", target: log) {
            [virtual] log, tick in if tick.index == 0 { virtual.advance(by: .milliseconds(80)) }
        }
        let other = PreciseTimer.Schedule.every(.milliseconds(period), after: .milliseconds(due))
        try PreciseTimer.schedule(other, on: virtual.service, target: log) { $0.note($1) }
        virtual.advance(by: .milliseconds(185))
        #expect(log.count > 0)
        #expect(virtual.service.slowHandlers.map(\.label) == (isStarved ? ["greedy"] : []))
    }

    /// Two short handlers come between the long one and the timer that had to wait for it.
    @Test func theLongestOfSeveralHandlersIsNamed() throws {
        let (virtual, log) = (VirtualTime(), Log())
        virtual.service.collectsStatistics = true
        for (length, label) in [(80, "greedy"), (1, "short"), (1, "short")] {
            try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, label: label, target: log) {
                [virtual] _, _ in virtual.advance(by: .milliseconds(length))
            }
        }
        try PreciseTimer.schedule(
            .every(.milliseconds(50), after: .milliseconds(1_040)),
            on: virtual.service,
            target: log
        ) { $0.note($1) }
        virtual.advance(by: .milliseconds(1_085))
        #expect(virtual.service.slowHandlers.map(\.label) == ["greedy"])
    }

    @Test func aLongHandlerThatHeldUpNobodyHidesNoLaterOne() throws {
        let (virtual, log) = (VirtualTime(), Log())
        virtual.service.collectsStatistics = true
        for (length, start, label) in [(800, 1, "long"), (80, 5, "later")] {
            let schedule = PreciseTimer.Schedule.every(.seconds(100), after: .seconds(start))
            try PreciseTimer.schedule(schedule, on: virtual.service, label: label, target: log) { [virtual] _, _ in
                virtual.advance(by: .milliseconds(length))
            }
        }
        try PreciseTimer.schedule(.every(.milliseconds(50), after: .seconds(4)), on: virtual.service, target: log) {
            $0.note($1)
        }
        virtual.advance(by: .seconds(6))
        #expect(virtual.service.slowHandlers.map(\.label) == ["later"])
    }

    @Test func aHandlerThatRunsForLessThanItsPeriodIsNotYetSlow() throws {
        let (virtual, log, found) = (VirtualTime(), Log(), Notes<Int>())
        virtual.service.collectsStatistics = true
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { [virtual] _, tick in
            guard tick.index == 0 else { return }
            for _ in 0..<3 {
                virtual.advance(by: .milliseconds(500))
                found.append(virtual.service.slowHandlers.count)
            }
        }
        virtual.advance(by: .seconds(1))
        #expect(found.all == [0, 0, 1])
    }

    @Test func aCallSiteIsItsFileItsLineAndItsLabel() throws {
        let (virtual, log) = (VirtualTime(), Log())
        virtual.service.collectsStatistics = true
        func schedule(_ file: StaticString, _ line: UInt, _ label: String?, every period: Duration) throws {
            try PreciseTimer.schedule(
                .every(period, count: 1),
                on: virtual.service,
                label: label,
                file: file,
                line: line,
                target: log
            ) { [virtual] _, _ in virtual.advance(by: period * 2) }
        }
        for (file, line, label) in [("A.swift", 1, nil), ("A.swift", 2, nil), ("A.swift", 1, "b")]
            as [(StaticString, UInt, String?)]
        {
            try schedule(file, line, label, every: .seconds(1))
        }
        try schedule("B.swift", 1, nil, every: .seconds(1))
        virtual.advance(by: .seconds(60))
        #expect(virtual.service.slowHandlers.map(\.count) == [1, 1, 1, 1])
        try schedule("A.swift", 1, nil, every: .seconds(9))
        virtual.advance(by: .seconds(60))
        let slow = try #require(virtual.service.slowHandlers.first)
        #expect(slow.count == 2)
        #expect(slow.period == .seconds(9) && slow.longest == .seconds(18), "those of the longest call")
    }

    /// It holds up no other timer.
    @Test func aHandlerOnAQueueStarvesNoOtherTimer() throws {
        let (alarm, log, queue) = (ManualAlarm(), Log(), DispatchQueue(label: "test.slow"))
        let service = try TimerService(alarm: alarm)
        service.collectsStatistics = true
        try PreciseTimer.schedule(.every(.milliseconds(100)), on: service, deliver: .queue(queue), target: log) {
            _,
            _ in alarm.move(by: .milliseconds(80))
        }
        try PreciseTimer.schedule(.every(.milliseconds(10), after: .milliseconds(140)), on: service, target: log) {
            $0.note($1)
        }
        alarm.move(by: .milliseconds(100))
        alarm.fire()
        queue.sync {}
        alarm.fire()
        #expect(log.count == 1)
        #expect(service.slowHandlers.isEmpty)
    }

    /// Each handler takes less than the other's period.
    @Test func handlersThatShareTheThreadFairlyAreNotNamed() throws {
        let (virtual, log) = (VirtualTime(), Log())
        virtual.service.collectsStatistics = true
        for period: Duration in [.milliseconds(10), .milliseconds(100)] {
            try PreciseTimer.schedule(.every(period), on: virtual.service, target: log) { [virtual] _, _ in
                virtual.advance(by: .milliseconds(4))
            }
        }
        virtual.advance(by: .seconds(1))
        #expect(virtual.service.slowHandlers.isEmpty)
    }

    @Test func aHandlerWithinItsPeriodIsNotNamed() throws {
        let (virtual, log) = (VirtualTime(), Log())
        virtual.service.collectsStatistics = true
        for schedule in [PreciseTimer.Schedule.every(.seconds(1)), .rate(1, per: .seconds(1))] {
            try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { [virtual] _, _ in
                virtual.advance(by: .milliseconds(499))
            }
        }
        virtual.advance(by: .seconds(10))
        #expect(virtual.service.slowHandlers.isEmpty)
    }

    @Test func aHandlerThatTakesExactlyItsPeriodIsNotNamed() throws {
        let (virtual, log) = (VirtualTime(), Log())
        virtual.service.collectsStatistics = true
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { [virtual] log, tick in
            log.note(tick)
            virtual.advance(by: log.count < 3 ? .seconds(1) : .nanoseconds(1_000_000_001))
        }
        virtual.advance(by: .seconds(2))
        #expect(virtual.service.slowHandlers.isEmpty)
        virtual.advance(by: .seconds(2))
        #expect(virtual.service.slowHandlers.map(\.longest) == [.nanoseconds(1_000_000_001)])
    }

    @Test func thePeriodOfARateIsThatOfOneTick() throws {
        let (virtual, log) = (VirtualTime(), Log())
        virtual.service.collectsStatistics = true
        try PreciseTimer.schedule(.rate(4, per: .seconds(1)), on: virtual.service, target: log) { [virtual] _, _ in
            virtual.advance(by: .milliseconds(251))
        }
        virtual.advance(by: .seconds(1))
        #expect(virtual.service.slowHandlers.map(\.period) == [.milliseconds(250)])
    }

    @Test func aHandlerThatIsSlowForItsRateIsNamed() throws {
        let (virtual, log) = (VirtualTime(), Log())
        virtual.service.collectsStatistics = true
        try PreciseTimer.schedule(.rate(10, per: .seconds(1)), on: virtual.service, target: log) { [virtual] _, _ in
            virtual.advance(by: .milliseconds(150))
        }
        virtual.advance(by: .seconds(1))
        #expect(virtual.service.slowHandlers.map(\.period) == [.milliseconds(100)])
    }

    @Test func aTimerWithoutAPeriodIsNotNamed() throws {
        let (virtual, log) = (VirtualTime(), Log())
        virtual.service.collectsStatistics = true
        for schedule in [PreciseTimer.Schedule.once(after: .seconds(1)), .fixedDelay(.seconds(1))] {
            try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { [virtual] _, _ in
                virtual.advance(by: .seconds(60))
            }
        }
        virtual.advance(by: .seconds(10))
        #expect(virtual.service.slowHandlers.isEmpty)
    }

    @Test func theTimeOfOneHandlerIsNotChargedToTheNext() throws {
        let (virtual, log) = (VirtualTime(), Log())
        virtual.service.collectsStatistics = true
        for name in ["quick", "slow", "late"] {
            try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, label: name, target: log) {
                [virtual] _, _ in if name == "slow" { virtual.advance(by: .seconds(2)) }
            }
        }
        virtual.advance(by: .seconds(10))
        #expect(virtual.service.slowHandlers.map(\.label) == ["slow"])
    }

    /// Sending takes time, which must not be charged to the handler before it.
    @Test func theTimeOfAHandlerEndsBeforeTheNextTickIsSent() throws {
        let (alarm, log, queue) = (ManualAlarm(), Log(), SuspendedQueue())
        let service = try TimerService(alarm: alarm)
        service.collectsStatistics = true
        try PreciseTimer.schedule(.every(.seconds(1)), on: service, target: log) { $0.note($1) }
        try PreciseTimer.schedule(.every(.seconds(1)), on: service, deliver: .queue(queue.queue), target: log) {
            $0.note($1)
        }
        alarm.move(by: .seconds(1))
        alarm.moveWithEachReading(by: .microseconds(1))
        alarm.fire()
        #expect(service.statistics?.handlerTime.total == .microseconds(1), "one reading after the call")
        service.shutdown()
        queue.letRun()
        #expect(log.count == 1)
    }

    @Test func theLastHandlerOfATimerIsWatchedToo() throws {
        let (virtual, log) = (VirtualTime(), Log())
        virtual.service.collectsStatistics = true
        try PreciseTimer.schedule(.every(.seconds(1), count: 1), on: virtual.service, label: "counted", target: log) {
            [virtual] _, _ in virtual.advance(by: .seconds(2))
        }
        let cancelled = try PreciseTimer.schedule(.every(.seconds(7)), on: virtual.service, label: "cancelled") {
            [virtual] timer, _ in
            virtual.advance(by: .seconds(8))
            timer.cancel()
        }
        virtual.advance(by: .seconds(10))
        #expect(virtual.service.slowHandlers.map(\.label) == ["counted", "cancelled"])
        #expect(cancelled.state == .ended(.cancelled))
    }

    /// The service has no clock any more.
    @Test func theTimeOfAHandlerThatShutsItsServiceDownIsNotCounted() throws {
        let (alarm, log) = (ManualAlarm(), Log())
        let service = TimerService(startedOnUse: { alarm })
        service.collectsStatistics = true
        let ended = try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) {
            [weak service] log, tick in
            log.note(tick)
            service?.shutdown()
        }
        alarm.move(by: .milliseconds(1))
        alarm.fire()
        #expect(ended.state == .ended(.serviceShutDown))
        alarm.move(by: .seconds(10))
        try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) { $0.note($1) }
        alarm.move(by: .milliseconds(1))
        alarm.fire()
        #expect(log.count == 2)
        #expect(service.slowHandlers.isEmpty)
    }

    @Test func aHandlerIsNamedEvenIfTheNextShutsTheServiceDown() throws {
        let (alarm, log) = (ManualAlarm(), Log())
        let service = TimerService(startedOnUse: { alarm })
        service.collectsStatistics = true
        let first = try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) { _, _ in
            alarm.move(by: .milliseconds(5))
        }
        try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) { [weak service] log, tick in
            log.note(tick)
            service?.shutdown()
        }
        alarm.move(by: .milliseconds(1))
        alarm.fire()
        #expect(log.count == 1 && first.state == .ended(.serviceShutDown))
        #expect(service.slowHandlers.map(\.longest) == [.milliseconds(5)])
    }

    @Test func oneCallSiteIsNamedOnceAndOnlyTheFirstAreNamed() throws {
        let (virtual, log) = (VirtualTime(), Log())
        virtual.service.collectsStatistics = true
        for number in 0..<40 {
            for _ in 0..<2 {
                try PreciseTimer.schedule(.every(.seconds(60)), on: virtual.service, label: "\(number)", target: log) {
                    [virtual] _, _ in virtual.advance(by: .seconds(61))
                }
            }
        }
        virtual.advance(by: .seconds(60))
        let found = virtual.service.slowHandlers
        #expect(found.map(\.label) == (0..<16).map { "\($0)" })
        #expect(found.allSatisfy { $0.count == 2 })
    }

    @Test(arguments: TimerService.Backend.available, DeliveryKind.allCases)
    func aSlowHandlerIsFoundOnEveryBackendAndInEveryPlace(
        backend: TimerService.Backend,
        kind: DeliveryKind
    ) async throws {
        let (service, place, log) = (try TimerService(backend), Place(kind), Log())
        service.collectsStatistics = true
        let timer = try place.schedule(.every(.milliseconds(1)), on: service, target: log) { tick in
            log.note(tick)
            pause(.milliseconds(3))
        }
        #expect(await soon { log.count >= 3 })
        timer.cancel()
        #expect(await soon { !service.slowHandlers.isEmpty })
        let slow = try #require(service.slowHandlers.first)
        #expect(slow.file == "TestSupport/Place.swift" && slow.period == .milliseconds(1))
        #expect(slow.longest >= .milliseconds(3))
        service.shutdown()
    }

    @Test func aTimersOwnStatisticsAreEnough() throws {
        let (virtual, log) = (VirtualTime(), Log())
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { [virtual] _, _ in
            virtual.advance(by: .seconds(2))
        }
        timer.collectsStatistics = true
        virtual.advance(by: .seconds(1))
        #expect(virtual.service.slowHandlers.map(\.longest) == [.seconds(2)])
    }

    /// A reading of the clock takes longer than all the rest of a tick on the service's side.
    @Test func aServiceThatNobodyObservesReadsItsClockOnceLess() throws {
        let never = try readings { _, _ in }
        let observed = try readings { service, _ in service.collectsStatistics = true }
        let observedBefore = try readings { service, log in
            service.collectsStatistics = true
            service.collectsStatistics = false
            let timer = try PreciseTimer.schedule(.once(after: .seconds(9)), on: service, target: log) { $0.note($1) }
            timer.collectsStatistics = true
            timer.cancel()
        }
        #expect(never == observedBefore)
        #if DEBUG
        #expect(never == observed, "a debug build observes every service")
        #else
        #expect(never + 1 == observed)
        #endif
    }

    /// How often a service reads its clock for one tick, after it was prepared.
    private func readings(_ prepare: (TimerService, Log) throws -> Void) throws -> Int {
        let (alarm, log) = (ManualAlarm(), Log())
        let service = try TimerService(alarm: alarm)
        try prepare(service, log)
        try PreciseTimer.schedule(.every(.seconds(1)), on: service, target: log) { $0.note($1) }
        alarm.move(by: .seconds(1))
        let before = alarm.now
        alarm.moveWithEachReading(by: .nanoseconds(1))
        alarm.fire()
        #expect(log.count == 1)
        return Int(before.duration(to: alarm.now) / .nanoseconds(1))
    }

    #if DEBUG
    @Test func aDebugBuildSaysItOnceWithTheCallSite() async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let (virtual, log) = (VirtualTime(), Log())
            try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, label: "a\nb", target: log) {
                [virtual] _, _ in virtual.advance(by: .milliseconds(3_200))
            }
            for _ in 0..<5 { virtual.advanceWithoutSettling(by: .seconds(5)) }
        }
        let said = String(decoding: result.standardErrorContent, as: UTF8.self)
        let lines = said.split(separator: "\n").filter { $0.contains("PreciseTimer:") }
        #expect(lines.count == 1)
        #expect(said.contains("PreciseTimer: PreciseTimerTests/SlowHandlerTests.swift:"))
        #expect(said.contains("the handler of this timer (\"a\\nb\") ran for longer than 1 s, its period"))
        #expect(said.contains(", once for 3.2 s"))
    }

    /// Such a handler makes no other timer late, and runs elsewhere already.
    @Test func aSlowHandlerElsewhereIsToldOfItsMissedDeadlines() async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
            for isTask in [true, false] {
                let (alarm, log, own) = (ManualAlarm(), Log(), Box<PreciseTimer>())
                let service = try TimerService(alarm: alarm)
                // The message is written before the timer is finalized.
                let hasEnded = Gate()
                let work: @Sendable (Log, PreciseTimer.Tick) -> Void = { log, tick in
                    log.note(tick)
                    alarm.move(by: .milliseconds(3_200))
                    if log.count == 3 { own.value?.cancel() }
                }
                own.value =
                    isTask
                    ? try PreciseTimer.schedule(
                        .every(.seconds(1)),
                        on: service,
                        target: log,
                        onEnd: { _ in hasEnded.open() },
                        handler: { log, tick async in work(log, tick) }
                    )
                    : try PreciseTimer.schedule(
                        .every(.seconds(1)),
                        on: service,
                        deliver: .queue(DispatchQueue(label: "test.slow")),
                        target: log,
                        onEnd: { _ in hasEnded.open() },
                        handler: work
                    )
                alarm.move(by: .seconds(1))
                for count in 1...3 {
                    alarm.fire()
                    #expect(await soon { log.count == count && own.value?.runningSince == nil })
                }
                await hasEnded.pass()
                #expect(log.ticks.map(\.missed) == [0, 2, 2])
                own.value = nil
                service.shutdown()
            }
        }
        let said = String(decoding: result.standardErrorContent, as: UTF8.self).split(separator: "\n")
        #expect(said.count == 2)
        let time = "for longer than its period, 1 s, in 3 calls, once for 3.2 s: 4 deadlines had no tick; "
        #expect(said.first?.hasSuffix(" ran or awaited \(time)use a longer period or `.fixedDelay`") == true)
        #expect(said.last?.hasSuffix(" ran \(time)do less in it, or use a longer period or `.fixedDelay`") == true)
    }

    @Test func aDebugBuildForgivesTwoSlowCalls() async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let (virtual, log) = (VirtualTime(), Log())
            try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { [virtual] log, tick in
                log.note(tick)
                if log.count <= 2 { virtual.advance(by: .seconds(2)) }
            }
            virtual.advanceWithoutSettling(by: .seconds(20))
            #expect(virtual.service.slowHandlers.map(\.count) == [2])
        }
        #expect(!String(decoding: result.standardErrorContent, as: UTF8.self).contains("PreciseTimer:"))
    }
    #endif
}
