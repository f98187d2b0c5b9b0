import Foundation
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Handlers that await, and may throw, of any target.
@Suite(.waits("tasks run on threads of their own"), .timeLimit(.minutes(60))) struct TaskHandlerTests {
    private let virtual = VirtualTime()
    private let log = Log()
    private let second = PreciseTimer.Schedule.every(.seconds(1))

    @Test func aCancellationHandlerMayReadItsTimer() async throws {
        let (isRunning, isCancelled, timer) = (Gate(), Gate(), Box<PreciseTimer>())
        timer.value = try PreciseTimer.schedule(second, on: virtual.service, target: log) { _, _ in
            await withTaskCancellationHandler {
                isRunning.open()
                await isCancelled.pass()
            } onCancel: {
                if timer.value?.lastRun == nil { isCancelled.open() }
            }
        }
        virtual.advanceWithoutSettling(by: .seconds(1))
        await isRunning.pass()
        await timer.value?.cancelAndWait()
        #expect(timer.value?.lastRun != nil)
        timer.value = nil
    }

    /// The end comes after the handler has begun, and before the code that made its task knows the task.
    @Test func aHandlerThatRunsBeforeItsTaskIsKnownIsCancelledToo() async {
        await #expect(processExitsWith: .success) {
            let (virtual, log, isRunning, wasCancelled) = (VirtualTime(), Log(), Gate(), Notes<Bool>())
            let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { _, _ in
                isRunning.open()
                while !Task.isCancelled, wasCancelled.all.isEmpty { await Task.yield() }
                wasCancelled.append(Task.isCancelled)
            }
            let isSet = NewTaskHook.set {
                isRunning.pass()
                timer.cancel()
            }
            #expect(isSet)
            virtual.advanceWithoutSettling(by: .seconds(1))
            #expect(await soon { wasCancelled.all == [true] })
            if wasCancelled.all.isEmpty { wasCancelled.append(false) }
        }
    }

    private enum Local {
        @TaskLocal static var value = 0
    }

    /// Whoever moves the time, or calls `process()`, is not the caller of a handler in a task.
    @Test func neitherAHandlerInATaskNorAnOnEndOnTheMainActorInheritsFromTheCaller() async throws {
        let (virtual, notes) = (virtual, Notes<String>())
        let note: @Sendable (String) -> Void = { place in
            notes.append("\(place): \(Local.value), \(Task.currentPriority > .background)")
        }
        try PreciseTimer.schedule(second, on: virtual.service, target: log) { @MainActor _, _ in note("main actor") }
        try PreciseTimer.schedule(second, on: virtual.service, target: log) { _, _ async in note("no actor") }
        let timer = try PreciseTimer.schedule(
            .every(.seconds(60)),
            on: virtual.service,
            target: log,
            onEnd: { @MainActor _ in note("onEnd") },
            handler: { _, _ in }
        )
        await Task(priority: .background) {
            Local.$value.withValue(9) {
                virtual.advanceWithoutSettling(by: .seconds(1))
                timer.cancel()
            }
        }
        .value
        #expect(await soon { notes.all.count == 3 })
        #expect(notes.all.sorted() == ["main actor: 0, true", "no actor: 0, true", "onEnd: 0, true"])
    }

    /// It is in the snapshot and among the slow ones, delays no other timer, and its own missed deadlines share a tick.
    @Test func aSuspendedHandlerIsShownAndDelaysOnlyItsOwnTicks() async throws {
        let (isRunning, mayReturn, other) = (Gate(), Gate(), Log())
        let timer = try PreciseTimer.schedule(second, on: virtual.service, label: "poll", target: log) { log, tick in
            log.note(tick)
            isRunning.open()
            await mayReturn.pass()
        }
        virtual.advanceWithoutSettling(by: .seconds(1))
        let start = virtual.now
        await isRunning.pass()
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(virtual.service.slowHandlers.isEmpty, "not for longer than its period")
        try PreciseTimer.schedule(second, on: virtual.service, target: other) { $0.note($1) }
        virtual.advanceWithoutSettling(by: .seconds(4))
        let shown = virtual.service.activeTimers.first { $0.label == "poll" }?.runningSince
        #expect([timer.runningSince, shown] == [start, start])
        let slow = virtual.service.slowHandlers.map { "\($0.label ?? "-"): \($0.period), \($0.longest)" }
        #expect(slow == ["poll: 1.0 seconds, 5.0 seconds"] && other.count == 4)
        mayReturn.open()
        #expect(await soon { timer.lastRun?.duration == .seconds(5) })
        #expect(timer.lastRun?.start == start && timer.lastRun?.error == nil)
        await virtual.advance(by: .zero)
        #expect(log.ticks.map { [$0.index, $0.missed] } == [[0, 0], [1, 4]])
    }
}

