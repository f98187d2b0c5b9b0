import Dispatch
import PreciseTimer
import PreciseTimerPatterns
import PreciseTimerTestKit
import TestSupport
import Testing
import TimerKernel

/// Where an operation with a deadline runs, and that its timer may cancel it at any moment.
struct WithTimeoutThreadTests {
    // MARK: The caller's isolation: these are first guesses, which must compile

    /// A class that is not `Sendable`.
    private final class Draft {
        var text = ""
    }

    @MainActor private final class Model {
        var title = ""
        var draft = Draft()

        func load(_ service: TimerService) async throws {
            try await withTimeout(.seconds(2), on: service) {
                MainActor.assertIsolated()
                title = await name()
                draft.text += "!"
                MainActor.assertIsolated()
            }
        }

        func loaded(_ service: TimerService) async throws -> Draft {
            try await withTimeout(.seconds(2), on: service) {
                title = try await checkedName()
                return draft
            }
        }
    }

    private actor Store {
        var values: [String] = []
        let draft = Draft()

        func fill(_ service: TimerService) async throws -> Draft {
            let count = try await withDeadline(service.now.advanced(by: .seconds(2)), on: service) {
                values.append(await name())
                assertIsolated()
                draft.text += "?"
                return values.count
            }
            #expect(count == 1)
            let isolation = try await withTimeout(.seconds(2), on: service) { await currentIsolation() }
            #expect(isolation === self, "the operation hands its actor on")
            // With Swift 6.2, the value of a function without an isolation of its own gets none.
            #if compiler(>=6.3)
            let other = try await withTimeout(.seconds(2), on: service, operation: currentIsolation)
            #expect(other === self, "a function without an isolation of its own gets the caller's")
            #endif
            return try await withTimeout(.seconds(2), on: service) { draft }
        }

        func text(_ service: TimerService) async throws -> String { try await fill(service).text }
    }

    @MainActor @Test func anOperationOfAViewModelUsesItsState() async throws {
        let (virtual, model) = (VirtualTime(), Model())
        try await model.load(virtual.service)
        #expect(model.title == "name")
        #expect(try await model.loaded(virtual.service) === model.draft)
        #expect(model.draft.text == "!")
    }

    @Test func anOperationOfAnActorUsesItsState() async throws {
        #expect(try await Store().text(VirtualTime().service) == "?")
    }

    @Test func anOperationOutsideActorsUsesLocalVariables() async throws {
        let service = VirtualTime().service
        let draft = Draft()
        var count = 0
        try await withTimeout(.seconds(2), on: service) {
            await Task.yield()
            draft.text = try await checkedName()
            count += 1
        }
        #expect(draft.text == "name" && count == 1)
    }

    /// Jobs that an actor gets.
    private final class Jobs: SerialExecutor {
        let count = Count()
        private let queue = DispatchQueue(label: "test.jobs")

        func enqueue(_ job: consuming ExecutorJob) {
            count.add(1)
            let job = UnownedJob(job)
            queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
        }
    }

    private actor Worker {
        let jobs = Jobs()
        nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe jobs.asUnownedSerialExecutor() }

        func work(_ service: TimerService) async throws -> Int {
            let before = jobs.count.value
            for _ in 1...100 { try await withTimeout(.seconds(2), on: service) { assertIsolated() } }
            return jobs.count.value - before
        }
    }

    @Test func anOperationThatDoesNotSuspendNeedsNoOtherJob() async throws {
        #expect(try await Worker().work(VirtualTime().service) == 0)
    }

    // MARK: Any moment

    /// Each time-out of zero races with the beginning of its operation.
    @Test(.waits("the timer's thread races with the caller")) func aTimeOutOfZeroCancelsEachOperation() async throws {
        let service = try TimerService(.usual)
        for _ in 1...1_000 {
            let error = await #expect(throws: TimeoutError.self) {
                try await withTimeout(.zero, on: service) {
                    // Ends early only if the cancellation was lost.
                    for _ in 1...10_000 where !Task.isCancelled { try? await Task.sleep(for: .milliseconds(1)) }
                    try Task.checkCancellation()
                }
            }
            if error == nil { return }
        }
        service.shutdown()
    }

    /// Each deadline comes at about the moment at which its operation ends.
    @Test(.waits("deadlines race with their operations")) func aDeadlineMayComeWhileTheOperationEnds() async throws {
        let service = try TimerService(.usual)
        var (returned, timedOut) = (0, 0)
        for round in 1...4_000 {
            let end = service.now.advanced(by: .microseconds(50 + round % 100))
            do {
                try await withDeadline(end, on: service) {
                    await Task.yield()
                    while service.now < end {}
                    try Task.checkCancellation()
                }
                returned += 1
            } catch is TimeoutError {
                timedOut += 1
            }
        }
        #expect(returned + timedOut == 4_000)
        #expect(service.activeTimers.isEmpty)
        service.shutdown()
    }

    /// The handler resumes the operation, and takes longer than the operation then does.
    @Test(.waits("a handler takes time")) func theCallReturnsOnlyAfterItsCancellationHandlers() async throws {
        let (service, gate, isOver) = (try TimerService(.usual), Gate(), Box<Bool>())
        await #expect(throws: TimeoutError.self) {
            try await withTimeout(.milliseconds(1), on: service) {
                try await withTaskCancellationHandler {
                    await gate.pass()
                    try Task.checkCancellation()
                } onCancel: {
                    gate.open()
                    pause(.milliseconds(50))
                    isOver.value = true
                }
            }
        }
        #expect(isOver.value == true)
        service.shutdown()
    }

    /// The thread of the deadline holds the operation while the call returns. It must not hold the value, which need
    /// not be `Sendable`, and would be released there.
    @Test func theValueIsTheCallersAloneAlsoIfTheDeadlineComesMeanwhile() async throws {
        let (alarm, isHeld, mayGoOn, isOver) = (ManualAlarm(), Gate(), Gate(), Gate())
        let service = try TimerService(alarm: alarm)
        weak var released: Draft?
        do {
            let draft = try await withTimeout(.seconds(1), on: service) {
                alarm.move(by: .seconds(1))
                // The first reading is that of the firing, the second one precedes the call of the handler.
                alarm.happen(before: 2) {
                    isHeld.open()
                    mayGoOn.pass()
                }
                try Thread.start("test.tick") {
                    alarm.fire()
                    isOver.open()
                }
                await isHeld.pass()
                return Draft()
            }
            released = draft
        }
        #expect(released == nil)
        mayGoOn.open()
        await isOver.pass()
    }

    @Test func aCancellationHandlerMayUseTheServiceAndItsTimers() async throws {
        let virtual = VirtualTime()
        let seen = Box<Int>()
        await #expect(throws: TimeoutError.self) {
            try await withTimeout(.seconds(1), on: virtual.service, label: "asking") {
                try await withTaskCancellationHandler {
                    virtual.advanceWithoutSettling(by: .seconds(1))
                    try Task.checkCancellation()
                } onCancel: {
                    seen.value = virtual.service.activeTimers.count { $0.label == "asking" }
                    virtual.service.shutdown()
                }
            }
        }
        #expect(seen.value == 1)
    }
}

private nonisolated(nonsending) func currentIsolation() async -> (any Actor)? { #isolation }
private func name() async -> String { "name" }
private func checkedName() async throws -> String { "name" }
