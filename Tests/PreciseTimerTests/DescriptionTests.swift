import Dispatch
import PreciseTimer
import PreciseTimerPatterns
import PreciseTimerTestKit
import TestSupport
import Testing

/// Timers, and the values about them, read well in messages and logs.
struct DescriptionTests {
    private let virtual = VirtualTime()
    private let log = Log()
    private let second = TimerInstant(nanoseconds: 1_000_000_000)

    @Test func aTimerReadsAsItsNamePlaceStateAndPeriod() throws {
        let line: UInt = #line + 1
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, label: "clock", target: log) {
            $0.note($1)
        }
        let name = "timer \"clock\" (PreciseTimerTests/DescriptionTests.swift:\(line)): "
        #expect("\(timer)" == name + "scheduled, every 1 s")
        timer.pause(keeping: .grid)
        #expect("\(timer)" == name + "paused, every 1 s")
        timer.cancel()
        #expect("\(timer)" == name + "ended: cancelled")
        let nameless = try PreciseTimer.schedule(.once(after: .zero), on: virtual.service, target: log) { $0.note($1) }
        #expect("\(nameless)".hasPrefix("timer (PreciseTimerTests/DescriptionTests.swift:"))
        #expect("\(nameless)".hasSuffix("): scheduled"))
    }

    @Test func readingATimerWhoseTargetWasReleasedDoesNotEndIt() throws {
        var target: Log? = Log()
        let ends = Notes<PreciseTimer.EndReason>()
        let timer = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            target: try #require(target),
            onEnd: { ends.append($0) },
            handler: { $0.note($1) }
        )
        target = nil
        #expect("\(timer)".hasSuffix(": scheduled, every 1 s"))
        #expect(virtual.pendingCount == 1)
        #expect(ends.all == [])
        #expect(timer.state == .ended(.targetReleased))
        #expect("\(timer)".hasSuffix(": ended: target released"))
    }

    @Test(arguments: [
        (PreciseTimer.State.scheduled, "scheduled"), (.paused, "paused"), (.ended(.completed), "ended: completed"),
        (.ended(.cancelled), "ended: cancelled"), (.ended(.targetReleased), "ended: target released"),
        (.ended(.handleReleased), "ended: handle released"), (.ended(.serviceShutDown), "ended: service shut down"),
        (
            .ended(.backendFailed(TimerError(.backendFailed, "reading the timerfd"))),
            "ended: reading the timerfd: backend failed"
        ),
    ])
    func aStateReadsInWords(state: PreciseTimer.State, text: String) { #expect("\(state)" == text) }

    @Test func aTickReadsAsItsNumberLatenessAndMissedDeadlines() {
        let woke = second.advanced(by: .nanoseconds(12_300))
        let late = PreciseTimer.Tick(index: 4, deadline: second, woke: woke, missed: 1)
        #expect("\(late)" == "tick 4, 12.3 µs late, 1 missed")
        #expect("\(PreciseTimer.Tick(deadline: second))" == "tick 0, 0 s late")
    }

    @Test(arguments: [
        (PreciseTimer.Schedule.once(after: .seconds(2)), "once after 2 s"),
        (.once(after: .zero, spread: .seconds(1)), "once after 0 s spread over 1 s"),
        (.once(at: TimerInstant(nanoseconds: 7, clock: .wall)), "once at 7 ns (wall)"),
        (.every(.seconds(30)), "every 30 s"),
        (.every(.seconds(30), after: .seconds(5), count: 10), "every 30 s, the first after 5 s, 10 ticks"),
        (.every(.seconds(30), count: 1, spread: .seconds(30)), "every 30 s, spread over 30 s, 1 tick"),
        (.every(.microseconds(500), at: TimerInstant(nanoseconds: 7)), "every 500 µs, the first at 7 ns (suspending)"),
        (.every(.seconds(1), alignedTo: .origin(on: .wall)), "every 1 s, aligned to 0 ns (wall)"),
        (.rate(60, per: .seconds(1)), "60 per 1 s"), (.rate(30_000, per: .seconds(1_001)), "30000 per 1001 s"),
        (.fixedDelay(.milliseconds(20)), "20 ms after each return"),
        (.fixedDelay(.seconds(1), after: .zero), "1 s after each return, the first after 0 s"),
        (.onDemand, "on demand"),
    ])
    func aScheduleReadsAsItsRule(schedule: PreciseTimer.Schedule, text: String) { #expect("\(schedule)" == text) }

    @Test func namesAndErrorsWithControlCharactersStayOnOneLine() throws {
        let label = "a\r\nb\u{0}\u{1B}[2J\u{85}\u{2028}é\t\""
        let text = #"a\r\nb\0\u{1B}[2J\u{0085}\u{2028}é\t""#
        let timer = try PreciseTimer.schedule(.onDemand, on: virtual.service, label: label, target: log) {
            $0.note($1)
        }
        #expect(timer.label == label)
        #expect("\(timer)".hasPrefix("timer \"\(text)\" (PreciseTimerTests/"))
        let error = TimerError(.invalidOption, label, errno: 1, systemMessage: label)
        #expect("\(error)" == "\(text): invalid option (errno 1: \(text))")
        let schedule = PreciseTimer.Schedule.computed(label) { $0.advanced(by: .seconds(1)) }
        #expect("\(schedule)" == text)
        #expect("\(PreciseTimer.Delivery.queue(DispatchQueue(label: "a\nb")))" == #"queue a\nb"#)
        #expect("\(PreciseTimer.State.ended(.failed(error)))" == "ended: failed: \(error)")
        struct Long: Error, CustomStringConvertible { let description = "a\nb" }
        #expect("\(PreciseTimer.EndReason.failed(Long()))" == #"failed: a\nb"#)
    }

    @Test func aPolicyAndAPlaceReadInWords() {
        let policies: [PreciseTimer.MissedTickPolicy] = [.skip, .catchUp(limit: 5), .delay]
        #expect(policies.map { "\($0)" } == ["skip", "catch up, at most 5", "delay"])
        let work = DispatchQueue(label: "com.example.work")
        let places: [PreciseTimer.Delivery] = [.inline, .queue(work)]
        #expect(places.map { "\($0)" } == ["inline", "queue com.example.work"])
    }

    @Test func aDebouncerReadsAsItsTimer() throws {
        let line: UInt = #line + 1
        let save = try Debouncer(.seconds(1), on: virtual.service, label: "save", target: log) { _ in }
        let name = "debouncer of timer \"save\" (PreciseTimerTests/DescriptionTests.swift:\(line)): "
        #expect("\(save)" == name + "scheduled")
        virtual.service.shutdown()
        #expect("\(save)" == name + "ended: service shut down")
    }

    @Test func aTimeOutReadsAsOneLine() {
        let deadline = TimerInstant(nanoseconds: 1_500_000_000)
        #expect("\(TimeoutError(deadline: deadline))" == "timed out at 1500000000 ns (suspending)")
        let late = TimeoutError(deadline: deadline, overrun: .seconds(3))
        #expect("\(late)" == "timed out at 1500000000 ns (suspending), went on for 3.0 seconds after that")
    }

    @Test func statisticsReadAsOneLine() throws {
        virtual.service.collectsStatistics = true
        let empty = try #require(virtual.service.statistics)
        #expect("\(empty)" == "0 ticks, 0 missed")
        #expect("\(empty.lateness)" == "empty")
        try PreciseTimer.schedule(.every(.microseconds(10)), on: virtual.service, target: log) { [virtual] log, tick in
            log.note(tick)
            virtual.advance(by: .microseconds(1))
        }
        virtual.jump(by: .microseconds(35))
        let one = try #require(virtual.service.statistics)
        let stall = "longest stall 25 µs"
        #expect("\(one)" == "1 tick, 2 missed; 99 % at most 25 µs late; handlers 99 % at most 1 µs; \(stall)")
        virtual.advance(by: .microseconds(20))
        let three = try #require(virtual.service.statistics)
        #expect("\(three)" == "3 ticks, 2 missed; 99 % at most 25 µs late; handlers 99 % at most 1 µs; \(stall)")
        #expect("\(three.lateness)" == "3, 50 % at most 0 s, 99 % at most 25 µs, the longest 25 µs")
        #expect("\(try #require(three.longestStall))" == "25 µs since 1000010000 ns (suspending)")
        #expect(three.lateness.buckets.map(\.count) == [2, 1])
    }

    @Test func theTicksOfALoopReadAsTheirSchedule() {
        #expect("\(PreciseTimer.ticks(.every(.milliseconds(10)), on: virtual.service))" == "ticks every 10 ms")
    }

    @Test func aBagReadsAsTheNumberOfItsTimers() throws {
        let bag = TimerBag()
        #expect("\(bag)" == "bag of 0 timers")
        for _ in 0..<2 {
            try PreciseTimer.schedule(.onDemand, on: virtual.service) { _, _ in }.store(in: bag)
        }
        #expect("\(bag)" == "bag of 2 timers")
        bag.cancelAll()
        try PreciseTimer.schedule(.onDemand, on: virtual.service) { _, _ in }.store(in: bag, named: "one")
        #expect("\(bag)" == "bag of 1 timer")
    }

    @Test func timeoutsReadAsTheNumberOfTheirKeys() {
        let timeouts = IdleTimeouts<Int>(on: virtual.service) { _ in }
        timeouts.refresh(1, after: .seconds(1))
        #expect("\(timeouts)" == "time-outs of 1 key")
        timeouts.refresh(2, after: .seconds(1))
        #expect("\(timeouts)" == "time-outs of 2 keys")
    }

    @Test func aProxyReadsAsTheTypeOfItsTarget() {
        var target: Thing? = Thing()
        let proxy = target.map { WeakProxy($0) }
        #expect(proxy.map { "\($0)" } == "proxy of Thing")
        target = nil
        #expect(proxy.map { "\($0)" } == "proxy of a released Thing")
    }
}
