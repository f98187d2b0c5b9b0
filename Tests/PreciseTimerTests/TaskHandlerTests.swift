import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Handlers that await and throw, of any target.
@Suite(.waits("tasks run on threads of their own"), .timeLimit(.minutes(60))) struct TaskHandlerTests {
    private let virtual = VirtualTime()
    private let log = Log()
    private let reasons = Notes<PreciseTimer.EndReason>()

    typealias Reason = PreciseTimer.EndReason

    private struct Bad: Error {}

    @Test func aHandlerOfAnOrdinaryObjectMayAwait() async throws {
        let isInTime = try await mostSucceed {
            let (virtual, log) = (VirtualTime(), Log())
            try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { log, tick in
                await Task.yield()
                log.note(tick)
            }
            await virtual.advance(by: .seconds(3))
            return log.ticks.map(\.missed) == [0, 0, 0]
        }
        #expect(isInTime)
    }

    @Test func oneLateTickFollowsAHandlerThatAwaits() async throws {
        let gate = Gate()
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { log, tick in
            log.note(tick)
            await gate.pass()
        }
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { log.count == 1 })
        virtual.advanceWithoutSettling(by: .seconds(9))
        gate.open()
        #expect(await soon { timer.runningSince == nil })
        virtual.advanceWithoutSettling(by: .zero)
        #expect(await soon { log.count == 2 })
        #expect(log.ticks.map(\.missed) == [0, 8])
    }

    @Test func anErrorEndsTheTimer() async throws {
        let timer = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            target: log,
            onEnd: { [reasons] in reasons.append($0) },
            handler: { _, _ in throw Bad() }
        )
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { reasons.all.count == 1 })
        guard case .ended(.failed(let error)) = timer.state else {
            Issue.record("the timer is \(timer.state)")
            return
        }
        #expect(error is Bad)
        #expect("\(timer.state)" == "ended: failed: Bad()")
        #expect(timer.lastRun?.error == "Bad()")
    }

    @Test func aTimerWhoseErrorsAreTakenGoesOn() async throws {
        let errors = Notes<String>()
        let timer = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            target: log,
            onError: { _, error in errors.append("\(error)") },
            handler: { log, tick in
                log.note(tick)
                if tick.index == 0 { throw Bad() }
            }
        )
        for count in 1...2 {
            virtual.advanceWithoutSettling(by: .seconds(1))
            #expect(await soon { log.count == count && timer.runningSince == nil })
        }
        #expect(errors.all == ["Bad()"])
        #expect(timer.state == .scheduled)
    }

    @Test func anErrorThatWasTakenIsThatOfTheLastRun() async throws {
        let timer = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            target: log,
            onError: { _, _ in },
            handler: { log, tick in
                log.note(tick)
                if tick.index == 0 { throw Bad() }
            }
        )
        for error in ["Bad()", nil] {
            await virtual.advance(by: .seconds(1))
            #expect(timer.lastRun?.error == error)
            #expect(virtual.service.activeTimers.map(\.lastRun?.error) == [error])
        }
    }

    @Test func theLastRunHasTheErrorOfTheHandlerAndTheEndThatOfOnError() async throws {
        struct Worse: Error {}
        let timer = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            target: log,
            onError: { _, _ in throw Worse() },
            handler: { _, _ in throw Bad() }
        )
        await virtual.advance(by: .seconds(1))
        #expect(timer.lastRun?.error == "Bad()")
        #expect("\(timer.state)" == "ended: failed: Worse()")
    }

    @Test func anErrorAfterTheEndIsToldToOnError() async throws {
        let (errors, isRunning, mayReturn) = (Notes<String>(), Gate(), Gate())
        let timer = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            target: log,
            onError: { _, error in errors.append("\(error)") },
            handler: { _, _ in
                isRunning.open()
                await mayReturn.pass()
                throw Bad()
            }
        )
        virtual.advanceWithoutSettling(by: .seconds(1))
        await isRunning.pass()
        timer.cancel()
        mayReturn.open()
        await timer.cancelAndWait()
        #expect(errors.all == ["Bad()"] && timer.state == .ended(.cancelled))
    }

    private enum Local {
        @TaskLocal static var value = 0
    }

    /// Whoever moves the time, or calls `process()`, is not the handler's caller.
    @Test(arguments: [true, false])
    func aHandlerInATaskInheritsNothingOfTheTaskThatMovesTheTime(isMainActor: Bool) async throws {
        let (values, priorities) = (Notes<Int>(), Notes<TaskPriority>())
        if isMainActor {
            try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { @MainActor _, _ in
                values.append(Local.value)
                priorities.append(Task.currentPriority)
            }
        } else {
            try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { _, _ async in
                values.append(Local.value)
                priorities.append(Task.currentPriority)
            }
        }
        let virtual = virtual
        await Task(priority: .background) {
            _ = await Local.$value.withValue(9) { await virtual.advance(by: .seconds(1)) }
        }
        .value
        #expect(values.all == [0])
        #expect(priorities.all.allSatisfy { $0 > .background } && priorities.all.count == 1)
    }

    @Test func theMainActorsOnEndInheritsNothingOfTheCaller() async throws {
        let values = Notes<Int>()
        let timer = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            deliver: .mainActor,
            target: log,
            onEnd: { _, _ in values.append(Local.value) },
            handler: { _, _ in }
        )
        Local.$value.withValue(9) { _ = timer.cancel() }
        #expect(await soon { !values.all.isEmpty })
        #expect(values.all == [0])
    }

    /// The `onEnd` of one timer, which the handler of another one has ended, is not inside that handler.
    @Test func theMainActorsOnEndWaitsForTheHandlerThatEndedItsTimer() async throws {
        let (box, handlerHasReturned, mayReturn, seen) = (Box<PreciseTimer>(), Gate(), Gate(), Notes<Bool>())
        let ended = try PreciseTimer.schedule(
            .every(.seconds(3_600)),
            deliver: .mainActor,
            target: log,
            onEnd: { _, _ in
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

    /// The handler holds the handle while it awaits.
    @Test func aHandleThatIsDroppedWhileItsHandlerAwaitsEndsTheTimerAfterwards() async throws {
        let (isRunning, mayReturn, cancelled) = (Gate(), Gate(), Notes<Bool>())
        do {
            let timer = try PreciseTimer.schedule(
                .every(.seconds(1)),
                on: virtual.service,
                onEnd: { [reasons] in reasons.append($0) },
                handler: { _, _ in
                    isRunning.open()
                    await mayReturn.pass()
                    cancelled.append(Task.isCancelled)
                }
            )
            virtual.advanceWithoutSettling(by: .seconds(1))
            await isRunning.pass()
            #expect(timer.state == .scheduled)
        }
        #expect(reasons.all.isEmpty)
        mayReturn.open()
        #expect(await soon { reasons.all == [.handleReleased] })
        #expect(cancelled.all == [false])
    }

    @Test func onErrorMayEndTheTimer() async throws {
        let timer = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            target: log,
            onError: { _, error in throw error },
            handler: { _, _ in throw Bad() }
        )
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { timer.state == .ended(.failed(Bad())) })
    }

    @Test func cancelCancelsTheTaskOfARunningHandler() async throws {
        let (isRunning, wasCancelled, errors) = (Gate(), Notes<Bool>(), Notes<String>())
        let timer = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            target: log,
            onError: { _, error in errors.append("\(error)") },
            handler: { _, _ in
                isRunning.open()
                defer { wasCancelled.append(Task.isCancelled) }
                try await Task.sleep(for: .seconds(3_600))
            }
        )
        virtual.advanceWithoutSettling(by: .seconds(1))
        await isRunning.pass()
        #expect(await timer.cancelAndWait())
        #expect(wasCancelled.all == [true])
        #expect(timer.state == .ended(.cancelled))
        #expect(errors.all.isEmpty, "the cancellation is no error of the handler")
    }

    @Test func aShutdownCancelsTheTasksOfRunningHandlers() async throws {
        let (isRunning, wasCancelled) = (Gate(), Notes<Bool>())
        let actor = Worker()
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: actor) { _, _ in
            isRunning.open()
            defer { wasCancelled.append(Task.isCancelled) }
            try await Task.sleep(for: .seconds(3_600))
        }
        virtual.advanceWithoutSettling(by: .seconds(1))
        await isRunning.pass()
        await virtual.service.shutdownAndWait()
        #expect(wasCancelled.all == [true])
    }

    @Test func aHandlerThatEndsItsOwnTimerIsNotCancelled() async throws {
        let (timer, wasCancelled) = (Box<PreciseTimer>(), Notes<Bool>())
        timer.value = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { log, tick in
            timer.value?.cancel()
            await Task.yield()
            wasCancelled.append(Task.isCancelled)
        }
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { wasCancelled.all == [false] })
        timer.value = nil
    }

    @Test(arguments: [Reason.failed(Bad()), .targetReleased])
    func onEndRunsInATaskThatIsNotCancelled(reason: Reason) async throws {
        let cancelled = Notes<Bool>()
        var target: Thing? = Thing()
        try PreciseTimer.schedule(
            .every(.milliseconds(500)),
            on: virtual.service,
            target: try #require(target),
            onEnd: { [reasons] in
                cancelled.append(Task.isCancelled)
                reasons.append($0)
            },
            handler: { _, _ in throw Bad() }
        )
        if reason == .targetReleased { target = nil }
        // Less than a second: no sweep finds the released target.
        virtual.advanceWithoutSettling(by: .milliseconds(500))
        #expect(await soon { reasons.all == [reason] })
        #expect(cancelled.all == [false])
        withExtendedLifetime(target) {}
    }

    /// The end may come between the task's first step and the moment at which its handle is known.
    @Test func aTimerThatIsCancelledWithItsTickUnderWayNeverHangs() async throws {
        for _ in 0..<200 {
            let (isRunning, service) = (Gate(), virtual.service)
            let timer = try PreciseTimer.schedule(.once(after: .zero), on: service, target: log) { _, _ in
                isRunning.open()
                try await Task.sleep(for: .seconds(3_600))
            }
            virtual.advanceWithoutSettling(by: .zero)
            await isRunning.pass()
            await timer.cancelAndWait()
        }
    }

    /// The end comes after the handler has begun, and before the code that made its task knows the task.
    @Test func aHandlerThatRunsBeforeItsTaskIsKnownIsCancelledToo() async {
        await #expect(processExitsWith: .success) {
            let (virtual, isRunning, wasCancelled) = (VirtualTime(), Gate(), Notes<Bool>())
            let log = Log()
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

    @Test func aHandleIsATargetOfAHandlerThatAwaits() async throws {
        let count = Count()
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service) { timer, tick in
            await Task.yield()
            count.add(1)
            timer.cancel()
        }
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { timer.state == .ended(.cancelled) })
        #expect(count.value == 1)
    }

    @Test func aHandlerMayAskForNothing() throws {
        let count = Count()
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service) { count.add(1) }
        virtual.advance(by: .seconds(3))
        #expect(count.value == 3)
        timer.cancel()
    }

    @Test func aRunningHandlerIsInTheSnapshotAndAmongTheSlowOnes() async throws {
        let (isRunning, mayReturn) = (Gate(), Gate())
        let timer = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            label: "poll",
            target: log
        ) { _, _ in
            isRunning.open()
            await mayReturn.pass()
        }
        virtual.advanceWithoutSettling(by: .seconds(1))
        let start = virtual.now
        await isRunning.pass()
        #expect(virtual.service.activeTimers.first?.runningSince == start)
        #expect(virtual.service.slowHandlers.isEmpty)
        virtual.advanceWithoutSettling(by: .seconds(5))
        #expect(timer.runningSince == start)
        let slow = try #require(virtual.service.slowHandlers.first)
        #expect(slow.label == "poll" && slow.period == .seconds(1) && slow.longest == .seconds(5))
        mayReturn.open()
        #expect(await soon { timer.lastRun?.duration == .seconds(5) })
        #expect(timer.lastRun?.start == start && timer.lastRun?.error == nil)
    }

    @MainActor @Test func aViewModelNeedsNoAnnotation() async throws {
        let (model, reasons) = (ViewModel(), Notes<String>())
        let timer = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            deliver: .mainActor,
            target: model,
            onEnd: { model, reason in
                model?.isOver = true
                reasons.append("\(reason)")
            },
            handler: { model, tick in model.seconds += 1 }
        )
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { model.seconds == 1 })
        timer.cancel()
        #expect(await soon { model.isOver })
        #expect(reasons.all == ["cancelled"])
    }

    @MainActor @Test func theEndOfAReleasedViewModelIsHeard() async throws {
        var model: ViewModel? = ViewModel()
        let ends = Notes<Bool>()
        if let model {
            try PreciseTimer.schedule(
                .every(.seconds(1)),
                on: virtual.service,
                deliver: .mainActor,
                target: model,
                onEnd: { model, _ in ends.append(model == nil) },
                handler: { model, _ in model.seconds += 1 }
            )
        }
        model = nil
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { ends.all == [true] })
    }
}

@MainActor private final class ViewModel {
    var seconds = 0
    var isOver = false
}

private actor Worker {}
