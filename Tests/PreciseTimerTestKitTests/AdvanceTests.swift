import Dispatch
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// `await virtual.advance(by:)`: each tick arrives before time goes on.
///
/// A task that the service does not know, and whose thread stands still for some milliseconds, looks like one that has
/// ended, and a handler whose thread stands still for a tenth of a second like one that awaits a later deadline: see
/// ``VirtualTime/settle()``. So tests with them make several attempts.
@Suite(.timeLimit(.minutes(60))) struct AdvanceTests {
    private let virtual = VirtualTime()

    /// What is used in an attempt. It notes times, in seconds from the start.
    private final class Attempt: Sendable {
        let virtual: VirtualTime
        let times = Notes<Int>()
        private let start: TimerInstant

        init(_ clock: TimerClock) {
            virtual = VirtualTime(clock: clock)
            start = virtual.now
        }

        func noteTime() { times.append(Int(start.duration(to: virtual.now) / .seconds(1))) }
    }

    /// Lets a minute pass while a task runs. Returns whether the noted times are the expected ones in most attempts.
    private func notes(
        _ expected: [Int],
        on clock: TimerClock = .suspending,
        in body: @escaping @Sendable (Attempt) async throws -> Void
    ) async -> Bool {
        await mostSucceed {
            let attempt = Attempt(clock)
            let task = Task { try await body(attempt) }
            let isSettled = await attempt.virtual.advance(by: .seconds(60))
            task.cancel()
            _ = await task.result
            defer { attempt.virtual.service.shutdown() }
            return isSettled && attempt.times.all == expected
        }
    }

    // MARK: Who gets each tick

    @Test(arguments: DeliveryKind.hops) func eachTickReachesItsPlace(kind: DeliveryKind) async throws {
        let place = Place(kind)
        let areInTime = await notes([1, 2, 3, 4, 5]) { its in
            let everySecond = PreciseTimer.Schedule.every(.seconds(1), count: 5)
            let timer = try place.schedule(everySecond, on: its.virtual.service, target: its) { _ in its.noteTime() }
            try await its.virtual.service.clock.sleep(for: .seconds(10))
            withExtendedLifetime(timer) {}
        }
        #expect(areInTime)
    }

    @Test func aTaskThatWasJustCreatedGetsEachTick() async throws {
        let areInTime = await notes([1, 2, 3, 4]) { its in
            for try await _ in PreciseTimer.ticks(.every(.seconds(1), count: 4), on: its.virtual.service) {
                its.noteTime()
            }
        }
        #expect(areInTime)
    }

    /// Tasks of each priority wait for threads of their own. Here these are busy for longer than twelve short sleeps.
    /// Nobody awaits the task, because that would raise its priority.
    @Test(arguments: [TaskPriority.background, .utility, .medium, .high])
    func aTaskOfAnyPriorityBeginsItsPauseBeforeTimeMoves(priority: TaskPriority) async throws {
        let areInTime = await notes([1, 2]) { its in
            for _ in 0..<4 * ProcFS.processors.count { Task.detached(priority: priority) { pause(.milliseconds(10)) } }
            Task.detached(priority: priority) {
                for _ in 0..<2 {
                    try await its.virtual.service.clock.sleep(for: .seconds(1))
                    its.noteTime()
                }
            }
        }
        #expect(areInTime)
    }

    @Test func aStepOfTheClockIsToldBeforeTimeGoesOn() async throws {
        let areInTime = await notes([101], on: .wall) { its in
            its.virtual.inject(.stepClock(by: .seconds(100)), after: .seconds(1))
            for try await _ in try its.virtual.service.clockSteps { its.noteTime() }
        }
        #expect(areInTime)
    }

    /// No deadline waits for it.
    @Test func aTaskThatAnInlineHandlerCreatesRunsOnArrival() async throws {
        let areInTime = await notes([1, 1, 1]) { its in
            let everySecond = PreciseTimer.Schedule.every(.seconds(1), count: 3)
            try PreciseTimer.schedule(everySecond, on: its.virtual.service, target: its) { its, _ in
                Task { its.times.append(1) }
            }
        }
        #expect(areInTime)
    }

    /// The handler awaits a later deadline of the same advance; the last one awaits the next advance.
    @Test func aHandlerMaySleepOnTheServicesClock() async throws {
        let tally = Tally()
        let areInTime = await notes([15, 25, 35, 45, 55]) { its in
            try PreciseTimer.schedule(.every(.seconds(10)), on: its.virtual.service, target: tally) { _, _ in
                try? await its.virtual.service.clock.sleep(for: .seconds(5))
                its.noteTime()
            }
        }
        #expect(areInTime)
    }

    // MARK: What is not waited for

    /// A settling at each deadline would take minutes.
    @Test func inlineTicksOfRepeatingTimersAreNotWaitedFor() async throws {
        let log = Log()
        for schedule in [PreciseTimer.Schedule.every(.milliseconds(1)), .fixedDelay(.seconds(1))] {
            try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { $0.note($1) }
        }
        #expect(virtual.service.pendingWork(by: virtual.now.advanced(by: .seconds(1))) == [])
        await virtual.advance(by: .seconds(60))
        #expect(log.count == 60_000 + 60)
    }

    @Test func theSequelIsThatOfDueTimers() throws {
        let (service, tally, log) = (virtual.service, Tally(), Log())
        let work = { (seconds: Int64...) in
            seconds.map { service.pendingWork(by: service.now.advanced(by: .seconds($0))) }
        }
        let once = try PreciseTimer.schedule(.once(after: .seconds(3)), on: service) { _, _ in }
        let rests = try PreciseTimer.schedule(.onDemand, on: service) { _, _ in }
        try PreciseTimer.schedule(.every(.seconds(1)), on: service, target: log) { $0.note($1) }
        #expect(work(2, 3) == [[], .task])
        try once.reschedule(.once(after: .seconds(8)))
        try rests.reschedule(.every(.seconds(6)))
        #expect(work(5, 6) == [[], .task])
        try PreciseTimer.schedule(.every(.seconds(4)), on: service, tolerance: .milliseconds(100), target: tally) {
            tally,
            _ in tally.add()
        }
        #expect(work(3, 5, 6) == [[], .handler, [.handler, .task]])
    }

    /// Wherever it waits: in a heap of thirty, seven timers have four children.
    @Test func theOnlyTimerWithASequelIsFoundFromItsDeadlineOn() throws {
        for place in 0..<30 {
            let (service, log) = (VirtualTime().service, Log())
            for number in 0..<30 {
                let time = Duration.seconds(1 + number)
                let schedule = number == place ? PreciseTimer.Schedule.once(after: time) : .every(time)
                try PreciseTimer.schedule(schedule, on: service, target: log) { $0.note($1) }
            }
            let deadline = service.now.advanced(by: .seconds(1 + place))
            let work = [deadline.advanced(by: .nanoseconds(-1)), deadline].map(service.pendingWork)
            #expect(work == [[], .task], "at \(place)")
        }
    }

    /// The queue of one timer is suspended. Without its rule, each tick of the other one would wait for it.
    @Test func aTickThatCannotArriveIsWaitedForOnce() async throws {
        let (service, stuckQueue, log, tally) = (virtual.service, SuspendedQueue(), Log(), Tally())
        try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: service,
            deliver: .queue(stuckQueue.queue),
            target: log
        ) { $0.note($1) }
        try PreciseTimer.schedule(.every(.seconds(1)), on: service, target: tally) { tally, _ in tally.add() }
        let hasArrived = await virtual.advance(by: .seconds(50), patience: .seconds(1))
        #expect(!hasArrived)
        #expect(await tally.calls == 50)
        var stuck = Activity()
        let isSettled = await virtual.settle(atMost: .milliseconds(100), beside: &stuck)
        #expect(!isSettled && stuck.hops == 1)
        // With a patience of hours, this ends only if it does not wait for the stuck tick again.
        let isSettledAgain = await virtual.settle(atMost: .seconds(36_000), beside: &stuck)
        #expect(!isSettledAgain)
        stuckQueue.letRun()
        #expect(await virtual.settle())
        #expect(log.ticks.map(\.missed) == [49])
    }

    /// A thread of a priority that is never free is waited for once. With a silence of an hour, the second settling
    /// ends only if it does not wait again.
    @Test func aPriorityWithoutAFreeThreadIsWaitedForOnce() async {
        await #expect(processExitsWith: .success) {
            let (virtual, followers) = (VirtualTime(), Follower.all)
            for _ in 0..<1_000 { Task.detached(priority: .background) { pause(.seconds(Hang.seconds)) } }
            var stuck = Activity()
            for silence in [Duration.milliseconds(100), .seconds(36_000)] {
                let isSettled = await virtual.settle(
                    atMost: .seconds(72_000),
                    silence: silence,
                    beside: &stuck,
                    behind: followers
                )
                #expect(isSettled)
            }
        }
    }

    @MainActor @Test func inlineTicksComeInTheCallersIsolation() async throws {
        let (virtual, log) = (VirtualTime(), Log())
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { log, tick in
            MainActor.assertIsolated()
            log.note(tick)
        }
        await virtual.advance(by: .seconds(3))
        #expect(log.count == 3)
    }
}

