import PreciseTimer
import PreciseTimerExecutor
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

/// No job is lost when the service ends.
@Suite(.waits("a service ends under its tasks"), .timeLimit(.minutes(20))) struct ExecutorShutdownTests {
    @Test(arguments: [false, true]) func tasksGoOnAfterAShutdown(isInside: Bool) async throws {
        for _ in 0..<(Effort.isThorough ? 1_000 : 20) {
            let service = try TimerService(.timerFD)
            let executor = TimerExecutor(on: service)
            let counter = Counter(on: executor)
            let early = Count()
            await withTaskGroup { group in
                for number in 0..<50 {
                    group.addTask(executorPreference: executor) {
                        await counter.addBySteps(20)
                        if isInside, number == 25 { service.shutdown() }
                        let clock = ContinuousClock()
                        let end = clock.now.advanced(by: .milliseconds(1))
                        try? await Task.sleep(until: end, clock: clock)
                        if clock.now < end { early.add(1) }
                        await counter.addBySteps(20)
                    }
                }
                if !isInside { service.shutdown() }
            }
            #expect(early.value == 0)
            #expect(await counter.count == 50 * 40)
        }
    }

    @Test func aSharedServiceThatWasShutDownRunsItsJobsAgain() async throws {
        let service = TimerService(startedOnUse: { () throws(TimerError) in try TimerFDAlarm(.suspending) })
        let counter = Counter(on: TimerExecutor(on: service))
        await counter.add()
        service.shutdownForEveryone()
        // A turn that goes on after the end takes a job with it.
        while !"\(counter.executor)".hasSuffix("1 timer") { await counter.add() }
        let count = await counter.count
        await counter.add()
        #expect(await counter.count == count + 1)
    }

    @Test func anExecutorOnAServiceThatHasEndedRunsItsJobs() async throws {
        let service = try TimerService(.timerFD)
        service.shutdown()
        let counter = Counter(on: TimerExecutor(on: service))
        await counter.add()
        #expect(await counter.count == 1)
        let slept = await Task(executorPreference: counter.executor) { (try? await Task.sleep(for: .zero)) != nil }
            .value
        #expect(slept)
    }

    /// A handler that still runs counts as isolated, so no job may run beside it.
    @Test func jobsWaitForTheLastInlineHandler() async throws {
        let service = try TimerService(.timerFD)
        let executor = TimerExecutor(on: service)
        let (isInside, gate, isOver) = (Gate(), Gate(), Box<Bool>())
        let timer = try PreciseTimer.schedule(.once(after: .zero), on: service) { _, _ in
            isInside.open()
            gate.pass()
            isOver.value = true
        }
        await isInside.pass()
        let former = Task(executorPreference: executor) { isOver.value }
        service.shutdown()
        let task = Task(executorPreference: executor) { isOver.value }
        KernelClock.sleep(for: .milliseconds(20))
        gate.open()
        #expect(await former.value == true)
        #expect(await task.value == true)
        withExtendedLifetime(timer) {}
    }

    @Test func aServiceThatFailsLosesNoJob() async throws {
        let alarm = RefusingAlarm()
        let executor = TimerExecutor(on: try TimerService(alarm: alarm))
        let task = Task(executorPreference: executor) {
            for _ in 0..<100 { await Task.yield() }
            return true
        }
        alarm.fail()
        #expect(await task.value)
    }
}
