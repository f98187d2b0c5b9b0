// How timers, services, and the values about them read: in messages and logs, and in `dump`, a debugger and a failed
// expectation.
import Dispatch
import Foundation
import PreciseTimer
import PreciseTimerFoundation
import PreciseTimerPatterns
import PreciseTimerTestKit
import TestSupport
import Testing

@Suite(.waits("services of every backend describe themselves")) struct DescriptionTests {
    private typealias Texts = KeyValuePairs<any Sendable, String>

    private let virtual = VirtualTime()
    private let log = Log()
    private let start = TimerInstant(nanoseconds: 1_000_000_000)

    /// Schedules a timer in line 12 of this file.
    @discardableResult private func schedule(
        _ schedule: PreciseTimer.Schedule,
        label: String? = nil,
        meanwhile body: @escaping @Sendable () -> Void = {}
    ) throws -> PreciseTimer {
        try PreciseTimer.schedule(schedule, on: virtual.service, label: label, line: 12, target: log) { _, _ in body() }
    }

    private func expectTexts(_ texts: Texts) { #expect(texts.map { "\($0.key)" } == texts.map(\.value)) }

    @Test func aTimerAndItsSnapshotReadAsNamePlaceAndFacts() throws {
        let timer = try schedule(.every(.seconds(1)), label: "clock")
        let snapshot = { virtual.service.activeTimers.map { "\($0)" }.joined() }
        var texts = ["\(timer)", snapshot()]
        virtual.jump(by: .nanoseconds(1_000_012_300))
        timer.pause(keeping: .grid)
        texts += ["\(timer)", snapshot()]
        try timer.reschedule(.onDemand)
        texts += ["\(timer)", snapshot()]
        timer.cancel()
        texts.append("\(timer)")
        let facts = [
            "scheduled, every 1 s", "0 ticks, the next at 2000000000 ns (suspending)", "paused, every 1 s",
            "1 tick, the last 12.3 µs late, the next at 3000000000 ns (suspending), paused", "paused",
            "1 tick, the last 12.3 µs late, paused", "ended: cancelled",
        ]
        #expect(texts == facts.map { "timer \"clock\" (\(#fileID):12): \($0)" })
        let orphan = try PreciseTimer.schedule(.onDemand, on: virtual.service, target: Log()) { $0.note($1) }
        #expect(snapshot() == "timer (\(#fileID):\(#line - 1)): 0 ticks, target released")
        withExtendedLifetime(orphan) {}
    }

    @Test func schedulesReadInWords() {
        let second = Duration.seconds(1)
        expectTexts(
            [
                PreciseTimer.Schedule.once(after: .zero, spread: second): "once after 0 s spread over 1 s",
                PreciseTimer.Schedule.once(at: TimerInstant(nanoseconds: 7, clock: .wall)): "once at 7 ns (wall)",
                PreciseTimer.Schedule.every(second, after: .seconds(5), count: 10):
                    "every 1 s, the first after 5 s, 10 ticks",
                PreciseTimer.Schedule.every(second, count: 1, spread: second): "every 1 s, spread over 1 s, 1 tick",
                PreciseTimer.Schedule.every(second, jitter: .milliseconds(5), for: .seconds(9)):
                    "every 1 s, jitter 5 ms, for 9 s",
                PreciseTimer.Schedule.every(second, at: start): "every 1 s, the first at 1000000000 ns (suspending)",
                PreciseTimer.Schedule.every(second, alignedTo: .origin(on: .wall)): "every 1 s, aligned to 0 ns (wall)",
                PreciseTimer.Schedule.rate(30_000, per: .seconds(1_001)): "30000 per 1001 s",
                PreciseTimer.Schedule.fixedDelay(.milliseconds(20)): "20 ms after each return",
                PreciseTimer.Schedule.fixedDelay(second, after: .zero): "1 s after each return, the first after 0 s",
                PreciseTimer.Schedule.onDemand: "on demand",
                PreciseTimer.ticks(.every(second), on: virtual.service): "ticks every 1 s",
            ] as Texts
        )
    }

    @Test func valuesAndOptionsReadInWords() {
        typealias Options = TimerService.ThreadOptions
        typealias State = PreciseTimer.State
        let late = start.advanced(by: .nanoseconds(12_300))
        expectTexts(
            [
                [State.scheduled, .paused]: "[scheduled, paused]",
                [State.ended(.completed), .ended(.cancelled)]: "[ended: completed, ended: cancelled]",
                [PreciseTimer.EndReason.targetReleased, .handleReleased, .serviceShutDown]:
                    "[target released, handle released, service shut down]",
                State.ended(.backendFailed(TimerError(.backendFailed, "reading"))): "ended: reading: backend failed",
                PreciseTimer.Tick(index: 4, deadline: start, woke: late, missed: 1): "tick 4, 12.3 µs late, 1 missed",
                PreciseTimer.Tick(deadline: start): "tick 0, 0 s late",
                [PreciseTimer.MissedTickPolicy.skip, .catchUp(limit: 5), .delay]: "[skip, catch up, at most 5, delay]",
                PreciseTimer.Delivery.inline: "inline",
                TimerService.Backend.allCases: "[dispatch, timerfd, libevent, runloop, hybrid]",
                TimeoutError(deadline: start): "timed out at 1000000000 ns (suspending)",
                TimeoutError(deadline: start, overrun: .seconds(3)):
                    "timed out at 1000000000 ns (suspending), went on for 3 s after that",
                Options(): "normal", Options(policy: .roundRobin(priority: 1)): "rr:1",
                Options(policy: .fifo(priority: 80), affinity: [3, 2], idleLatency: .zero):
                    "fifo:80, processors 2, 3, idle latency 0 s",
                Options(timerSlack: .microseconds(1), slice: .zero, locksMemory: true, demand: .required):
                    "normal, timer slack 1 µs, slice 0 s, locked memory, required",
                Options(policy: .deadline(runtime: .microseconds(50), deadline: .seconds(1), period: .seconds(2))):
                    "deadline:50 µs:1 s:2 s",
                TimerService.SpinOptions(maximum: .milliseconds(1), budget: 0.025): "at most 1 ms, 2.5 % of a core",
            ] as Texts
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
                TimerService.ThreadOptions(name: "two\nlines"): #"normal, name two\nlines"#,
            ] as Texts
        )
    }

    @Test func statisticsReadAsOneLine() throws {
        let statistics = { try #require(virtual.service.statistics) }
        virtual.service.collectsStatistics = true
        let none = try statistics()
        try schedule(.every(.microseconds(10))) { [virtual] in virtual.advance(by: .microseconds(1)) }
        virtual.jump(by: .microseconds(35))
        let one = try statistics()
        virtual.advance(by: .microseconds(20))
        let three = try statistics()
        let rest = ", 2 missed; 99 % at most 25 µs late; handlers 99 % at most 1 µs; longest stall 25 µs"
        expectTexts(
            [
                none: "0 ticks, 0 missed", none.lateness: "empty", one: "1 tick" + rest, three: "3 ticks" + rest,
                three.lateness: "3, 50 % at most 0 s, 99 % at most 25 µs, the longest 25 µs",
                try #require(three.longestStall): "25 µs since 1000010000 ns (suspending)",
            ] as Texts
        )
    }

    @Test func aHolderReadsAsItsTimers() throws {
        let save = try Debouncer(.seconds(1), on: virtual.service, label: "save", line: 1, target: log) { _ in }
        let (bag, timeouts) = (TimerBag(), IdleTimeouts<Int>(on: virtual.service, target: log) { _, _ in })
        try schedule(.onDemand).store(in: bag)
        for key in 1...2 { timeouts.refresh(key, after: .seconds(1)) }
        expectTexts(
            [
                TimerBag(): "bag of 0 timers", bag: "bag of 1 timer", timeouts: "time-outs of 2 keys",
                save: "debouncer of timer \"save\" (\(#fileID):1): scheduled", WeakProxy(log): "proxy of Notes<Tick>",
                WeakProxy(Thing()): "proxy of a released Thing",
            ] as Texts
        )
    }

    @Test func aServiceReadsAsItsBackendClockAndTimers() throws {
        let service = try TimerService(.timerFD, clock: .continuous)
        let title = "timerfd service, continuous clock, "
        #expect("\(service)" == title + "0 timers")
        let timer = try PreciseTimer.schedule(.onDemand, on: service, file: "A.swift", line: 1) { _, _ in }
        #expect("\(service)" == title + "1 timer\n  timer (A.swift:1): 0 ticks")
        #expect("\(service.clock)" == "clock of \(title)1 timer")
        timer.cancel()
        #expect("\(TimerService.dispatch)".hasPrefix("shared dispatch service, suspending clock, "))
        let timers = try TimerService.pollable()
        #expect("\(timers)" == "descriptor \(timers.descriptor) of \(timers.service)")
        #expect("\(timers.service)".hasSuffix(" service, suspending clock, 0 timers"))
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
        let spin = try #require(try TimerService(.hybrid).spin)
        let text = spin.obstacle.map { "does not spin: \($0)" } ?? "margin 100 µs, lead 2 µs, 0 % of a core, 0 cuts"
        #expect("\(spin)" == text)
    }
}

/// `dump`, a debugger and a failed expectation read all parts of a value. A part that cannot be copied ends the
/// process, so each test that reads parts has a process of its own.
@Suite(.waits("each test has a process of its own")) struct ReflectionTests {
    @Test func everyPublicTypeCanBeReflected() async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardOutputContent]) {
            reflectAll(try await Specimens().all)
        }
        #expect(lines(result.standardOutputContent).last == "done")
    }

    @Test func theReflectedTypesAreAllPublicTypes() async throws {
        // No object is of this class itself.
        let types = try publicTypes(of: "PreciseTimer").union(publicTypes(of: "PreciseTimerPatterns"))
        #expect(try await types.symmetricDifference(Specimens().all.map(typeName)) == ["CallLimiter"])
    }

    @Test func anObjectIsDumpedAsItsDescription() async {
        await #expect(processExitsWith: .success) {
            let specimens = try await Specimens()
            let dumps = (specimens.objects + specimens.valuesWithObjects).map(reflect)
            let texts = specimens.objects.map { "- \($0) #0\n" } + specimens.valuesWithObjects.map { "- \($0)\n" }
            #expect(dumps == texts)
        }
    }
}

