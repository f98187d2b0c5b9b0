import PreciseTimer
import PreciseTimerPatterns
import PreciseTimerTestKit
import TestSupport
import Testing

/// Ends with a last tick, and limits on waiting for handlers.
@Suite(.waits("callers wait in tasks of their own"), .timeLimit(.minutes(60))) struct FinishTests {
    private let virtual = VirtualTime()
    private let log = Log()

    private func schedule(_ schedule: PreciseTimer.Schedule) throws -> PreciseTimer {
        try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { $0.note($1) }
    }

    /// Delivers the due ticks until no timer is left. Returns false if that takes too long.
    private func allHaveEnded() async -> Bool {
        let virtual = virtual
        return await soon {
            virtual.advance(by: .zero)
            return virtual.pendingCount == 0
        }
    }

    /// Finishes a timer, and lets time stand still until it has ended.
    private func finish(_ timer: PreciseTimer) async throws -> Bool {
        // It runs up to its wait at once.
        let finishing = Task.immediate { try await timer.finish() }
        #expect(await allHaveEnded())
        return try await finishing.value
    }

    @Test func aTimerThatIsFinishedTicksOnceMore() async throws {
        let timer = try schedule(.every(.seconds(10)))
        virtual.advanceWithoutSettling(by: .seconds(12))
        #expect(try await finish(timer))
        #expect(log.ticks.map(\.isExtra) == [false, true])
        #expect(log.ticks.map(\.missed) == [0, 0])
        #expect(timer.state == .ended(.completed))
        virtual.advanceWithoutSettling(by: .seconds(60))
        #expect(log.count == 2)
    }

    @Test(arguments: [
        PreciseTimer.Schedule.onDemand, .once(after: .seconds(9)), .fixedDelay(.seconds(9)),
        .computed { $0.advanced(by: .seconds(9)) },
    ])
    func everyScheduleHasALastTick(schedule: PreciseTimer.Schedule) async throws {
        let timer = try self.schedule(schedule)
        #expect(try await finish(timer))
        #expect(log.ticks.map(\.isExtra) == [true])
        #expect(timer.state == .ended(.completed))
    }

    @Test func aPausedOrEndedTimerHasNoLastTick() async throws {
        let paused = try schedule(.every(.seconds(1)))
        paused.pause(keeping: .grid)
        #expect(try await !paused.finish())
        #expect(paused.state == .ended(.cancelled))
        #expect(try await !paused.finish())
        #expect(log.count == 0)
    }

    @Test func aTickThatWasAskedForIsToldApart() throws {
        let timer = try schedule(.every(.seconds(1)))
        virtual.advance(by: .milliseconds(2_500))
        timer.fire()
        virtual.advance(by: .milliseconds(1_500))
        #expect(log.ticks.map(\.isExtra) == [false, false, true, false, false])
        #expect(log.ticks.filter { !$0.isExtra }.reduce(0) { $0 + 1 + $1.missed } == 4)
        #expect("\(log.ticks[2])" == "extra tick before 2, 0 s late")
    }

    @Test func aHandlerThatNeverReturnsIsNamedWhenTheLimitIsOver() async throws {
        let (isRunning, mayReturn) = (Gate(), Gate())
        let timer = try PreciseTimer.schedule(.onDemand, on: .default, label: "flush", target: log) { _, _ in
            isRunning.open()
            await mayReturn.pass()
        }
        timer.fire()
        await isRunning.pass()
        let error = await #expect(throws: TimerError.self) { try await timer.finish(within: .milliseconds(20)) }
        #expect(error?.code == .handlerRunning)
        #expect(error?.attempted == "waiting 20 ms for the end of timer \"flush\" (\(#fileID):\(#line - 8))")
        #expect(timer.state == .ended(.cancelled))
        mayReturn.open()
        await timer.cancelAndWait()
    }

    @Test func aBagIsFlushed() async throws {
        let bag = TimerBag()
        for _ in 0..<3 { try schedule(.every(.seconds(10))).store(in: bag) }
        let finishing = Task.immediate { try await bag.finishAll() }
        #expect(await allHaveEnded())
        try await finishing.value
        #expect(log.ticks.map(\.isExtra) == [true, true, true])
        #expect(bag.count == 0)
    }

    /// The bag holds the only handles, and a timer without a target ends with its handle.
    @Test func timersWhoseHandlesTheBagHoldsAreFlushed() async throws {
        let (bag, count, reasons) = (TimerBag(), Count(), Notes<PreciseTimer.EndReason>())
        for _ in 0..<3 {
            try PreciseTimer.schedule(.every(.seconds(10)), on: virtual.service, onEnd: reasons.append) { count.add(1) }
                .store(in: bag)
        }
        let finishing = Task.immediate { try await bag.finishAll() }
        #expect(await allHaveEnded())
        try await finishing.value
        #expect(count.value == 3)
        try PreciseTimer.schedule(.every(.seconds(10)), on: virtual.service, onEnd: reasons.append) { count.add(1) }
            .store(in: bag)
        try await bag.cancelAllAndWait(within: .seconds(30))
        #expect(reasons.all == [.completed, .completed, .completed, .cancelled])
        #expect(count.value == 3)
    }

    @Test func theLastTickIsTheLastEvenIfItsHandlerFinishesAgain() async throws {
        let box = Box<PreciseTimer>()
        box.value = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { log, tick in
            log.note(tick)
            _ = try await box.value?.finish()
        }
        await virtual.advance(by: .seconds(1))
        #expect(await allHaveEnded())
        #expect(log.ticks.map(\.isExtra) == [false, true])
        box.value = nil
    }

    @Test func aTimerThatIsFinishingTakesNoOtherOrders() async throws {
        let timer = try schedule(.onDemand)
        let finishing = Task.immediate { try await timer.finish() }
        let error = #expect(throws: TimerError.self) { try timer.reschedule(.onDemand) }
        #expect(error?.code == .timerEnded && error?.attempted.contains("finish() was called") == true)
        #expect(!timer.pause(keeping: .grid) && !timer.restart())
        #expect(await allHaveEnded())
        #expect(try await finishing.value)
    }

    @Test func theLastHandlerMayGoOn() async throws {
        let box = Box<PreciseTimer>()
        box.value = try PreciseTimer.schedule(.onDemand, on: virtual.service, target: log) { log, tick in
            log.note(tick)
            if log.count == 1 { try? box.value?.reschedule(.once(after: .seconds(1))) }
        }
        let finishing = Task.immediate { [box] in try await box.value?.finish() }
        virtual.advanceWithoutSettling(by: .zero)
        #expect(try await finishing.value == false)
        #expect(box.value?.state == .scheduled)
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(log.ticks.map(\.isExtra) == [true, false])
        #expect(box.value?.state == .scheduled, "it rests, as before")
        try box.value?.reschedule(.once(after: .seconds(1)))
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(log.count == 3)
        box.value = nil
    }

    /// More work that comes during the last tick does not make another one, and nobody waits for ever.
    @Test(arguments: [PreciseTimer.Schedule.every(.seconds(10)), .onDemand, .fixedDelay(.seconds(9))])
    func aTimerThatIsFinishedTakesNoFurtherExtraTick(schedule: PreciseTimer.Schedule) async throws {
        let (box, fired) = (Box<PreciseTimer>(), Notes<Bool?>())
        let timer = try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { log, tick in
            log.note(tick)
            if log.count < 5 { fired.append(box.value?.fire()) }
        }
        box.value = timer
        #expect(try await finish(timer))
        #expect(log.ticks.map(\.isExtra) == [true])
        #expect(fired.all == [false])
        #expect(timer.state == .ended(.completed))
        box.value = nil
    }

    @Test func anotherThreadsFireAddsNothingToTheLastTick() async throws {
        let timer = try schedule(.every(.seconds(10)))
        let finishing = Task.immediate { try await timer.finish() }
        #expect(!timer.fire())
        #expect(await allHaveEnded())
        #expect(try await finishing.value)
        #expect(log.ticks.map(\.isExtra) == [true])
    }

    @Test func theLastTickOfATimerThatCatchesUpIsOne() async throws {
        let timer = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            missedTicks: .catchUp(limit: 5),
            target: log
        ) { $0.note($1) }
        timer.pause(keeping: .grid)
        virtual.jump(by: .seconds(100))
        timer.resume()
        #expect(try await finish(timer))
        #expect(log.ticks.map(\.missed) == [99])
        #expect(timer.state == .ended(.completed))
    }

    /// Deadlines that the schedule rules out have not passed, however late the last tick is.
    @Test(arguments: [
        (PreciseTimer.Schedule.every(.seconds(10), for: .seconds(35)), 2),
        (.every(.seconds(10), jitter: .seconds(10), for: .seconds(35)), 2),
        (.every(.seconds(10), after: .seconds(5), for: .seconds(35)), 3),
        (.every(.seconds(10), count: 2, for: .seconds(35)), 2), (.every(.seconds(10), count: 2), 29),
        (.every(.seconds(10), jitter: .seconds(10)), 29),
    ])
    func theLastTickCountsOnlyDeadlinesOfTheSchedule(schedule: PreciseTimer.Schedule, missed: Int) async throws {
        let timer = try self.schedule(schedule)
        timer.pause(keeping: .grid)
        virtual.jump(by: .seconds(300))
        timer.resume()
        #expect(try await finish(timer))
        #expect(log.ticks.map(\.isExtra) == [false])
        #expect(log.ticks.map(\.missed) == [missed])
    }

    @Test func aTimerThatGoesOnAfterItsLastHandlerIsAnyOther() async throws {
        let box = Box<PreciseTimer>()
        box.value = try PreciseTimer.schedule(.every(.seconds(9)), on: virtual.service, target: log) { log, tick in
            log.note(tick)
            if log.count == 1 { try? box.value?.reschedule(.every(.seconds(1))) }
        }
        let timer = try #require(box.value)
        let finishing = Task.immediate { try await timer.finish(within: .seconds(3_600)) }
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(log.ticks.map(\.isExtra) == [true, false])
        #expect(timer.pause(keeping: .grid) && timer.resume() && timer.restart())
        try timer.reschedule(.every(.seconds(2)))
        virtual.advanceWithoutSettling(by: .seconds(4))
        #expect(log.ticks.map(\.isExtra) == [true, false, false, false])
        timer.cancel()
        _ = try await finishing.value
        box.value = nil
    }

    @Test func aTimerThatIsCancelledBeforeItsLastTickHasNone() async throws {
        let timer = try schedule(.onDemand)
        let finishing = Task.immediate { try await timer.finish() }
        timer.cancel()
        #expect(try await !finishing.value)
    }

    /// Sleeps, time-outs and sequences end with the service, and not before their time.
    @Test func theLibrarysOwnTimersHaveNoLastTick() async throws {
        let (service, expired) = (try TimerService(.timerFD), Notes<Int>())
        let timeouts = IdleTimeouts<Int>(on: service) { expired.append($0) }
        #expect(timeouts.refresh(1, after: .seconds(3_600)))
        let sleeping = Task { try await service.clock.sleep(for: .seconds(3_600)) }
        let waiting = Task {
            try await withTimeout(.seconds(3_600), on: service) { try await Task.sleep(for: .seconds(3_600)) }
        }
        #expect(await soon { service.activeTimers.count == 3 })
        #expect(try await service.shutdownAndWait(lastTick: true))
        for task in [sleeping, waiting] {
            let error = await #expect(throws: TimerError.self) { try await task.value }
            #expect(error?.code == .shutDown)
        }
        #expect(expired.all.isEmpty)
    }

    @Test func aWaitingCallOfADebounceIsNotLostInTheLastTick() async throws {
        let (service, calls) = (try TimerService(.timerFD), Count())
        let save = try Debouncer(.seconds(3_600), on: service, target: log) { _ in calls.add(1) }
        save()
        #expect(try await service.shutdownAndWait(lastTick: true))
        #expect(calls.value == 1)
    }

    @Test func aNegativeLimitIsOver() async throws {
        let (isRunning, mayReturn) = (Gate(), Gate())
        let timer = try PreciseTimer.schedule(.once(after: .zero), target: log) { _, _ in
            isRunning.open()
            await mayReturn.pass()
        }
        await isRunning.pass()
        await #expect(throws: TimerError.self) { try await timer.finish(within: .seconds(-1)) }
        mayReturn.open()
        await timer.cancelAndWait()
    }

    @Test func aComputedTimerThatIsFinishedCountsWhatItMissed() async throws {
        let timer = try PreciseTimer.schedule(
            .computed { $0.advanced(by: .seconds(1)) },
            on: virtual.service,
            missedTicks: .catchUp(limit: 3),
            target: log
        ) { $0.note($1) }
        virtual.inject(.wakeLate(by: .seconds(60)))
        virtual.advanceWithoutSettling(by: .milliseconds(5_500))
        let finishing = Task.immediate { try await timer.finish() }
        virtual.advanceWithoutSettling(by: .seconds(60))
        #expect(try await finishing.value)
        #expect(log.ticks.map(\.missed) == [4], "later deadlines are left out")
    }

    @Test func aServiceIsFlushedBeforeItsShutdown() async throws {
        let service = try TimerService(.timerFD)
        for _ in 0..<3 { try PreciseTimer.schedule(.every(.seconds(3_600)), on: service, target: log) { $0.note($1) } }
        #expect(try await service.shutdownAndWait(lastTick: true))
        #expect(log.count == 3)
        #expect(throws: TimerError.self) {
            try PreciseTimer.schedule(.every(.seconds(1)), on: service, target: log) { $0.note($1) }
        }
    }

    @Test func aHandlerMayFinishItsOwnTimer() async throws {
        let (box, isOver) = (Box<PreciseTimer>(), Gate())
        box.value = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { log, tick in
            log.note(tick)
            guard tick.index == 0, !tick.isExtra else { return }
            _ = try await box.value?.finish()
            isOver.open()
        }
        virtual.advanceWithoutSettling(by: .seconds(1))
        await isOver.pass()
        #expect(await allHaveEnded())
        #expect(log.ticks.map(\.isExtra) == [false, true])
        box.value = nil
    }
}
