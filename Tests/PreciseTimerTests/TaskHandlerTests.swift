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
    private let reasons = Notes<PreciseTimer.EndReason>()

    private struct Bad: Error {}
    private struct Worse: Error {}

    /// What `onError` does.
    enum OnError { case isMissing, takesErrors, throwsAnother }

    /// The timer and its last run after each of two ticks, the end, and what `onError` was told.
    private static let outcomes: [(OnError, [String])] = [
        (.isMissing, ["ended: failed: Bad(), Bad()", "ended: failed: Bad(), Bad()", "failed: Bad()"]),
        (
            .takesErrors,
            ["scheduled, Bad()", "listed with Bad()", "scheduled, no error", "listed with no error", "told Bad()"]
        ),
        (
            .throwsAnother,
            ["ended: failed: Worse(), Bad()", "ended: failed: Worse(), Bad()", "failed: Worse()", "told Bad()"]
        ),
    ]

    @Test(arguments: outcomes)
    func anErrorGoesToOnErrorOrEndsTheTimer(onError: OnError, outcome: [String]) async throws {
        let (told, ends, virtual) = (Notes<String>(), Notes<String>(), virtual)
        let tell: @isolated(any) @Sendable (Log, any Error) async throws -> Void = { _, error in
            told.append("told \(error)")
            if onError == .throwsAnother { throw Worse() }
        }
        let handler: @Sendable (Log, PreciseTimer.Tick) async throws -> Void = { _, tick in
            if tick.index == 0 { throw Bad() }
        }
        let timer = try PreciseTimer.schedule(
            second,
            on: virtual.service,
            target: log,
            onEnd: { (reason: PreciseTimer.EndReason) in ends.append("\(reason)") },
            onError: onError == .isMissing ? nil : tell,
            handler: { try await handler($0, $1) }
        )
        var seen: [String] = []
        for _ in 1...2 {
            virtual.advanceWithoutSettling(by: .seconds(1))
            #expect(await soon { ends.all.count == 1 || timer.lastRun?.start == virtual.now })
            #expect(await soon { timer.runningSince == nil })
            seen.append("\(timer.state), \(timer.lastRun?.error ?? "no error")")
            seen += virtual.service.activeTimers.map { "listed with \($0.lastRun?.error ?? "no error")" }
        }
        #expect(seen + ends.all + told.all == outcome)
    }

    /// What ends a timer while its handler awaits.
    enum Ending: CaseIterable { case cancel, shutdown, itsHandler }

    /// The cancellation is no error of the handler. Another error is one, also after the end.
    @Test(arguments: Ending.allCases, [true, false])
    func theEndCancelsTheTaskOfARunningHandlerThatDidNotEndTheTimer(by ending: Ending, isBad: Bool) async throws {
        let (isRunning, mayReturn, timer) = (Gate(), Gate(), Box<PreciseTimer>())
        let (cancelled, told) = (Notes<Bool>(), Notes<String>())
        timer.value = try PreciseTimer.schedule(
            second,
            on: virtual.service,
            target: log,
            onError: { _, error in told.append("\(error)") },
            handler: { _, _ in
                if ending == .itsHandler { timer.value?.cancel() }
                isRunning.open()
                await mayReturn.passIfCancelled()
                cancelled.append(Task.isCancelled)
                if isBad { throw Bad() }
                try Task.checkCancellation()
            }
        )
        virtual.advanceWithoutSettling(by: .seconds(1))
        await isRunning.pass()
        switch ending {
        case .cancel: timer.value?.cancel()
        case .shutdown: virtual.service.shutdown()
        case .itsHandler: break
        }
        mayReturn.open()
        await timer.value?.cancelAndWait()
        #expect(cancelled.all == [ending != .itsHandler])
        #expect(told.all == (isBad ? ["Bad()"] : []))
        let reason: PreciseTimer.EndReason = ending == .shutdown ? .serviceShutDown : .cancelled
        #expect(timer.value?.state == .ended(reason))
        timer.value = nil
    }

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

    /// The handler holds the handle while it awaits.
    @Test func aHandleThatIsDroppedWhileItsHandlerAwaitsEndsTheTimerAfterwards() async throws {
        let (isRunning, mayReturn, cancelled) = (Gate(), Gate(), Notes<Bool>())
        do {
            let timer = try PreciseTimer.schedule(second, on: virtual.service, onEnd: reasons.append) { _, _ in
                isRunning.open()
                await mayReturn.pass()
                cancelled.append(Task.isCancelled)
            }
            virtual.advanceWithoutSettling(by: .seconds(1))
            await isRunning.pass()
            #expect(timer.state == .scheduled)
        }
        #expect(reasons.all.isEmpty)
        mayReturn.open()
        #expect(await soon { reasons.all == [.handleReleased] })
        #expect(cancelled.all == [false])
    }

    @Test(arguments: [true, false]) func onEndRunsInATaskThatIsNotCancelled(isReleased: Bool) async throws {
        let (reasons, cancelled) = (reasons, Notes<Bool>())
        let reason: PreciseTimer.EndReason = isReleased ? .targetReleased : .failed(Bad())
        var target: Thing? = Thing()
        try PreciseTimer.schedule(
            .every(.milliseconds(500)),
            on: virtual.service,
            target: try #require(target),
            onEnd: {
                cancelled.append(Task.isCancelled)
                reasons.append($0)
            },
            handler: { _, _ async throws in throw Bad() }
        )
        if isReleased { target = nil }
        // Less than a second: no sweep finds the released target.
        virtual.advanceWithoutSettling(by: .milliseconds(500))
        #expect(await soon { reasons.all == [reason] })
        #expect(cancelled.all == [false])
        withExtendedLifetime(target) {}
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

    /// The `onEnd` of one timer, which the handler of another one has ended, is not inside that handler.
    @Test func theMainActorsOnEndWaitsForTheHandlerThatEndedItsTimer() async throws {
        let (box, handlerHasReturned, mayReturn, seen) = (Box<PreciseTimer>(), Gate(), Gate(), Notes<Bool>())
        let ended = try PreciseTimer.schedule(
            .every(.seconds(3_600)),
            target: log,
            onEnd: { @MainActor _ in
                Task {
                    mayReturn.open()
                    await box.value?.cancelAndWait()
                    seen.append(handlerHasReturned.isPassable)
                }
            },
            handler: { _, _ in }
        )
        box.value = try PreciseTimer.schedule(.once(after: .zero), paused: true, target: log) { _, _ in
            ended.cancel()
            await mayReturn.pass()
            // Time for a wait that would not wait.
            try? await Task.sleep(for: .milliseconds(20))
            handlerHasReturned.open()
        }
        box.value?.resume()
        #expect(await soon { !seen.all.isEmpty })
        #expect(seen.all == [true])
        box.value = nil
    }

    @Test func aRunningHandlerIsInTheSnapshotAndAmongTheSlowOnes() async throws {
        let (isRunning, mayReturn) = (Gate(), Gate())
        let timer = try PreciseTimer.schedule(second, on: virtual.service, label: "poll", target: log) { _, _ in
            isRunning.open()
            await mayReturn.pass()
        }
        virtual.advanceWithoutSettling(by: .seconds(1))
        let start = virtual.now
        await isRunning.pass()
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(virtual.service.slowHandlers.isEmpty, "not for longer than its period")
        virtual.advanceWithoutSettling(by: .seconds(4))
        #expect([timer.runningSince, virtual.service.activeTimers.first?.runningSince] == [start, start])
        let slow = virtual.service.slowHandlers.map { "\($0.label ?? "-"): \($0.period), \($0.longest)" }
        #expect(slow == ["poll: 1.0 seconds, 5.0 seconds"])
        mayReturn.open()
        #expect(await soon { timer.lastRun?.duration == .seconds(5) })
        #expect(timer.lastRun?.start == start && timer.lastRun?.error == nil)
    }
}