/// Live values of all public types.
private struct Specimens {
    /// One object of each class.
    let objects: [Any]
    /// The structures that hold objects.
    let valuesWithObjects: [Any]
    /// Values of all types.
    let all: [Any]
    private let held: [AnyObject]

    init() async throws {
        let (virtual, wall, log) = (VirtualTime(), VirtualTime(clock: .wall), Log())
        let service = virtual.service
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: service, label: "clock", target: log) {
            $0.note($1)
            // The handler runs for longer than its period.
            virtual.advance(by: .seconds(2))
        }
        timer.collectsStatistics = true
        let idle = IdleTimeouts<String>(on: service, target: log) { _, _ in }
        idle.refresh("key", after: .seconds(60))
        let bag = TimerBag()
        timer.store(in: bag, named: "clock")
        let save = try Debouncer(.seconds(9), on: service, label: "save", target: log) { _ in }
        let draw = try Throttler(.seconds(9), on: service, label: "draw", target: log) { _ in }
        objects = [timer, service, save, draw, bag, idle, WeakProxy(log), try TimerService.pollable()]

        let ticks = PreciseTimer.ticks(.every(.seconds(1)), on: service)
        let schedules: [PreciseTimer.Schedule] = [
            .every(.seconds(1), count: 3, spread: .seconds(1), jitter: .seconds(1), for: .seconds(60)),
            .rate(60, per: .seconds(1)), .daily(at: DateComponents(hour: 9)), .computed("at nine") { $0 },
        ]
        valuesWithObjects = schedules

