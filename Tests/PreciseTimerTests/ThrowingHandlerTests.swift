import Dispatch
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing
import TimerKernel

/// Handlers that throw and do not await. They are called where an ordinary handler is: on virtual time, inside
/// `advance(by:)`.
@Suite struct ThrowingHandlerTests {
    private let virtual = VirtualTime()
    private let log = Log()
    private let events = Notes<String>()
    private let second = PreciseTimer.Schedule.every(.seconds(1))

    private struct Bad: Error {}
    private struct Worse: Error {}

    /// An error whose words ask the service, which is not possible under its lock.
    private struct Asking: Error, CustomStringConvertible {
        let service: TimerService
        var description: String { "an error beside \(service.pendingCount) timer" }
    }

    /// Throws at the first tick.
    private static func step(_ log: Log, _ tick: PreciseTimer.Tick) throws {
        log.note(tick)
        if log.count == 1 { throw Bad() }
    }

    private func advance(_ seconds: Int = 1) { virtual.advanceWithoutSettling(by: .seconds(seconds)) }

    /// A timer whose end is an event. Its handler notes the ticks, and throws at the first one, unless told otherwise.
    @discardableResult
    private func schedule(
        deliver: PreciseTimer.Delivery = .inline,
        onError: (@isolated(any) @Sendable (Log, any Error) throws -> Void)? = nil,
        handler: @escaping @Sendable (Log, PreciseTimer.Tick) throws -> Void = { try Self.step($0, $1) }
    ) throws -> PreciseTimer {
        try PreciseTimer.schedule(
            second,
            on: virtual.service,
            deliver: deliver,
            target: log,
            onEnd: { [events] in events.append("\($0)") },
            onError: onError,
            handler: handler
        )
    }

    // MARK: Places

    /// The forms of `schedule` that take an ordinary handler.
    enum Form: CaseIterable { case target, handle, noArguments, isolationOfAnyKind }

    private func schedule(_ form: Form) throws -> PreciseTimer {
        let (service, log, tick) = (virtual.service, log, PreciseTimer.Tick(deadline: virtual.now))
        switch form {
        case .target:
            return try PreciseTimer.schedule(second, on: service, target: log) { log, tick in try Self.step(log, tick) }
        case .handle: return try PreciseTimer.schedule(second, on: service) { _, tick in try Self.step(log, tick) }
        case .noArguments: return try PreciseTimer.schedule(second, on: service) { try Self.step(log, tick) }
        case .isolationOfAnyKind:
            let handler: @isolated(any) @Sendable (Log, PreciseTimer.Tick) throws -> Void = { try Self.step($0, $1) }
            return try PreciseTimer.schedule(second, on: service, target: log, handler: handler)
        }
    }

    @Test(arguments: Form.allCases) func aHandlerIsCalledInPlaceAndItsErrorEndsTheTimer(form: Form) throws {
        let timer = try schedule(form)
        advance()
        #expect(log.count == 1)
        advance()
        #expect(timer.state == .ended(.failed(Bad())))
        #expect(log.count == 1)
    }

    @Test(arguments: [false, true]) func handlerAndOnErrorRunOnTheQueueAndAnErrorEndsTheTimer(isTold: Bool) throws {
        let (queue, key, events) = (DispatchQueue(label: "test.throws"), DispatchSpecificKey<Bool>(), events)
        queue.setSpecific(key: key, value: true)
        let fail: @Sendable (any Error) throws -> Void = { error in
            events.append("\(DispatchQueue.getSpecific(key: key) ?? false)")
            throw error
        }
        let tell: @isolated(any) @Sendable (Log, any Error) throws -> Void = { _, _ in try fail(Worse()) }
        let timer = try schedule(deliver: .queue(queue), onError: isTold ? tell : nil) { _, _ in try fail(Bad()) }
        advance()
        queue.sync {}
        #expect(events.all == (isTold ? ["true", "true", "failed: Worse()"] : ["true", "failed: Bad()"]))
        #expect(timer.hasEnded)
    }

    // MARK: Errors

    @Test func onErrorIsToldInPlaceAndTheTimerGoesOn() throws {
        let events = events
        let timer = try schedule(onError: { log, error in events.append("\(error) at tick \(log.count)") })
        advance()
        #expect(events.all == ["Bad() at tick 1"])
        advance()
        #expect(timer.state == .scheduled)
        #expect(log.ticks.map(\.index) == [0, 1])
    }

    /// The handler is still running meanwhile: promise 9.
    @Test func anErrorOfOnErrorEndsTheTimerOnceAfterItsReturn() throws {
        let events = events
        let timer = try schedule(onError: { _, _ in
            defer { events.append("onError returns") }
            throw Worse()
        })
        advance(3)
        #expect(events.all == ["onError returns", "failed: Worse()"])
        #expect(timer.state == .ended(.failed(Worse())))
        #expect(log.count == 1)
    }

    @Test func anErrorOfAHandlerThatHasEndedItsTimerIsToldToOnError() throws {
        let (events, timer) = (events, Box<PreciseTimer>())
        timer.value = try schedule(
            onError: { _, error in events.append("told \(error)") },
            handler: { _, _ in
                timer.value?.cancel()
                throw Bad()
            }
        )
        advance()
        #expect(events.all == ["told Bad()", "cancelled"])
        timer.value = nil
    }

