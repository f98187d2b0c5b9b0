import Dispatch
import PreciseTimer
import PreciseTimerPatterns
import PreciseTimerTestKit
import TestSupport
import Testing
import TimerKernel

/// How an operation with a deadline ends, and what its caller hears.
struct WithTimeoutTests {
    private struct Broken: Error, Equatable { var number = 0 }

    private let virtual = VirtualTime()
    private var service: TimerService { virtual.service }

    /// Lets time pass in an operation, which then asks whether it was cancelled.
    private func pass(_ duration: Duration) throws {
        virtual.advanceWithoutSettling(by: duration)
        try Task.checkCancellation()
    }

    @Test(.waits("real backends keep a deadline"), arguments: Ground.all)
    func anOperationIsCancelledAtItsDeadlineAndLeavesNoTimer(ground: Ground) async throws {
        let site = try ground.site()
        #expect(try await withTimeout(.seconds(3_600), on: site.service) { 7 } == 7)
        #expect(site.service.activeTimers.isEmpty)
        let (start, cancelledAt) = (site.service.now, Box<TimerInstant>())
        let task = Task {
            try await withTimeout(.milliseconds(20), on: site.service) {
                defer { cancelledAt.value = site.service.now }
                try await Task.sleep(for: .seconds(3_600))
            }
        }
        if let virtual = site.virtual {
            while virtual.pendingCount == 0 { await virtual.settle() }
            virtual.advanceWithoutSettling(by: .milliseconds(20))
        }
        let error = try #require(await #expect(throws: TimeoutError.self) { try await task.value })
        let due = start.advanced(by: .milliseconds(20))
        #expect(error.deadline >= due, "it began after the first look at the clock")
        #expect(error.underlying is CancellationError)
        #expect(try #require(cancelledAt.value) >= error.deadline, "never early")
        #expect(site.service.activeTimers.isEmpty)
        if site.virtual != nil { #expect(error == TimeoutError(deadline: due)) }
    }

    /// Nothing is delivered inside a call, not even what is due at once.
    @Test func aTimeOutOfZeroPassesWithTheNextRound() async throws {
        let wasCancelled = Notes<Bool>()
        let error = await failure(.zero, on: service) {
            wasCancelled.append(Task.isCancelled)
            try pass(.zero)
        }
        #expect(wasCancelled.all == [false])
        #expect(error as? TimeoutError == TimeoutError(deadline: virtual.now))
    }

    @Test func aDeadlineIsAnInstantOfTheServicesClock() async throws {
        let deadline = virtual.now.advanced(by: .seconds(2))
        let error = await #expect(throws: TimeoutError.self) {
            try await withDeadline(deadline, on: service) {
                try pass(.seconds(2) - .nanoseconds(1))
                try pass(.nanoseconds(1))
            }
        }
        #expect(error == TimeoutError(deadline: deadline))
        #expect(virtual.now == deadline)
        let refusal = await #expect(throws: TimerError.self) {
            try await withDeadline(TimerClock.wall.now, on: service) { Issue.record("it was begun") }
        }
        #expect(refusal?.code == .invalidSchedule)
    }

    // MARK: What the operation does counts

    @Test(arguments: [false, true]) func anErrorOfTheOperationComesOutAsItself(isLate: Bool) async throws {
        await #expect(throws: Broken(number: 3)) {
            try await withTimeout(.seconds(1), on: service) { () async throws(Broken) in
                if isLate { virtual.advanceWithoutSettling(by: .seconds(2)) }
                throw Broken(number: 3)
            }
        }
        #expect(virtual.pendingCount == 0)
    }

    @Test func aValueIsReturnedEvenAfterTheDeadline() async throws {
        let value = try await withTimeout(.seconds(1), on: service) {
            virtual.advanceWithoutSettling(by: .seconds(2))
            return Task.isCancelled ? 7 : 0
        }
        #expect(value == 7, "it was cancelled, and its value is not lost")
    }

    /// The overrun counts from the cancellation.
    @Test(arguments: [
        (Duration.zero, Duration.milliseconds(100), false), (.zero, .seconds(3), true),
        (.seconds(3), .seconds(1), true),
    ])
    func anOperationThatGoesOnIsReported(wakesLate: Duration, overrun: Duration, isIgnored: Bool) async throws {
        let deadline = virtual.now.advanced(by: .seconds(1))
        virtual.inject(.wakeLate(by: wakesLate))
        let error = await failure(on: service) {
            virtual.advanceWithoutSettling(by: .seconds(1) + wakesLate)
            try pass(overrun)
        }
        #expect(error as? TimeoutError == TimeoutError(deadline: deadline, overrun: overrun))
        #expect((error as? TimeoutError)?.ignoredCancellation == isIgnored)
    }

    @Test func aWallClockThatIsSetBackMakesNoNegativeOverrun() async throws {
        let virtual = VirtualTime(clock: .wall)
        let error = await failure(on: virtual.service) {
            virtual.advanceWithoutSettling(by: .seconds(1))
            virtual.inject(.stepClock(by: .seconds(-60)))
            virtual.advanceWithoutSettling(by: .zero)
            try Task.checkCancellation()
        }
        #expect((error as? TimeoutError)?.overrun == .zero)
    }

    @Test func anOperationWithAToleranceIsCancelledByItsLastInstant() async throws {
        let wasCancelled = Notes<Bool>()
        try await withTimeout(.seconds(1), tolerance: .seconds(2), on: service) {
            for _ in 0..<3 {
                virtual.advanceWithoutSettling(by: .seconds(1))
                wasCancelled.append(Task.isCancelled)
            }
        }
        #expect(wasCancelled.all == [false, false, true])
    }

    // MARK: Refusals, and services that end

    @Test func anOperationWhoseDeadlineCannotBeScheduledIsNotBegun() async throws {
        var codes: [TimerError.Code?] = []
        for time in [Duration.seconds(-1), .seconds(1)] {
            let error = await failure(time, on: service) { Issue.record("it was begun") }
            codes.append((error as? TimerError)?.code)
            service.shutdown()
        }
        #expect(codes == [.invalidSchedule, .shutDown])
    }

    @Test func aServiceThatEndsCancelsTheOperationAndIsNamed() async throws {
        let error = await failure(on: service) {
            service.shutdown()
            try Task.checkCancellation()
        }
        #expect((error as? TimerError)?.code == .shutDown)
    }

    @Test func aBackendThatFailsCancelsTheOperationAndIsNamed() async throws {
        let alarm = RefusingAlarm(settings: 10)
        let error = await failure(on: try TimerService(alarm: alarm)) {
            alarm.fail()
            try Task.checkCancellation()
        }
        #expect(error as? TimerError == RefusingAlarm.refusal)
    }

    @Test(arguments: [Broken(), CancellationError()] as [any Error])
    func anErrorOfItsOwnIsNotThatOfTheService(own: any Error) async throws {
        let error = await failure(on: service) {
            if own is Broken { service.shutdown() }
            throw own
        }
        #expect(try type(of: #require(error)) == type(of: own))
    }

    enum Cause: CaseIterable { case deadline, service, caller, itself }

    /// A client may report its cancellation by an error of its own.
    @Test(arguments: Cause.allCases) func aClientsOwnErrorIsATimeOutOnlyIfTheTimerCancelled(_ cause: Cause) async throws
    {
        let questions = Count()
        let isCancellation: (any Error) -> Bool = { error in
            questions.add(1)
            return error is Broken
        }
        let task = Task {
            if cause == .caller { unsafe withUnsafeCurrentTask { task in unsafe task?.cancel() } }
            try await withTimeout(.seconds(1), on: service, isCancellation: isCancellation) {
                if cause == .deadline { virtual.advanceWithoutSettling(by: .seconds(1)) }
                if cause == .service { service.shutdown() }
                throw Broken(number: 3)
            }
        }
        let error = try #require(await #expect(throws: (any Error).self) { try await task.value })
        switch cause {
        case .deadline: #expect((error as? TimeoutError)?.underlying as? Broken == Broken(number: 3))
        case .service: #expect((error as? TimerError)?.code == .shutDown)
        case .caller, .itself: #expect(error as? Broken == Broken(number: 3))
        }
        #expect(questions.value == (cause == .deadline || cause == .service ? 1 : 0))
    }

    // MARK: The surrounding task

    /// The deadline passes as well, but later.
    @Test(arguments: [true, false]) func cancellingTheCallerIsNotATimeOut(isBefore: Bool) async throws {
        let task = Task {
            if isBefore { unsafe withUnsafeCurrentTask { task in unsafe task?.cancel() } }
            try await withTimeout(.seconds(1), on: service) {
                while !Task.isCancelled { await Task.yield() }
                try pass(.seconds(2))
            }
        }
        if !isBefore { #expect(await soon { virtual.pendingCount == 1 }) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(virtual.pendingCount == 0)
    }

    @Test(arguments: [(1, 2), (2, 1), (1, 1)])
    func ofTwoDeadlinesTheEarlierOneCancelsAndIsNamed(outer: Int, inner: Int) async throws {
        let start = virtual.now
        let error = await #expect(throws: TimeoutError.self) {
            try await withTimeout(.seconds(outer), on: service) {
                do {
                    try await withTimeout(.seconds(inner), on: service) { try pass(.seconds(3)) }
                } catch {
                    #expect(error is CancellationError == (outer <= inner), "who throws the error: \(error)")
                    throw error
                }
            }
        }
        #expect(error?.deadline == start.advanced(by: .seconds(1)))
    }

    @Test func theOperationHasTheTaskLocalValuesOfTheCaller() async throws {
        let seen = try await Local.$value.withValue(5) {
            try await withTimeout(.seconds(1), on: service) { Local.value }
        }
        #expect(seen == 5)
    }

    private enum Local {
        @TaskLocal static var value = 0
    }
}

