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

    // MARK: Forms

    enum Form: String, CaseIterable {
        case withTimeout, withDeadline

        static let facts = ["on label": "its label", "tolerance": "[false, false, true]", "isCancellation": "true"]

        var row: FormRow {
            FormRow("\(self)(_:tolerance:on:label:isCancellation:operation:)", facts: Self.facts)
        }
    }

    @Test(arguments: Form.allCases) func eachFormHeedsItsOptions(form: Form) async throws {
        let (second, deadline, label) = (Duration.seconds(1), virtual.now.advanced(by: .seconds(1)), "its label")
        var (seen, cancelled) = ("", [Bool]())
        let body = {
            #expect(Local.value == 5, "it has the task-local values of the caller")
            seen = service.activeTimers.map { $0.label ?? "" }.joined()
            for _ in 1...3 {
                virtual.advanceWithoutSettling(by: second)
                cancelled.append(Task.isCancelled)
            }
            throw Broken()
        }
        let error = await #expect(throws: (any Error).self) {
            try await Local.$value.withValue(5) {
                switch form {
                case .withTimeout:
                    try await withTimeout(second, tolerance: second * 2, on: service, label: label) { _ in
                        true
                    } operation: {
                        try body()
                    }
                case .withDeadline:
                    try await withDeadline(deadline, tolerance: second * 2, on: service, label: label) { _ in
                        true
                    } operation: {
                        try body()
                    }
                }
            }
        }
        let facts = ["on label": seen, "tolerance": "\(cancelled)", "isCancellation": "\(error is TimeoutError)"]
        #expect(facts == Form.facts)
    }

    // MARK: Outcomes

    /// What cancels an operation.
    enum Cause: CaseIterable { case nothing, deadline, service, backend, caller, callerBefore }

    /// How it ends. A client may report its cancellation by an error of its own, which `isCancellation` knows.
    enum Outcome: CaseIterable { case value, cancellation, clientsCancellation, otherError }

    @Test(arguments: Cause.allCases, Outcome.allCases)
    func theCallerHearsOfTheCauseOnlyIfTheOperationEndedByIt(cause: Cause, outcome: Outcome) async throws {
        let (alarm, asked, caller) = (RefusingAlarm(settings: 10), Count(), Box<Task<Int, any Error>>())
        let service = cause == .backend ? try TimerService(alarm: alarm) : service
        let deadline = service.now.advanced(by: .seconds(1))
        let isClients: (any Error) -> Bool = { _ in asked.add(1) > 0 && outcome == .clientsCancellation }
        let task = Task {
            while caller.value == nil { await Task.yield() }
            if cause == .callerBefore { caller.value?.cancel() }
            return try await withDeadline(deadline, on: service, isCancellation: isClients) {
                switch cause {
                case .nothing, .callerBefore: break
                case .caller:
                    caller.value?.cancel()
                    // The deadline passes as well, but later.
                    virtual.advanceWithoutSettling(by: .seconds(2))
                case .deadline: virtual.advanceWithoutSettling(by: .seconds(1))
                case .service: service.shutdown()
                case .backend: alarm.fail()
                }
                #expect(Task.isCancelled == (cause != .nothing))
                switch outcome {
                case .value: return 7
                case .cancellation: throw CancellationError()
                case .clientsCancellation, .otherError: throw Broken(number: 3)
                }
            }
        }
        caller.value = task
        var error: (any Error)?
        do { #expect(try await task.value == 7) } catch let thrown { error = thrown }
        let isOfOthers = [.nothing, .caller, .callerBefore].contains(cause)
        let isOwn = outcome == .otherError || isOfOthers
        switch (isOwn, cause) {
        case _ where outcome == .value: #expect(error == nil)
        case (false, .deadline):
            let timeOut = error as? TimeoutError
            #expect(timeOut == TimeoutError(deadline: deadline))
            #expect(timeOut?.underlying is Broken == (outcome == .clientsCancellation))
        case (false, .service): #expect((error as? TimerError)?.code == .shutDown)
        case (false, _): #expect(error as? TimerError == RefusingAlarm.refusal)
        case (true, _):
            #expect(outcome == .cancellation ? error is CancellationError : error as? Broken == Broken(number: 3))
        }
        let isAsked = !isOfOthers && [.clientsCancellation, .otherError].contains(outcome)
        #expect(asked.value == (isAsked ? 1 : 0))
        #expect(service.activeTimers.isEmpty)
        caller.value = nil
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

    /// The overrun counts from the cancellation, and is not negative if the clock is set back.
    @Test(arguments: [
        (Duration.zero, Duration.milliseconds(100), false), (.zero, .seconds(3), true),
        (.seconds(3), .seconds(1), true), (.zero, .seconds(-60), false),
    ])
    func anOperationThatGoesOnIsReported(wakesLate: Duration, overrun: Duration, isIgnored: Bool) async throws {
        let virtual = VirtualTime(clock: .wall)
        let deadline = virtual.now.advanced(by: .seconds(1))
        virtual.inject(.wakeLate(by: wakesLate))
        let error = await failure(on: virtual.service) {
            virtual.advanceWithoutSettling(by: .seconds(1) + wakesLate)
            if overrun < .zero { virtual.inject(.stepClock(by: overrun)) }
            virtual.advanceWithoutSettling(by: max(.zero, overrun))
            try Task.checkCancellation()
        }
        #expect(error as? TimeoutError == TimeoutError(deadline: deadline, overrun: max(.zero, overrun)))
        #expect((error as? TimeoutError)?.ignoredCancellation == isIgnored)
    }

    @Test func anOperationWhoseDeadlineCannotBeScheduledIsNotBegun() async throws {
        let ofAnotherClock = await #expect(throws: TimerError.self) {
            try await withDeadline(TimerClock.wall.now, on: service) { _ = Issue.record("it was begun") }
        }
        var codes = [ofAnotherClock?.code]
        for time in [Duration.seconds(-1), .seconds(1)] {
            let error = await failure(time, on: service) { Issue.record("it was begun") }
            codes.append((error as? TimerError)?.code)
            service.shutdown()
        }
        #expect(codes == [.invalidSchedule, .invalidSchedule, .shutDown])
    }

    // MARK: The surrounding task

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

    private actor Store {
        private let draft = Draft()

        func useItsState() async throws {
            let service = VirtualTime().service
            let same = try await withDeadline(service.now.advanced(by: .seconds(2)), on: service) {
                draft.text = try await name()
                assertIsolated()
                return draft
            }
            #expect(same === draft && draft.text == "name")
            let isolation = try await withTimeout(.seconds(2), on: service) { await currentIsolation() }
            #expect(isolation === self, "the operation hands its actor on")
            // With Swift 6.2, the value of a function without an isolation of its own gets none.
            #if compiler(>=6.3)
            let other = try await withTimeout(.seconds(2), on: service, operation: currentIsolation)
            #expect(other === self, "a function without an isolation of its own gets the caller's")
            #endif
        }
    }

    @Test func anOperationUsesTheStateOfItsActor() async throws { try await Store().useItsState() }

    /// Otherwise a task that waits for the actor would run meanwhile.
    @MainActor @Test func anOperationThatDoesNotSuspendNeedsNoOtherJob() async throws {
        let (service, others) = (VirtualTime().service, Count())
        let other = Task { others.add(1) }
        for _ in 1...100 { try await withTimeout(.seconds(2), on: service) { MainActor.assertIsolated() } }
        #expect(others.value == 0)
        #expect(await other.value == 1)
    }

    // MARK: The caller's executor and priority

    #if compiler(>=6.3)
    /// An executor that a task may prefer.
    private final class Loop: TaskExecutor {
        private let queue = Here.queue("loop")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    @Test func anOperationThatSuspendsStaysOnTheExecutorThatItsCallerPrefers() async throws {
        let (loop, service) = (Loop(), VirtualTime().service)
        let work = { @concurrent @Sendable in
            await withCheckedContinuation { job in DispatchQueue.global().async { job.resume() } }
            return Here.name
        }
        let preferring = Task(executorPreference: loop) {
            try await withTimeout(.seconds(1), on: service) { await work() }
        }
        #expect(try await preferring.value == "loop")
        #expect(try await withTimeout(.seconds(1), on: service) { await work() } == "pool")
    }
    #endif

    @Test func thePriorityOfAnOperationIsRaisedWithThatOfItsCaller() async throws {
        let service = VirtualTime().service
        let task = Task(priority: .medium) {
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

    /// Each deadline comes at about the moment at which its operation begins, or ends.
    @Test(.waits("deadlines race with their operations")) func aDeadlineMayComeAtAnyMoment() async throws {
        let service = try TimerService(.usual)
        for round in 1...5_000 {
            let isAtTheBeginning = round % 5 == 0
            let end = service.now.advanced(by: isAtTheBeginning ? .zero : .microseconds(50 + round % 100))
            do {
                try await withDeadline(end, on: service) {
                    if !isAtTheBeginning { await Task.yield() }
                    while service.now < end {}
                    // Takes long only if the cancellation was lost.
                    for _ in 1...10_000 where isAtTheBeginning && !Task.isCancelled {
                        try? await Task.sleep(for: .milliseconds(1))
                    }
                    try Task.checkCancellation()
                }
                guard isAtTheBeginning else { continue }
                Issue.record("a cancellation was lost in round \(round)")
                return
            } catch is TimeoutError {}
        }
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

    @Test func aCancellationHandlerMayCancelTheCallerAndUseTheService() async {
        let (virtual, caller, seen) = (VirtualTime(), Box<Task<Void, any Error>>(), Box<Int>())
        let task = Task {
            while caller.value == nil { await Task.yield() }
            try await withTimeout(.seconds(1), on: virtual.service) {
                try await withTaskCancellationHandler {
                    virtual.advanceWithoutSettling(by: .seconds(1))
                    try Task.checkCancellation()
                } onCancel: {
                    caller.value?.cancel()
                    seen.value = virtual.service.activeTimers.count
                    virtual.service.shutdown()
                }
            }
        }
        caller.value = task
        await #expect(throws: TimeoutError.self) { try await task.value }
        #expect(seen.value == 1)
        caller.value = nil
    }
}

private nonisolated(nonsending) func currentIsolation() async -> (any Actor)? { #isolation }
private func name() async throws -> String { "name" }
