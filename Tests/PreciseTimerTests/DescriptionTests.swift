// Timers, services, and the values about them, read well in messages and logs.
import Dispatch
import PreciseTimer
import PreciseTimerPatterns
import PreciseTimerTestKit
import TestSupport
import Testing

@Suite(.waits("services of every backend describe themselves")) struct DescriptionTests {
    private let virtual = VirtualTime()
    private let log = Log()
    private let second = TimerInstant(nanoseconds: 1_000_000_000)

    /// Schedules a timer in line 12 of this file.
    @discardableResult private func schedule(
        _ schedule: PreciseTimer.Schedule,
        label: String? = nil,
        meanwhile body: @escaping @Sendable () -> Void = {}
    ) throws -> PreciseTimer {
        try PreciseTimer.schedule(schedule, on: virtual.service, label: label, line: 12, target: log) { _, _ in body() }
    }

    /// The description of the only timer's snapshot.
    private var snapshot: String { virtual.service.activeTimers.map { "\($0)" }.joined() }

    private func statistics() throws -> PreciseTimer.Statistics { try #require(virtual.service.statistics) }

    @Test func aTimerAndItsSnapshotReadAsNamePlaceAndFacts() throws {
        let timer = try schedule(.every(.seconds(1)), label: "clock")
        var texts = ["\(timer)", snapshot]
        virtual.jump(by: .nanoseconds(1_000_012_300))
        timer.pause(keeping: .grid)
        texts += ["\(timer)", snapshot]
        try timer.reschedule(.onDemand)
        texts += ["\(timer)", snapshot]
        timer.cancel()
        texts.append("\(timer)")
        let facts = [
            "scheduled, every 1 s", "0 ticks, the next at 2000000000 ns (suspending)", "paused, every 1 s",
            "1 tick, the last 12.3 µs late, the next at 3000000000 ns (suspending), paused", "paused",
            "1 tick, the last 12.3 µs late, paused", "ended: cancelled",
        ]
        #expect(texts == facts.map { "timer \"clock\" (\(#fileID):12): \($0)" })
        let orphan = try PreciseTimer.schedule(.onDemand, on: virtual.service, line: 3, target: Log()) { $0.note($1) }
        #expect(snapshot == "timer (\(#fileID):3): 0 ticks, target released")
        withExtendedLifetime(orphan) {}
        #expect("\(try schedule(.once(after: .zero)))" == "timer (\(#fileID):12): scheduled")
        let here = try PreciseTimer.schedule(.onDemand, on: virtual.service, target: log) { $0.note($1) }
        #expect("\(here)" == "timer (\(#fileID):\(#line - 1)): scheduled")
    }

    private func expectTexts<Value>(_ texts: KeyValuePairs<Value, String>) {
        #expect(texts.map { "\($0.key)" } == texts.map(\.value))
    }

    @Test func statesAndSchedulesReadInWords() {
        expectTexts([
            PreciseTimer.State.scheduled: "scheduled", .paused: "paused", .ended(.completed): "ended: completed",
            .ended(.cancelled): "ended: cancelled", .ended(.targetReleased): "ended: target released",
            .ended(.handleReleased): "ended: handle released", .ended(.serviceShutDown): "ended: service shut down",
            .ended(.backendFailed(TimerError(.backendFailed, "reading the timerfd"))):
                "ended: reading the timerfd: backend failed",
        ])
        expectTexts([
            PreciseTimer.Schedule.once(after: .seconds(2)): "once after 2 s",
            .once(after: .zero, spread: .seconds(1)): "once after 0 s spread over 1 s",
            .once(at: TimerInstant(nanoseconds: 7, clock: .wall)): "once at 7 ns (wall)",
            .every(.seconds(30)): "every 30 s",
            .every(.seconds(30), after: .seconds(5), count: 10): "every 30 s, the first after 5 s, 10 ticks",
            .every(.seconds(30), count: 1, spread: .seconds(30)): "every 30 s, spread over 30 s, 1 tick",
            .every(.seconds(1), jitter: .milliseconds(5), for: .seconds(10)): "every 1 s, jitter 5 ms, for 10 s",
            .every(.microseconds(500), at: second): "every 500 µs, the first at 1000000000 ns (suspending)",
            .every(.seconds(1), alignedTo: .origin(on: .wall)): "every 1 s, aligned to 0 ns (wall)",
            .rate(60, per: .seconds(1)): "60 per 1 s", .rate(30_000, per: .seconds(1_001)): "30000 per 1001 s",
            .fixedDelay(.milliseconds(20)): "20 ms after each return",
            .fixedDelay(.seconds(1), after: .zero): "1 s after each return, the first after 0 s",
            .onDemand: "on demand",
        ])
    }

    @Test func valuesAndOptionsReadInWords() {
        typealias Options = TimerService.ThreadOptions
        let late = second.advanced(by: .nanoseconds(12_300))
        expectTexts(
            [
                PreciseTimer.Tick(index: 4, deadline: second, woke: late, missed: 1): "tick 4, 12.3 µs late, 1 missed",
                PreciseTimer.Tick(deadline: second): "tick 0, 0 s late",
                [PreciseTimer.MissedTickPolicy.skip, .catchUp(limit: 5), .delay]: "[skip, catch up, at most 5, delay]",
                PreciseTimer.Delivery.inline: "inline",
                PreciseTimer.Delivery.queue(DispatchQueue(label: "com.example.work")): "queue com.example.work",
                TimerService.Backend.allCases: "[dispatch, timerfd, libevent, runloop, hybrid]",
                TimeoutError(deadline: second): "timed out at 1000000000 ns (suspending)",
                TimeoutError(deadline: second, overrun: .seconds(3)):
                    "timed out at 1000000000 ns (suspending), went on for 3 s after that",
                PreciseTimer.ticks(.every(.milliseconds(10)), on: virtual.service): "ticks every 10 ms",
                Options(): "normal", Options(policy: .roundRobin(priority: 1)): "rr:1",
                Options(policy: .fifo(priority: 80), affinity: [3, 2], idleLatency: .zero):
                    "fifo:80, processors 2, 3, idle latency 0 s",
                Options(timerSlack: .microseconds(1), slice: .zero, locksMemory: true, demand: .required):
                    "normal, timer slack 1 µs, slice 0 s, locked memory, required",
                Options(name: "two\nlines"): "normal, name two\\nlines",
                Options(policy: .deadline(runtime: .microseconds(50), deadline: .seconds(1), period: .seconds(2))):
                    "deadline:50 µs:1 s:2 s",
                TimerService.SpinOptions(): "at most 100 µs, 10 % of a core",
                TimerService.SpinOptions(maximum: .milliseconds(1), budget: 0.025): "at most 1 ms, 2.5 % of a core",
            ] as KeyValuePairs<any Sendable, String>
        )
    }

    @Test func namesAndErrorsWithControlCharactersStayOnOneLine() throws {
        let label = "a\r\nb\u{0}\u{1B}[2J\u{85}\u{2028}é\t\""
        let text = #"a\r\nb\0\u{1B}[2J\u{0085}\u{2028}é\t""#
        virtual.service.collectsStatistics = true
        let timer = try schedule(.every(.milliseconds(1)), label: label) { [virtual] in
            virtual.advance(by: .milliseconds(2))
        }
        virtual.advance(by: .milliseconds(1))
        let (snapshot, slow) = (virtual.service.activeTimers[0], virtual.service.slowHandlers[0])
        #expect([timer.label, snapshot.label, slow.label] == [label, label, label])
        let name = "\"\(text)\" (\(#fileID):12): "
        #expect(["\(timer)", "\(snapshot)", "timer \(slow)"].allSatisfy { $0.hasPrefix("timer \(name)") })
        #expect("\(virtual.service)".split(whereSeparator: \.isNewline).count == 2)
        let error = TimerError(.invalidOption, label, errno: 1, systemMessage: label)
        struct Long: Error, CustomStringConvertible { let description = "a\nb" }
        expectTexts(
            [
                error: "\(text): invalid option (errno 1: \(text))",
                PreciseTimer.Schedule.computed(label) { $0 }: text,
                PreciseTimer.Delivery.queue(DispatchQueue(label: "a\nb")): #"queue a\nb"#,
                PreciseTimer.State.ended(.failed(error)): "ended: failed: \(error)",
                PreciseTimer.EndReason.failed(Long()): #"failed: a\nb"#,
            ] as KeyValuePairs<any Sendable, String>
        )
    }

    @Test func statisticsReadAsOneLine() throws {
        virtual.service.collectsStatistics = true
        #expect(["\(try statistics())", "\(try statistics().lateness)"] == ["0 ticks, 0 missed", "empty"])
        try schedule(.every(.microseconds(10))) { [virtual] in virtual.advance(by: .microseconds(1)) }
        virtual.jump(by: .microseconds(35))
        let one = try statistics()
        virtual.advance(by: .microseconds(20))
        let three = try statistics()
        let rest = " ticks, 2 missed; 99 % at most 25 µs late; handlers 99 % at most 1 µs; longest stall 25 µs"
        #expect(["\(one)", "\(three)"] == ["1" + rest.replacing(" ticks", with: " tick"), "3" + rest])
        #expect("\(three.lateness)" == "3, 50 % at most 0 s, 99 % at most 25 µs, the longest 25 µs")
        #expect("\(try #require(three.longestStall))" == "25 µs since 1000010000 ns (suspending)")
        #expect(three.lateness.buckets.map(\.count) == [2, 1])
    }

    @Test func aHolderReadsAsItsTimers() throws {
        let save = try Debouncer(.seconds(1), on: virtual.service, label: "save", line: 1, target: log) { _ in }
        let (bag, timeouts) = (TimerBag(), IdleTimeouts<Int>(on: virtual.service, target: log) { _, _ in })
        var texts = ["\(save)", "\(bag)"]
        for key in 1...2 {
            try schedule(.onDemand).store(in: bag)
            timeouts.refresh(key, after: .seconds(1))
            texts += ["\(bag)", "\(timeouts)"]
        }
        bag.cancelAll()
        try schedule(.onDemand).store(in: bag, named: "one")
        virtual.service.shutdown()
        texts += ["\(bag)", "\(save)"]
        let name = "debouncer of timer \"save\" (\(#fileID):1): "
        let facts = [
            name + "scheduled", "bag of 0 timers", "bag of 1 timer", "time-outs of 1 key", "bag of 2 timers",
            "time-outs of 2 keys", "bag of 1 timer", name + "ended: service shut down",
        ]
        #expect(texts == facts)
    }

    @Test func aProxyReadsAsTheTypeOfItsTarget() {
        let released = WeakProxy(Thing())
        #expect(["\(WeakProxy(log))", "\(released)"] == ["proxy of Log", "proxy of a released Thing"])
    }

    @Test func aServiceReadsAsItsBackendClockAndTimers() throws {
        let service = try TimerService(.timerFD, clock: .continuous)
        let title = "timerfd service, continuous clock, "
        #expect("\(service)" == title + "0 timers")
        let timer = try PreciseTimer.schedule(.onDemand, on: service, file: "A.swift", line: 1) { _, _ in }
        #expect("\(service)" == title + "1 timer\n  timer (A.swift:1): 0 ticks")
        #expect("\(service.clock)" == "clock of \(title)1 timer")
        timer.cancel()
        #expect("\(TimerService.default)".hasPrefix("shared timerfd service, suspending clock, "))
        #expect("\(TimerService.dispatch)".hasPrefix("shared dispatch service, suspending clock, "))
        let timers = try TimerService.pollable()
        #expect("\(timers)" == "descriptor \(timers.descriptor) of \(timers.service)")
        #expect("\(timers.service)".hasSuffix(" service, suspending clock, 0 timers"))
    }

    @Test func aSlowHandlerReadsAsItsPlaceAndItsCalls() throws {
        virtual.service.collectsStatistics = true
        let calls = Count()
        try schedule(.every(.milliseconds(1)), label: "clock") { [virtual] in
            virtual.advance(by: .microseconds(calls.add(1) == 2 ? 3_200 : 1_500))
        }
        virtual.advance(by: .milliseconds(1))
        var texts = virtual.service.slowHandlers.map { "\($0)" }
        while calls.value < 3 { virtual.advance(by: .milliseconds(1)) }
        texts += virtual.service.slowHandlers.map { "\($0)" }
        let facts = ["1 call longer than 1 ms, the longest 1.5 ms", "3 calls longer than 1 ms, the longest 3.2 ms"]
        #expect(texts == facts.map { "\"clock\" (\(#fileID):12): \($0)" })
    }

    @Test func aClockStepReadsAsItsLengthAndTheNewTime() async throws {
        let virtual = VirtualTime(clock: .wall)
        let steps = try virtual.service.clockSteps
        virtual.inject(.stepClock(by: .seconds(-3600)))
        virtual.advanceWithoutSettling(by: .zero)
        let step = try #require(await steps.first { _ in true })
        #expect("\(step)" == "-3600 s, to 1767222000000000000 ns (wall)")
    }

    @Test func spinningReadsAsItsLimitsAndItsShare() throws {
        let service = try TimerService(.hybrid)
        let spin = try #require(service.spin)
        let text = spin.obstacle.map { "does not spin: \($0)" } ?? "margin 100 µs, lead 2 µs, 0 % of a core, 0 cuts"
        #expect("\(spin)" == text)
    }
}