    @Test func onErrorIsInsideTheHandlerForACancelThatWaits() throws {
        let (events, timer) = (events, Box<PreciseTimer>())
        timer.value = try schedule(onError: { _, _ in
            events.append("cancelled: \(timer.value?.cancelAndWait() ?? false)")
        })
        advance()
        #expect(events.all == ["cancelled: true", "cancelled"])
        timer.value = nil
    }

    /// Promise 7.
    @Test func theCapturesOfHandlerAndOnErrorAreReleasedBeforeOnEnd() throws {
        let events = events
        try schedule(
            onError: { [captured = Thing { events.append("onError's is released") }] _, _ in
                withExtendedLifetime(captured) {}
                throw Worse()
            },
            handler: { [captured = Thing { events.append("the handler's is released") }] log, tick in
                withExtendedLifetime(captured) {}
                try Self.step(log, tick)
            }
        )
        advance()
        #expect(Set(events.all.prefix(2)) == ["onError's is released", "the handler's is released"])
        #expect(events.all.last == "failed: Worse()")
    }

    @Test func theCapturesOfOnErrorAreReleasedByCancel() throws {
        let (released, service) = (Count(), virtual.service)
        // Under the lock, its `deinit` would find it taken.
        let timer = try schedule(onError: { [captured = Thing { released.add(1 + 0 * service.pendingCount) }] _, _ in
            withExtendedLifetime(captured) {}
        })
        #expect(released.value == 0)
        timer.cancel()
        #expect(released.value == 1)
    }

    /// Promise 5: the end of one of two timers due at one instant comes before the tick of the other.
    @Test func siblingsComeInTheirOrder() throws {
        let events = events
        for number in 1...2 {
            try schedule(handler: { _, _ in
                events.append("tick of \(number)")
                throw Bad()
            })
        }
        advance()
        #expect(events.all == ["tick of 1", "failed: Bad()", "tick of 2", "failed: Bad()"])
    }

    @Test func anErrorEndsATimerWithComputedDeadlines() throws {
        let timer = try PreciseTimer.schedule(
            .computed { $0.advanced(by: .seconds(1)) },
            on: virtual.service,
            target: log
        ) { log, tick in try Self.step(log, tick) }
        advance(3)
        #expect(timer.state == .ended(.failed(Bad())))
        #expect(log.count == 1)
    }

    /// The handler does not wait for it: that would move it to a task.
    @Test(.waits("the main actor calls onError when it likes"))
    func onErrorOfAnActorIsToldThereWhileTheHandlerStaysInPlace() async throws {
        let events = events
        let timer = try schedule(onError: { @MainActor _, error in
            MainActor.assertIsolated()
            events.append("told \(error)")
            throw Worse()
        })
        advance()
        #expect(log.count == 1)
        #expect(await soon { timer.hasEnded && events.all.count == 2 })
        #expect(events.all == ["told Bad()", "failed: Worse()"])
    }

    // MARK: Facts

    @Test func aThrownErrorIsInTheLastRunIfTheTimerCollectsStatistics() throws {
        let error = Asking(service: virtual.service)
        let timer = try PreciseTimer.schedule(
            second,
            on: virtual.service,
            missedTicks: .catchUp(limit: 2),
            target: log,
            onError: { _, _ in },
            handler: { log, tick in
                log.note(tick)
                if tick.index % 2 == 0 { throw error }
            }
        )
        timer.collectsStatistics = true
        var errors: [String?] = []
        for _ in 1...2 {
            advance()
            errors.append(timer.lastRun?.error)
        }
        #expect(errors == ["an error beside 1 timer", nil])
        // Two ticks at one instant.
        virtual.jump(by: .seconds(2))
        #expect(log.count == 4)
        #expect(timer.lastRun?.start == virtual.now && timer.lastRun?.error == nil)
    }

    @Test func aTickWhoseHandlerThrowsIsInTheStatistics() throws {
        let timer = try schedule(onError: { _, _ in }, handler: { _, _ in throw Bad() })
        timer.collectsStatistics = true
        advance(3)
        #expect(timer.statistics?.ticks == 3)
    }
}

/// The same on a service's own thread.
@Suite(.waits("a real alarm's thread calls the handler"), .timeLimit(.minutes(60))) struct ThrowingOnThreadTests {
    @Test(arguments: TimerService.Backend.available)
    func aHandlerThatThrowsRunsOnTheServicesThread(backend: TimerService.Backend) throws {
        let (service, threads, tasks) = (try TimerService(backend), Notes<UInt>(), Count())
        try PreciseTimer.schedule(.once(after: .zero), on: service, target: threads) { threads, _ in
            threads.append(ThreadID.current.number)
        }
        try PreciseTimer.schedule(.once(after: .zero), on: service, target: threads) { threads, _ in
            tasks.add(unsafe withUnsafeCurrentTask { unsafe $0 == nil ? 0 : 1 })
            threads.append(ThreadID.current.number)
            throw CancellationError()
        }
        #expect(eventually { threads.all.count == 2 })
        // A queue may change its thread.
        #expect(Set(threads.all).count == 1 || backend == .dispatch)
        #expect(tasks.value == 0)
    }
}