/// The error of an operation with a time-out.
private func failure(
    _ timeout: Duration = .seconds(1),
    on service: TimerService,
    of operation: nonisolated(nonsending) () async throws -> Void
) async -> (any Error)? {
    do { try await withTimeout(timeout, on: service, operation: operation) } catch { return error }
    return nil
}

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

        func load(_ service: TimerService) async throws -> Draft {
            try await withTimeout(.seconds(2), on: service) {
                MainActor.assertIsolated()
                title = try await checkedName()
                draft.text += "!"
                MainActor.assertIsolated()
                return draft
            }
        }
    }

    private actor Store {
        let draft = Draft()

        func fill(_ service: TimerService) async throws -> Draft {
            try await withDeadline(service.now.advanced(by: .seconds(2)), on: service) {
                draft.text += await name()
                assertIsolated()
            }
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
        let model = Model()
        #expect(try await model.load(VirtualTime().service) === model.draft)
        #expect([model.title, model.draft.text] == ["name", "!"])
    }

    @Test func anOperationOfAnActorUsesItsState() async throws {
        #expect(try await Store().text(VirtualTime().service) == "name")
    }

    @Test func anOperationOutsideActorsUsesLocalVariables() async throws {
        let draft = Draft()
        var count = 0
        try await withTimeout(.seconds(2), on: VirtualTime().service) {
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

    // MARK: The caller's executor and priority

    #if compiler(>=6.3)
    /// An executor that a task may prefer.
    private final class Loop: TaskExecutor {
        private let (queue, key) = (DispatchQueue(label: "test.loop"), DispatchSpecificKey<Bool>())
        init() { queue.setSpecific(key: key, value: true) }
        var isHere: Bool { DispatchQueue.getSpecific(key: key) ?? false }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    @Test func anOperationThatSuspendsStaysOnTheExecutorThatItsCallerPrefers() async throws {
        let (loop, service) = (Loop(), VirtualTime().service)
        let work = { @concurrent @Sendable in
            await withCheckedContinuation { job in DispatchQueue.global().async { job.resume() } }
            return loop.isHere
        }
        let preferring = Task(executorPreference: loop) {
            try await withTimeout(.seconds(1), on: service) { await work() }
        }
        #expect(try await preferring.value)
        #expect(try await withTimeout(.seconds(1), on: service) { await work() } == false)
    }
    #endif

    @Test func thePriorityOfAnOperationIsRaisedWithThatOfItsCaller() async throws {
        let service = VirtualTime().service
        let task = Task(priority: .background) {
            try await withTimeout(.seconds(1), on: service) {
                // The caller may not wait for the operation yet.
                for _ in 1...10_000 where Task.currentPriority < .high { try? await Task.sleep(for: .milliseconds(1)) }
                return Task.currentPriority
            }
        }
        #expect(await soon { service.activeTimers.count == 1 })
        task.escalatePriority(to: .high)
        #expect(try await task.value >= .high)
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
            released = try await withTimeout(.seconds(1), on: service) {
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
        }
        #expect(released == nil)
        mayGoOn.open()
        await isOver.pass()
    }

    @Test func aCancellationHandlerMayCancelTheCaller() async {
        let (virtual, caller) = (VirtualTime(), Box<Task<Void, any Error>>())
        let task = Task {
            while caller.value == nil { await Task.yield() }
            try await withTimeout(.seconds(1), on: virtual.service) {
                try await withTaskCancellationHandler {
                    virtual.advanceWithoutSettling(by: .seconds(1))
                    try Task.checkCancellation()
                } onCancel: {
                    caller.value?.cancel()
                }
            }
        }
        caller.value = task
        await #expect(throws: TimeoutError.self) { try await task.value }
        caller.value = nil
    }

    @Test func aCancellationHandlerMayUseTheServiceAndItsTimers() async throws {
        let (virtual, seen) = (VirtualTime(), Box<Int>())
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

nonisolated(nonsending) func currentIsolation() async -> (any Actor)? { #isolation }
private func name() async -> String { "name" }
private func checkedName() async throws -> String { "name" }
