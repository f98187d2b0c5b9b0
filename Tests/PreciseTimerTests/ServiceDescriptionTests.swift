import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Services, and the values about them, read well in messages and logs.
@Suite(.waits("services of every backend describe themselves")) struct ServiceDescriptionTests {
    private let virtual = VirtualTime()
    private let log = Log()

    @Test func aServiceReadsAsItsBackendClockAndTimers() throws {
        let service = try TimerService(.timerFD, clock: .continuous)
        #expect("\(service)" == "timerfd service, continuous clock, 0 timers")
        let timer = try PreciseTimer.schedule(.onDemand, on: service) { _, _ in }
        #expect(
            "\(service)" == """
                timerfd service, continuous clock, 1 timer
                  timer (\(#fileID):\(#line - 1)): 0 ticks
                """
        )
        #expect("\(service.clock)" == "clock of timerfd service, continuous clock, 1 timer")
        timer.cancel()
        #expect("\(TimerService.default)".hasPrefix("shared timerfd service, suspending clock, "))
        #expect("\(TimerService.dispatch)".hasPrefix("shared dispatch service, suspending clock, "))
    }

    @Test func pollableTimersReadAsTheirDescriptorAndService() throws {
        let timers = try TimerService.pollable()
        #expect("\(timers)" == "descriptor \(timers.descriptor) of \(timers.service)")
        #expect("\(timers.service)".hasSuffix(" service, suspending clock, 0 timers"))
    }

    @Test func aBackendReadsAsItsNameOnTheCommandLine() {
        let names = TimerService.Backend.allCases.map { "\($0)" }
        #expect(names == ["dispatch", "timerfd", "libevent", "runloop", "hybrid"])
    }

    @Test func aSnapshotReadsAsTheFactsOfItsTimer() throws {
        let line: UInt = #line + 1
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, label: "clock", target: log) {
            $0.note($1)
        }
        let name = "timer \"clock\" (PreciseTimerTests/ServiceDescriptionTests.swift:\(line)): "
        #expect(try snapshot() == name + "0 ticks, the next at 2000000000 ns (suspending)")
        virtual.jump(by: .nanoseconds(1_000_012_300))
        timer.pause(keeping: .grid)
        let late = "1 tick, the last 12.3 µs late"
        #expect(try snapshot() == name + late + ", the next at 3000000000 ns (suspending), paused")
        try timer.reschedule(.onDemand)
        #expect(try snapshot() == name + late + ", paused")
    }

    @Test func aSnapshotSaysThatTheTargetWasReleased() throws {
        var target: Log? = Log()
        try PreciseTimer.schedule(.onDemand, on: virtual.service, target: try #require(target)) { $0.note($1) }
        target = nil
        #expect(try snapshot().hasPrefix("timer (PreciseTimerTests/ServiceDescriptionTests.swift:"))
        #expect(try snapshot().hasSuffix("): 0 ticks, target released"))
    }

    @Test func aSlowHandlerReadsAsItsPlaceAndItsCalls() throws {
        virtual.service.collectsStatistics = true
        let (line, lengths): (UInt, Notes<Int>) = (#line + 1, Notes())
        let timer = try PreciseTimer.schedule(.every(.milliseconds(1)), on: virtual.service, label: "clock") {
            [virtual] _, tick in
            lengths.append(0)
            virtual.advance(by: .microseconds(lengths.all.count == 2 ? 3_200 : 1_500))
        }
        let name = "\"clock\" (PreciseTimerTests/ServiceDescriptionTests.swift:\(line)): "
        virtual.advance(by: .milliseconds(1))
        let first = try #require(virtual.service.slowHandlers.first)
        #expect("\(first)" == name + "1 call longer than 1 ms, the longest 1.5 ms")
        while lengths.all.count < 3 { virtual.advance(by: .milliseconds(1)) }
        timer.cancel()
        let all = try #require(virtual.service.slowHandlers.first)
        #expect("\(all)" == name + "3 calls longer than 1 ms, the longest 3.2 ms")
    }

    @Test func eachTimerOfAServiceReadsAsOneLine() throws {
        try PreciseTimer.schedule(.onDemand, on: virtual.service, label: "a\nb", target: log) { $0.note($1) }
        #expect("\(virtual.service)".split(separator: "\n").count == 2)
        #expect(try snapshot().hasPrefix(#"timer "a\nb" ("#))
        #expect(virtual.service.activeTimers.map(\.label) == ["a\nb"])
    }

    @Test func aSlowHandlerReadsAsOneLine() throws {
        virtual.service.collectsStatistics = true
        try PreciseTimer.schedule(.every(.milliseconds(1)), on: virtual.service, label: "a\nb", target: log) {
            [virtual] _, _ in virtual.advance(by: .milliseconds(2))
        }
        virtual.advance(by: .milliseconds(1))
        let slow = try #require(virtual.service.slowHandlers.first)
        #expect(slow.label == "a\nb")
        #expect("\(slow)".hasPrefix(#""a\nb" ("#))
    }

    @Test func aClockStepReadsAsItsLengthAndTheNewTime() async throws {
        let virtual = VirtualTime(clock: .wall)
        var steps = try virtual.service.clockSteps.makeAsyncIterator()
        virtual.inject(.stepClock(by: .seconds(-3600)))
        virtual.advanceWithoutSettling(by: .zero)
        let step = try #require(try await steps.next())
        #expect("\(step)" == "-3600 s, to 1767222000000000000 ns (wall)")
    }

    @Test func spinningReadsAsItsLimitsAndItsShare() throws {
        typealias Options = TimerService.SpinOptions
        #expect("\(Options())" == "at most 100 µs, 10 % of a core")
        #expect("\(Options(maximum: .milliseconds(1), budget: 0.025))" == "at most 1 ms, 2.5 % of a core")
        let service = try TimerService(.hybrid)
        let spin = try #require(service.spin)
        let text = "\(spin)"
        #expect(
            text == spin.obstacle.map { "does not spin: \($0)" } ?? "margin 100 µs, lead 2 µs, 0 % of a core, 0 cuts"
        )
    }

    @Test func threadOptionsReadAsThoseThatAreSet() {
        typealias Options = TimerService.ThreadOptions
        #expect("\(Options())" == "normal")
        let some = Options(policy: .fifo(priority: 80), affinity: [3, 2], idleLatency: .zero)
        #expect("\(some)" == "fifo:80, processors 2, 3, idle latency 0 s")
        let others = Options(timerSlack: .microseconds(1), slice: .zero, locksMemory: true, demand: .required)
        #expect("\(others)" == "normal, timer slack 1 µs, slice 0 s, locked memory, required")
        let deadline = Options.Policy.deadline(runtime: .microseconds(50), deadline: .seconds(1), period: .seconds(2))
        #expect("\(deadline)" == "deadline:50 µs:1 s:2 s")
        #expect("\(Options.Policy.roundRobin(priority: 1))" == "rr:1")
    }

    /// The description of the only timer's snapshot.
    private func snapshot() throws -> String { "\(try #require(virtual.service.activeTimers.first))" }
}