        let (steps, suspensions) = (try wall.service.clockSteps, try service.suspensions)
        wall.inject(.stepClock(by: .seconds(5)))
        virtual.inject(.suspend(.seconds(5)))
        await wall.advance(by: .seconds(1))
        await virtual.advance(by: .seconds(120))
        let step = try #require(await steps.first { _ in true })
        let suspension = try #require(await suspensions.first { _ in true })

        let statistics = try #require(timer.statistics)
        let hybrid = try TimerService(.hybrid, thread: TimerService.ThreadOptions(policy: .fifo(priority: 80)))
        let item = try #require(hybrid.grant.items.first)
        let error = TimerError(.invalidSchedule, "scheduling", errno: 22, systemMessage: "invalid")
        // In several lists, because Swift 6.2 takes too long for one.
        let timerValues: [Any] = [
            ticks, ticks.makeAsyncIterator(), service.clock, PreciseTimer.State.ended(.failed(error)),
            PreciseTimer.EndReason.failed(error), PreciseTimer.Delivery.queue(.global()),
            PreciseTimer.PauseKeeping.grid, PreciseTimer.PhaseKeeping.phase,
            PreciseTimer.MissedTickPolicy.catchUp(limit: 3), TimeoutError(deadline: service.now),
            PreciseTimer.Backoff.exponential(from: .seconds(1), upTo: .seconds(9)), PreciseTimer.Jitter.full,
            BurstEdge.both,
        ]
        let tickValues: [Any] = [
            try #require(timer.lastRun), try #require(log.ticks.first), statistics, statistics.lateness,
            try #require(statistics.lateness.buckets.first), try #require(statistics.longestStall),
            try #require(service.slowHandlers.first), try #require(service.activeTimers.first),
        ]
        let serviceValues: [Any] = [
            TimerClock.wall, error, error.code, service.now, step, suspension, try #require(hybrid.spin), hybrid.grant,
            item, item.option, TimerService.Backend.timerFD, TimerService.Backend.Availability.unavailable("no"),
            TimerService.SpinOptions(), TimerService.ThreadOptions(), TimerService.ThreadOptions.Demand.required,
            TimerService.ThreadOptions.Policy.fifo(priority: 1),
        ]
        all = objects + valuesWithObjects + timerValues + tickValues + serviceValues
        held = [log, hybrid]
    }
}