/// Timers whose target is an actor with the default executor.
@Suite(.waits("actors run on threads of their own"), .timeLimit(.minutes(60))) struct ActorTests {
    private let virtual = VirtualTime()
    private let log = Log()
    private let second = PreciseTimer.Schedule.every(.seconds(1))

    private actor Meter {
        var isRunning = 0
        var overlaps = 0
    }

    @Test func aHandlerWithoutAwaitIsIsolatedToItsActorWhoseReleaseEndsTheTimer() async throws {
        let (log, reasons) = (log, Notes<PreciseTimer.EndReason>())
        var meter: Meter? = Meter()
        weak let gone = meter
        try PreciseTimer.schedule(
            second,
            on: virtual.service,
            label: "meter",
            target: try #require(meter),
            onEnd: reasons.append,
            handler: { meter, tick in
                meter.assertIsolated()
                log.note(tick)
            }
        )
        #expect(virtual.service.activeTimers.map(\.label) == ["meter"])
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { log.count == 1 && virtual.service.nextWakeTime != nil })
        meter = nil
        #expect(await soon { gone == nil })
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { reasons.all == [.targetReleased] })
        #expect(virtual.pendingCount == 0 && log.count == 1)
    }

    @Test func aSuspendedHandlerDelaysOnlyItsOwnTicksAndMergesThem() async throws {
        let (meter, gate, log, other) = (Meter(), Gate(), log, Log())
        let timer = try PreciseTimer.schedule(second, on: virtual.service, target: meter) { meter, tick in
            meter.isRunning += 1
            if meter.isRunning > 1 { meter.overlaps += 1 }
            log.note(tick)
            await gate.pass()
            meter.isRunning -= 1
        }
        try PreciseTimer.schedule(second, on: virtual.service, target: other) { $0.note($1) }
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { log.count == 1 })
        virtual.advanceWithoutSettling(by: .seconds(9))
        #expect(other.count == 10 && log.count == 1)
        gate.open()
        #expect(await soon { timer.nextDeadline != nil && virtual.service.nextWakeTime == timer.nextDeadline })
        virtual.advanceWithoutSettling(by: .zero)
        #expect(await soon { log.count == 2 })
        await timer.cancelAndWait()
        #expect(log.ticks.map { [$0.index, $0.missed] } == [[0, 0], [1, 8]])
        #expect(await meter.overlaps == 0)
    }

    /// It is not inside that handler, also if one task delivers both ticks because they are late.
    @Test(arguments: [true, false])
    func aTaskOfAnEarlierTickWaitsForTheHandlerOfTheNext(isLate: Bool) async throws {
        let (meter, log, timer) = (Meter(), log, Box<PreciseTimer>())
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
                await mayReturn.passIfCancelled()
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
    @Test(arguments: [true, false])
    func cancelAndWaitInsideTheHandlerOrATaskOfItReturnsWhileTheHandlerRuns(isInTask: Bool) async throws {
        let (meter, events, timer) = (Meter(), Notes<String>(), Box<PreciseTimer>())
        timer.value = try PreciseTimer.schedule(
            second,
            on: virtual.service,
            target: meter,
            onEnd: { _ in events.append("end") },
            handler: { _, _ in
                let cancel: @Sendable () async -> Bool? = { await timer.value?.cancelAndWait() }
                let isEnding = isInTask ? await Task(operation: cancel).value : await cancel()
                events.append("inside: \(isEnding == true)")
            }
        )
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { events.all.count == 2 })
        #expect(events.all == ["inside: true", "end"])
        timer.value = nil
    }

    @Test func twoWaitersBothWaitForTheHandlerItsReleaseAndOnEnd() async throws {
        let (meter, gate, entered, events) = (Meter(), Gate(), Gate(), Notes<String>())
        var captured: Thing? = Thing { events.append("released") }
        let timer = try PreciseTimer.schedule(
            second,
            on: virtual.service,
            target: meter,
            onEnd: { _ in events.append("end") },
            handler: { [captured] _, _ in
                entered.open()
                await gate.passIfCancelled()
                events.append("returned")
                withExtendedLifetime(captured) {}
            }
        )
        captured = nil
        virtual.advanceWithoutSettling(by: .seconds(1))
        await entered.pass()
        async let one = timer.cancelAndWait()
        async let other = timer.cancelAndWait()
        try await Task.sleep(for: .milliseconds(10))
        #expect(events.all == [])
        gate.open()
        #expect(await [one, other].count { $0 } == 1, "exactly one call ended it")
        #expect(events.all == ["returned", "released", "end"])
    }
}

extension Gate {
    /// Waits in a task that may be cancelled. No sleep there would take any time.
    fileprivate func passIfCancelled() async { await Task { await pass() }.value }
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