/// An actor that counts calls.
private actor Tally {
    var calls = 0
    func add() { calls += 1 }
}

/// Code that delivers elsewhere, tested on virtual time.
@Suite(.timeLimit(.minutes(60))) struct SettleTests {
    private let virtual = VirtualTime()

    @Test func theHandlerOfATimerThatHasEndedIsAwaited() async throws {
        let (service, queue, tally) = (virtual.service, DispatchQueue(label: "test.settle"), Tally())
        let (once, delivery) = (PreciseTimer.Schedule.every(.seconds(1), count: 1), PreciseTimer.Delivery.queue(queue))
        let log = Log()
        try PreciseTimer.schedule(once, on: service, deliver: delivery, target: log) {
            pause(.milliseconds(20))
            $0.note($1)
        }
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: service, deliver: delivery) { timer, tick in
            timer.cancel()
            pause(.milliseconds(20))
            log.note(tick)
        }
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await virtual.settle())
        #expect(log.count == 2 && timer.state == .ended(.cancelled))
        try PreciseTimer.schedule(.once(after: .zero), on: service, target: tally) { tally, _ in
            service.shutdown()
            try? await Task.sleep(for: .milliseconds(20))
            tally.add()
        }
        virtual.advanceWithoutSettling(by: .zero)
        #expect(await virtual.settle())
        #expect(await tally.calls == 1)
    }

    /// Settling waits for it. The test looks at what settling looks at, because the machine may hold up any task for as
    /// long as settling waits.
    @Test func theBodyOfALoopOverTicksCountsUntilItAsksForTheNextTick() async throws {
        let (virtual, isInside, mayGoOn) = (virtual, Gate(), Gate())
        let consumer = Task {
            for try await _ in PreciseTimer.ticks(.every(.seconds(1)), on: virtual.service) {
                isInside.open()
                await mayGoOn.pass()
            }
        }
        #expect(await soon { virtual.pendingCount == 1 && virtual.service.activity.tasks == 0 }, "it waits for a tick")
        virtual.advanceWithoutSettling(by: .seconds(1))
        await isInside.pass()
        #expect([virtual.service.activity.tasks, virtual.service.activity.hops] == [1, 0])
        mayGoOn.open()
        #expect(await soon { virtual.service.activity.tasks == 0 })
        consumer.cancel()
        _ = await consumer.result
    }

    /// Such tasks are not known to the service, so a quiet service must be watched for twelve sleeps of 200 µs.
    @Test func tasksThatHaveJustBeenCreatedAreGivenSomeMilliseconds() async {
        var shortest = Duration.seconds(1)
        for _ in 0..<20 {
            let time = await ContinuousClock().measure { _ = await virtual.settle() }
            shortest = min(shortest, time)
        }
        #expect(shortest >= .milliseconds(2))
    }

    /// A number of rounds or, if a handler awaits something, a length of silence. The rounds sleep for 200 µs.
    @Test(arguments: [(200, Duration.seconds(60), false), (12, .milliseconds(200), true)])
    func eachChangeBeginsTheWaitAnew(rounds: Int, silence: Duration, anotherAwaits: Bool) async throws {
        let wait = anotherAwaits ? silence : .microseconds(200) * rounds
        var waits: [Duration] = []
        for _ in 0..<10 where waits.count < 3 {
            let (virtual, mayEnd, end) = (VirtualTime(), Gate(), Box<ContinuousClock.Instant>())
            let tallies = [Tally(), Tally()]
            try PreciseTimer.schedule(.once(after: .zero), on: virtual.service, target: tallies[0]) { _, _ in
                try? await Task.sleep(for: .milliseconds(120))
                end.value = .now
            }
            try PreciseTimer.schedule(.once(after: .zero), on: virtual.service, target: tallies[1]) { _, _ in
                if anotherAwaits { await mayEnd.pass() }
            }
            virtual.advanceWithoutSettling(by: .zero)
            var stuck = Activity()
            _ = await virtual.settle(atMost: .seconds(600), rounds: rounds, silence: silence, beside: &stuck)
            // A handler whose thread the machine holds up ends after the silence.
            if let end = end.value { waits.append(end.duration(to: .now)) }
            mayEnd.open()
        }
        #expect(try #require(waits.min()) >= wait)
    }

    @Test func aCancelledTaskDoesNotWait() async throws {
        let (virtual, stuck, log) = (virtual, SuspendedQueue(), Log())
        let delivery = PreciseTimer.Delivery.queue(stuck.queue)
        try PreciseTimer.schedule(.once(after: .zero), on: virtual.service, deliver: delivery, target: log) {
            $0.note($1)
        }
        virtual.advanceWithoutSettling(by: .zero)
        let task = Task { await virtual.settle() }
        task.cancel()
        #expect(await !task.value)
        stuck.letRun()
    }

    /// A process of its own, because other tests watch the machine's clock.
    @Test func noThreadWatchesTheMachinesClockForVirtualTimeWhoseEndEndsTheStreams() async {
        await #expect(processExitsWith: .success) {
            let virtual = VirtualTime(clock: .wall)
            let steps = try virtual.service.clockSteps
            let before = Task { try await steps.reduce(into: 0) { count, _ in count += 1 } }
            virtual.inject(.stepClock(by: .seconds(60)), after: .seconds(1))
            virtual.advanceWithoutSettling(by: .seconds(2))
            #expect(ProcFS.threads(named: "timer.clock") == [])
            virtual.service.shutdown()
            let after = try await virtual.service.clockSteps.reduce(into: 0) { count, _ in count += 1 }
            #expect([try await before.value, after] == [1, 0])
        }
    }
}