/// Timers whose target is an actor with the default executor.
@Suite(.waits("actors run on threads of their own"), .timeLimit(.minutes(60))) struct ActorTests {
    private let virtual = VirtualTime()
    private let log = Log()
    private let second = PreciseTimer.Schedule.every(.seconds(1))

    private let meter = Meter()

    private actor Meter {}

    /// It is not inside that handler, also if one task delivers both ticks because they are late.
    @Test(arguments: [true, false])
    func aTaskOfAnEarlierTickWaitsForTheHandlerOfTheNext(isLate: Bool) async throws {
        let (log, timer) = (log, Box<PreciseTimer>())
        let (isSecond, mayReturn, isOver) = (Gate(), Gate(), Gate())
        timer.value = try PreciseTimer.schedule(
            second,
            on: virtual.service,
            missedTicks: .catchUp(limit: 2),
            target: meter
        ) { _, tick in
            log.note(tick)
            if tick.index == 0 {
                Task {
                    await isSecond.pass()
                    await timer.value?.cancelAndWait()
                    isOver.open()
                }
            } else {
                isSecond.open()
                await mayReturn.pass()
            }
        }
        if isLate {
            virtual.jump(by: .seconds(2))
        } else {
            virtual.advanceWithoutSettling(by: .seconds(1))
            #expect(await soon { log.count == 1 && virtual.service.nextWakeTime != nil }, "the first has returned")
            virtual.advanceWithoutSettling(by: .seconds(1))
        }
        #expect(await soon { timer.value?.state == .ended(.cancelled) })
        // Long enough for a call that does not wait.
        try await Task.sleep(for: .milliseconds(20))
        #expect(!isOver.isPassable)
        mayReturn.open()
        await isOver.pass()
        timer.value = nil
    }

    /// The handler may wait for the task, so the task cannot wait for the handler.
    @Test func cancelAndWaitInATaskOfTheHandlerReturnsWhileTheHandlerRuns() async throws {
        let (events, timer) = (Notes<String>(), Box<PreciseTimer>())
        timer.value = try PreciseTimer.schedule(
            second,
            on: virtual.service,
            target: meter,
            onEnd: { _ in events.append("end") },
            handler: { _, _ in
                let isEnding = await Task { await timer.value?.cancelAndWait() }.value
                events.append("inside: \(isEnding == true)")
            }
        )
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { events.all.count == 2 })
        #expect(events.all == ["inside: true", "end"])
        timer.value = nil
    }

    @Test func twoWaitersBothWaitForTheHandlerAndForOnEnd() async throws {
        let (gate, entered, events) = (Gate(), Gate(), Notes<String>())
        let timer = try PreciseTimer.schedule(
            second,
            on: virtual.service,
            target: meter,
            onEnd: { _ in events.append("end") },
            handler: { _, _ in
                entered.open()
                await gate.pass()
                events.append("returned")
            }
        )
        virtual.advanceWithoutSettling(by: .seconds(1))
        await entered.pass()
        let waiters = (0..<2)
            .map { _ in
                Task {
                    let isEnding = await timer.cancelAndWait()
                    return (isEnding, events.all == ["returned", "end"])
                }
            }
        try await Task.sleep(for: .milliseconds(10))
        #expect(events.all == [])
        gate.open()
        var answers: [(isEnding: Bool, isOver: Bool)] = []
        for waiter in waiters { answers.append(await waiter.value) }
        #expect(answers.count { $0.isEnding } == 1, "exactly one call ended it")
        #expect(answers.map(\.isOver) == [true, true])
    }
}

/// Lets something happen once, when a task has been handed to the threads for tasks, and before the code that made it
/// goes on. Only for a test's separate process.
private enum NewTaskHook {
    /// The runtime's functions use Swift's calling convention, which for two words equals that of C.
    private typealias Original = @convention(c) (_ job: UInt) -> Void
    private typealias Hook = @convention(c) (_ job: UInt, _ original: UInt) -> Void

    private struct Event { let call: @Sendable () -> Void }

    private static let event = Box<Event>()

    /// Waits for the next task. Sets the runtime's hook (`swift_task_enqueueGlobal_hook` in its Concurrency.h). Returns
    /// false if the runtime has no such hook.
    static func set(_ event: @escaping @Sendable () -> Void) -> Bool {
        guard let symbol = unsafe dlsym(nil, "swift_task_enqueueGlobal_hook") else { return false }
        self.event.value = Event(call: event)
        let hook = unsafe symbol.assumingMemoryBound(to: Hook?.self)
        unsafe hook.pointee = { job, original in
            let event = NewTaskHook.event.value
            NewTaskHook.event.value = nil
            unsafe unsafeBitCast(original, to: Original.self)(job)
            event?.call()
        }
        return true
    }
}
