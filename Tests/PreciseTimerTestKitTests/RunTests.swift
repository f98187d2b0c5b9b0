import Dispatch
import PreciseTimer
import PreciseTimerExecutor
import PreciseTimerPatterns
import PreciseTimerTestKit
import TestSupport
import Testing

/// `run` moves virtual time whenever everything is quiet.
@Suite(.timeLimit(.minutes(20))) struct RunTests {
    private let virtual = VirtualTime()

    @Test func anHourOfSleepsTakesNoTimeAndExactlyAnHour() async throws {
        let (virtual, start) = (virtual, virtual.now)
        let log = Log()
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { $0.note($1) }
        let ticks = try await virtual.run {
            for _ in 0..<60 { try await virtual.clock.sleep(until: virtual.now.advanced(by: .seconds(60))) }
            return log.count
        }
        #expect(ticks == 3_600)
        #expect(start.duration(to: virtual.now) == .seconds(3_600))
        #expect(virtual.executor.strays == 0)
        #expect(virtual.pendingCount == 1, "the executor's own timer is not counted")
    }

    @Test func timersOfReleasedTargetsEndOnTheWay() async throws {
        let virtual = virtual
        try PreciseTimer.schedule(.once(after: .seconds(3_600)), on: virtual.service, target: Thing()) { _, _ in }
        try await virtual.run { try await virtual.clock.sleep(for: .seconds(2)) }
        #expect(virtual.pendingCount == 0)
    }

    @Test func theServiceEndsWithItsVirtualTime() async throws {
        weak var service: TimerService?
        try await {
            let virtual = VirtualTime()
            service = virtual.service
            try await virtual.run { try await virtual.clock.sleep(for: .seconds(1)) }
        }()
        #expect(await soon { service == nil })
    }

    @Test func theBodysErrorIsThrown() async {
        struct Failure: Error {}
        await #expect(throws: Failure.self) { try await virtual.run { throw Failure() } }
    }

    @Test func aRunInsideARunJustCallsItsBody() async throws {
        let (virtual, log) = (virtual, Log())
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { $0.note($1) }
        let passed = try await virtual.run {
            let start = virtual.now
            try await virtual.run { try await virtual.clock.sleep(until: start.advanced(by: .seconds(5))) }
            return start.duration(to: virtual.now)
        }
        #expect(passed == .seconds(5))
    }

    @Test func taskLocalValuesAndCancellationReachTheBody() async throws {
        let virtual = virtual
        let task = Task {
            try await Local.$name.withValue("outer") {
                try await virtual.run {
                    unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
                    return Local.name
                }
            }
        }
        #expect(try await task.value == "outer")
        let cancelled = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return try await virtual.run { Task.isCancelled }
        }
        #expect(try await cancelled.value)
    }

    @Test func aBodyThatWaitsForEverIsAnErrorThatNamesTheTimersAtRest() async throws {
        let virtual = virtual
        let rest = try PreciseTimer.schedule(.onDemand, on: virtual.service, label: "news") { _, _ in }
        let isCancelled = Box<Bool>()
        let error = await #expect(throws: VirtualTime.Stuck.self) {
            try await virtual.run(patience: 10, rounds: 1_000_000) {
                try await virtual.clock.sleep(until: virtual.now.advanced(by: .seconds(5)))
                for try await _ in PreciseTimer.ticks(.onDemand, on: virtual.service, label: "orders") {}
                isCancelled.value = Task.isCancelled
            }
        }
        #expect(isCancelled.value == true, "the body is cancelled, and could clean up")
        let words = "\(try #require(error))"
        #expect(words.contains("virtual time 5 s, 2 timers: ") && words.contains(#""news" at rest"#), "\(words)")
        #expect(words.contains(#""orders" at rest"#) && words.contains("no job came from outside"), "\(words)")
        withExtendedLifetime(rest) {}
    }

    @Test func aBodyThatWaitsForEverBesideARepeatingTimerIsAnError() async throws {
        let (virtual, log) = (virtual, Log())
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { $0.note($1) }
        let waits = Gate()
        await #expect(throws: VirtualTime.Stuck.self) {
            try await virtual.run(patience: 10, rounds: 1_000) { await waits.pass() }
        }
        #expect(log.count < 2_100)
        waits.open()
    }

    @Test func aSleepLongerThanManyRoundsIsNoStandstill() async throws {
        let (virtual, log) = (virtual, Log())
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { $0.note($1) }
        try await virtual.run(patience: 10, rounds: 100) {
            try await virtual.clock.sleep(until: virtual.now.advanced(by: .seconds(1_000)))
        }
        #expect(log.count == 1_000)
    }

    @Test func aBodyGoesOnAfterAShutdown() async throws {
        let virtual = virtual
        await #expect(throws: TimerError.self) {
            try await virtual.run {
                virtual.service.shutdown()
                await Task.yield()
                try await virtual.clock.sleep(until: virtual.now.advanced(by: .seconds(1)))
            }
        }
    }

    /// The rows of a table: what leaks out of virtual time. A leak whose thread stands still for some milliseconds lets
    /// the limit pass, so there are several attempts.
    @Test(arguments: ["main actor", "Task", "detached", "Task.sleep", "queue"])
    func whatLeaksOutIsCountedAndThenWaitedFor(leak: String) async throws {
        let isWaitedFor = try await mostSucceed {
            let virtual = VirtualTime()
            let isWaitedFor = try await virtual.run {
                var start = virtual.now
                // The first one may let the limit pass, too, since nobody knows of it yet.
                for _ in 0..<2 {
                    start = virtual.now
                    try? await withTimeout(.seconds(3_600), on: virtual.service) { try await Self.go(leak) }
                }
                return virtual.now == start
            }
            // One that is back before the body waits for it has not leaked.
            return isWaitedFor && virtual.executor.strays > 0
        }
        #expect(isWaitedFor)
    }

    /// Leaves virtual time for a real millisecond.
    private static func go(_ leak: String) async throws {
        switch leak {
        case "main actor": await MainActor.run { pause(.milliseconds(1)) }
        case "Task": await Task { pause(.milliseconds(1)) }.value
        case "detached": await Task.detached { pause(.milliseconds(1)) }.value
        case "Task.sleep": try await Task.sleep(for: .milliseconds(1))
        default:
            await withCheckedContinuation { waiter in
                DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) { waiter.resume() }
            }
        }
    }

    @Test func settlingRunsTheJobsOfTheExecutor() async {
        let (virtual, start, isOver) = (virtual, virtual.now, Box<Bool>())
        let task = Task(executorPreference: virtual.executor) {
            for _ in 0..<100 { await Task.yield() }
            isOver.value = true
        }
        #expect(await virtual.settle())
        #expect(isOver.value == true && virtual.now == start)
        await task.value
    }

    /// Only one thread may move time.
    @Test func settlingBesideARunMovesNoTime() async throws {
        let (virtual, isOver) = (virtual, Box<Bool>())
        let settling = Task.detached { while isOver.value == nil { await virtual.settle() } }
        try await virtual.run {
            for _ in 0..<1_000 {
                try await virtual.clock.sleep(until: virtual.now.advanced(by: .seconds(1)))
                for _ in 0..<10 { await Task.yield() }
            }
        }
        isOver.value = true
        await settling.value
    }

    /// Its job is a tick that is due now. A task whose thread stands still for a tenth of a second is not waited for,
    /// so there are several attempts.
    @Test func theTicksOfAnActorOnTheExecutorArrive() async throws {
        let arrive = try await mostSucceed {
            let virtual = VirtualTime()
            let actor = Resident(on: virtual.executor)
            try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: actor) { actor, _ in
                actor.add()
            }
            let count = try await virtual.run {
                try await virtual.clock.sleep(until: virtual.now.advanced(by: .milliseconds(20_500)))
                return await actor.count
            }
            await virtual.advance(by: .seconds(20))
            let countAfterAnAdvance = try await virtual.run { await actor.count }
            return count == 20 && countAfterAnAdvance == 40
        }
        #expect(arrive)
    }

    /// Handlers that run elsewhere are no jobs of the executor. There are several attempts, too.
    @Test func handlersOnActorsAreWaitedFor() async throws {
        let areWaitedFor = try await mostSucceed {
            let (virtual, log) = (VirtualTime(), Log())
            try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { @MainActor log, tick in
                log.note(tick)
            }
            try await virtual.run {
                try await virtual.clock.sleep(until: virtual.now.advanced(by: .milliseconds(20_500)))
            }
            #expect(virtual.executor.strays > 0)
            return log.ticks.map(\.missed) == Array(repeating: 0, count: 20)
        }
        #expect(areWaitedFor)
    }
}

/// An actor on virtual time.
private actor Resident {
    private let executor: TimerExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.unownedExecutor }
    private(set) var count = 0

    init(on executor: TimerExecutor) { self.executor = executor }

    func add() { count += 1 }
}

private enum Local {
    @TaskLocal static var name = ""
}
