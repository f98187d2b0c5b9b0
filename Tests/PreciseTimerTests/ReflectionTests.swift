// What `dump`, a debugger and a failed expectation read of timers and of the values about them.
import Dispatch
import Foundation
import PreciseTimer
import PreciseTimerFoundation
import PreciseTimerPatterns
import PreciseTimerTestKit
import TestSupport
import Testing

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
