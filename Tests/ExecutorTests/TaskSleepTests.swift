import PreciseTimer
import PreciseTimerExecutor
import PreciseTimerTestKit
import TestSupport
import Testing
import TimerKernel

/// `Task.sleep` of the executor's tasks. With another Swift it is the default executor's, with the same promises.
@Suite(.waits("the clocks of Swift are real"), .timeLimit(.minutes(20))) struct TaskSleepTests {
    @Test(arguments: [TimerClock.suspending, .continuous, .wall])
    func noSleepIsEarlyOnAnyClock(clock: TimerClock) async throws {
        let executor = TimerExecutor(on: try TimerService(.timerFD, clock: clock))
        let (early, rounds) = (Count(), Effort.of(20, thorough: 600))
        await withTaskGroup { group in
            for number in 0..<30 {
                group.addTask(executorPreference: executor) {
                    for round in 0..<rounds {
                        let length = Duration.microseconds((number * 37 + round * 101) % 1_000)
                        switch number % 3 {
                        case 0: await sleep(ContinuousClock(), length, early)
                        case 1: await sleep(SuspendingClock(), length, early)
                        default: await sleep(executor.service.clock, length, early)
                        }
                    }
                }
            }
        }
        #expect(early.value == 0)
    }

    #if compiler(>=6.3) && compiler(<6.4)
    @Test func aSleepIsATimerOfTheService() async throws {
        let service = try TimerService(.timerFD)
        let executor = TimerExecutor(on: service)
        let task = Task(executorPreference: executor) { try? await Task.sleep(for: .seconds(3_600)) }
        #expect(await soon { service.activeTimers.contains { $0.label == "a sleep of a task" } })
        #expect(service.activeTimers.allSatisfy { $0.file == #fileID })
        task.cancel()
        await task.value
    }

    /// It would come back from the pool.
    @Test func aSleepEndsOnTheServicesThread() async throws {
        let executor = TimerExecutor(on: try TimerService(.timerFD))
        let strays = try await Task(executorPreference: executor) {
            let before = executor.strays
            for _ in 0..<10 { try await Task.sleep(for: .milliseconds(1)) }
            return executor.strays - before
        }
        .value
        #expect(strays == 0)
    }

    /// The service's time is ahead of Swift's clock, as the continuous clock is after a suspension.
    @Test func aSleepWaitsForItsOwnClockAndKeepsItsTolerance() async throws {
        let virtual = VirtualTime(at: TimerClock.suspending.now)
        let executor = TimerExecutor(on: virtual.service)
        let end = SuspendingClock.now.advanced(by: .seconds(1))
        let task = Task(executorPreference: executor) {
            try? await Task.sleep(until: end, tolerance: .seconds(5), clock: .suspending)
            return SuspendingClock.now >= end
        }
        virtual.advanceWithoutSettling(by: .zero)
        #expect(virtual.nextDeadline.map { $0 > virtual.now.advanced(by: .seconds(4)) } ?? (SuspendingClock.now >= end))
        while SuspendingClock.now < end {
            virtual.advanceWithoutSettling(by: .seconds(60))
            KernelClock.sleep(for: .milliseconds(1))
        }
        virtual.advanceWithoutSettling(by: .seconds(60))
        #expect(await task.value)
    }

    /// Its steps would move the end of a sleep.
    @Test func noSleepIsATimerOfTheWallClock() async throws {
        let service = try TimerService(.timerFD, clock: .wall)
        let isOver = Box<Bool>()
        let task = Task(executorPreference: TimerExecutor(on: service)) {
            async let nap: Void? = try? await Task.sleep(for: .seconds(3_600))
            await Task.yield()
            isOver.value = true
            _ = await nap
        }
        #expect(await soon { isOver.value == true })
        #expect(service.activeTimers.count == 1)
        task.cancel()
        await task.value
    }

    /// The sleeping task's own preference keeps its executor; the cancelled sleep keeps neither.
    @Test func aCancelledSleepKeepsNoExecutor() async throws {
        weak var executor: TimerExecutor?
        let task = try {
            let new = TimerExecutor(on: try TimerService(.timerFD))
            executor = new
            return Task(executorPreference: new) { try? await Task.sleep(for: .seconds(3_600)) }
        }()
        task.cancel()
        await task.value
        #expect(await soon { executor == nil })
    }

    /// A clock that the runtime does not know arrives only if it asks for it by itself.
    @Test func anUnknownClockSleepsByItsOwnMeans() async throws {
        let executor = TimerExecutor(on: try TimerService(.timerFD))
        let virtual = VirtualTime()
        let isOver = Box<Bool>()
        let task = Task(executorPreference: executor) {
            try? await Task.sleep(for: .seconds(60), clock: virtual.clock)
            isOver.value = true
        }
        while isOver.value == nil { await virtual.advance(by: .seconds(30)) }
        await task.value
    }
    #endif
}

/// Sleeps, and counts if the clock did not get that far.
private func sleep<C: Clock>(_ clock: C, _ length: Duration, _ early: Count) async where C.Duration == Duration {
    let end = clock.now.advanced(by: length)
    try? await Task.sleep(until: end, tolerance: .zero, clock: clock)
    if clock.now < end { early.add(1) }
}
