import Dispatch
import PreciseTimer
import PreciseTimerExecutor
import TestSupport
import Testing
import TimerKernel

/// An actor on an executor.
actor Counter {
    let executor: TimerExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.unownedExecutor }
    private(set) var count = 0
    private(set) var threads: Set<ThreadID> = []

    init(on executor: TimerExecutor) { self.executor = executor }

    func add() {
        count += 1
        threads.insert(.current)
    }

    func call(_ other: Counter, times: Int) async {
        for _ in 0..<times { await other.add() }
    }

    func onSelf(_ body: @Sendable () -> Void) { body() }

    /// Adds by turns with others.
    func addBySteps(_ number: Int) async {
        for _ in 0..<number {
            let before = count
            count = before + 1
            await Task.yield()
        }
    }
}

/// Tasks and actors on a service's thread.
@Suite(.waits("tasks run on a service's thread"), .timeLimit(.minutes(20))) struct TimerExecutorTests {
    private let service: TimerService
    private let executor: TimerExecutor

    init() throws {
        service = try TimerService(.timerFD)
        executor = TimerExecutor(on: service)
    }

    /// The service's thread.
    private func thread() throws -> ThreadID {
        let found = Box<ThreadID>()
        let timer = try PreciseTimer.schedule(.once(after: .zero), on: service) { _, _ in found.value = .current }
        #expect(eventually { found.value != nil })
        return withExtendedLifetime(timer) { found.value ?? .current }
    }

    @Test func tasksAndTheirChildrenRunOnTheServicesThread() async throws {
        let thread = try thread()
        #expect(executor.service === service)
        let isThere = { @Sendable () async -> Bool in ThreadID.current == thread }
        let found = await Task(executorPreference: executor) {
            async let child = isThere()
            let group = await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<100 { group.addTask { await isThere() } }
                return await group.allSatisfy(\.self)
            }
            await Task.yield()
            return await [isThere(), child, group, isThere()]
        }
        .value
        #expect(found == [true, true, true, true])
        let inside = await withTaskExecutorPreference(executor) { await isThere() }
        #expect(inside)
    }

    @Test func anActorRunsOnTheServicesThread() async throws {
        let (thread, counter) = (try thread(), Counter(on: executor))
        await withTaskGroup { group in
            for _ in 0..<10 { group.addTask { for _ in 0..<100 { await counter.add() } } }
            for _ in 0..<10 {
                group.addTask(executorPreference: executor) { for _ in 0..<100 { await counter.add() } }
            }
        }
        #expect(await counter.count == 2_000)
        #expect(await counter.threads == [thread])
    }

    /// For a task that prefers the executor, and for one without a preference: one job at the first call, and one for
    /// the way back.
    @Test func actorsOfOneExecutorCallEachOtherWithoutJobs() async throws {
        let (executor, counter, other) = (executor, Counter(on: executor), Counter(on: executor))
        let count = { @Sendable () async -> Int in
            let before = executor.jobs
            await counter.call(other, times: 10)
            return executor.jobs - before
        }
        #expect(await Task.detached { await count() }.value <= 2)
        #expect(await Task(executorPreference: executor) { await count() }.value <= 2)
    }

    @Test func jobsRunInTheOrderOfTheirArrivalWhateverTheirPriorities() async throws {
        let (executor, log) = (executor, Notes<Int>())
        await Task(executorPreference: executor) {
            let tasks = (0..<200)
                .map { number in
                    Task(executorPreference: executor, priority: number % 2 == 0 ? .low : .high) { log.append(number) }
                }
            for task in tasks { await task.value }
        }
        .value
        #expect(log.all == Array(0..<200))
    }

    /// A loop of tasks that never waits would otherwise keep all timers from ticking.
    @Test func timersTickBesideBusyTasks() async throws {
        let (log, executor) = (Log(), executor)
        try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) { $0.note($1) }
        let tasks = (0..<10)
            .map { _ in Task(executorPreference: executor) { while !Task.isCancelled { await Task.yield() } } }
        #expect(await soon { log.count >= 20 })
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    /// 64 jobs are a turn, unless a timer comes due.
    @Test(arguments: [false, true]) func aTurnEndsEarlyForATimerThatComesDue(comesDue: Bool) throws {
        let (alarm, log) = (ManualAlarm(), Notes<String>())
        let service = try TimerService(alarm: alarm)
        let executor = TimerExecutor(on: service)
        for _ in 0..<100 {
            Task(executorPreference: executor) {
                if comesDue { alarm.move(by: .milliseconds(1)) }
                log.append("job")
            }
        }
        let timer = try PreciseTimer.schedule(.once(after: .milliseconds(1)), on: service) { _, _ in log.append("tick")
        }
        alarm.fire()
        #expect(log.count == (comesDue ? 8 : 64))
        alarm.fire()
        #expect(log.all.firstIndex(of: "tick") == (comesDue ? 8 : nil))
        while log.all.count(where: { $0 == "job" }) < 100 { alarm.fire() }
        withExtendedLifetime(timer) {}
    }

    /// The rows of a table: where code runs, and whether an actor of the executor can assume its isolation there.
    @Test func codeThatRunsOneAtATimeWithTheJobsIsIsolated() async throws {
        let (service, executor, seen) = (service, executor, Notes<String>())
        let (counter, other) = (Counter(on: executor), Counter(on: executor))
        let note = { @Sendable (place: String) in
            // As `withSerialExecutor`, which Swift 6.2 does not have.
            let actors = unsafe unsafeBitCast(executor.unownedExecutor, to: (any SerialExecutor).self)
            let isIsolated = actors.isIsolatingCurrentContext() ?? false
            seen.append("\(place) \(isIsolated)")
            if isIsolated { counter.assumeIsolated { $0.add() } }
        }
        await Task(executorPreference: executor) { note("task") }.value
        await other.onSelf { note("actor") }
        let places: KeyValuePairs = ["inline": PreciseTimer.Delivery.inline, "queue": .queue(.global())]
        for (name, deliver) in places {
            let before = seen.all.count
            let timer = try PreciseTimer.schedule(.once(after: .zero), on: service, deliver: deliver) { _, _ in
                note(name)
            }
            #expect(await soon { seen.all.count > before })
            withExtendedLifetime(timer) {}
        }
        note("caller")
        let last = try PreciseTimer.schedule(.once(after: .zero), on: service) { _, _ in
            service.shutdown()
            note("inline after the end")
        }
        #expect(await soon { seen.all.count > 5 })
        withExtendedLifetime(last) {}
        let expected = ["task true", "actor true", "inline true", "queue false", "caller false"]
        #expect(seen.all == expected + ["inline after the end true"], "no job runs before this handler returns")
        #expect(await counter.count == 4)
    }

    @Test func strayJobsAreCounted() async throws {
        let executor = executor
        #expect(executor.strays == 0)
        let inner = await Task(executorPreference: executor) {
            await Task.yield()
            await Task(executorPreference: executor) {}.value
            return executor.strays
        }
        .value
        #expect(inner == 1, "the task came from this thread, the rest from the service's")
        // A task that has ended before it is awaited brings none.
        while executor.strays <= 10 {
            await Task(executorPreference: executor) { for _ in 0..<10 { await Task.detached {}.value } }.value
        }
        let own = await Task(executorPreference: executor) { executor.strays }.value
        await Task(executorPreference: executor) {}.value
        #expect(executor.strays == own + 1)
    }

    @Test func theExecutorHoldsItsServiceAndEndsWithItsLastTask() async throws {
        weak var service: TimerService?
        weak var executor: TimerExecutor?
        let gate = Gate()
        let task = try {
            let new = TimerExecutor(on: try TimerService(.timerFD))
            (service, executor) = (new.service, new)
            return Task(executorPreference: new) { await gate.pass() }
        }()
        #expect(service != nil && executor != nil)
        gate.open()
        await task.value
        #expect(await soon { executor == nil && service == nil })
    }

    @Test func theDescriptionNamesTheService() throws {
        #expect("\(executor)" == "executor on timerfd service, suspending clock, 1 timer")
        #expect(service.activeTimers.map(\.label) == ["the jobs of an executor"])
        #expect(service.activeTimers.map(\.file) == [#fileID])
        service.shutdown()
        #expect("\(executor)" == "executor on timerfd service, suspending clock, 0 timers, which has ended")
        #expect(Mirror(reflecting: executor).children.isEmpty)
    }
}
