import PreciseTimer
import PreciseTimerPatterns
import PreciseTimerTestKit
import TestSupport
import Testing

/// Ends with a last tick.
@Suite(.waits("callers wait in tasks of their own"), .timeLimit(.minutes(60))) struct FinishTests {
    typealias Schedule = PreciseTimer.Schedule

    private let scene = Scene()

    /// Begins to finish a timer: the call runs up to its wait.
    private func begin(_ timer: PreciseTimer) -> Task<Bool, any Error> {
        Task.immediate { try await timer.finish() }
    }

    /// More work that comes before the last tick or with it does not make another one, and nobody waits for ever.
    @Test(
        arguments: [
            (.every(.seconds(10)), 12_000, "0@10000, extra 1@12000"), (.onDemand, 0, "extra 0@0"),
            (.fixedDelay(.seconds(9)), 0, "extra 0@0"), (.computed { $0.advanced(by: .seconds(9)) }, 0, "extra 0@0"),
        ] as [(Schedule, Int, String)]
    )
    func everyScheduleHasOneLastTick(schedule: Schedule, before: Int, ticks: String) async throws {
        let (fired, isFinishing) = (Notes<Bool>(), Gate())
        let timer = try scene.handle(schedule) { timer, _ in if isFinishing.isPassable { fired.append(timer.fire()) } }
        scene.advance(before)
        isFinishing.open()
        let finishing = begin(timer)
        fired.append(timer.fire())
        scene.advance(60_000)
        try #require(timer.state == .ended(.completed))
        #expect(try await finishing.value)
        #expect(scene.ticks == ticks && fired.all == [false, false])
    }

    @Test func aPausedOrEndedTimerHasNoLastTick() async throws {
        let timers = try (0..<2).map { _ in try scene.timer(.every(.seconds(1))) }
        timers[0].pause(keeping: .grid)
        let finishing = timers.map(begin)
        timers[1].cancel()
        for task in finishing + [begin(timers[0])] { #expect(try await !task.value) }
        #expect(timers.map(\.state) == [.ended(.cancelled), .ended(.cancelled)] && scene.log.count == 0)
    }

    /// The timer is late by then, and its last tick later still. What the schedule rules out has not passed, and what
    /// passes after the call is left out.
    @Test(
        arguments: [
            (Schedule.every(.seconds(10), jitter: .seconds(10), for: .seconds(35)), 2),
            (.every(.seconds(10), count: 2), 29), (.computed { $0.advanced(by: .seconds(10)) }, 29),
        ] as [(Schedule, Int)],
        [PreciseTimer.MissedTickPolicy.skip, .catchUp(limit: 5)]
    )
    func theLastTickCountsOnlyPassedDeadlinesOfTheSchedule(
        row: (schedule: Schedule, missed: Int),
        policy: PreciseTimer.MissedTickPolicy
    ) async throws {
        let timer = try scene.timer(row.schedule, missed: policy)
        timer.pause(keeping: .grid)
        scene.jump(300_000)
        timer.resume()
        let finishing = begin(timer)
        scene.jump(60_000)
        try #require(timer.state == .ended(.completed))
        #expect(try await finishing.value)
        #expect(scene.log.ticks.map(\.isExtra) == [false] && scene.log.ticks.map(\.missed) == [row.missed])
    }

    @Test func aBagIsFlushedAlsoIfItHoldsTheOnlyHandles() async throws {
        let bag = TimerBag()
        for _ in 0..<4 { try scene.handle(.every(.seconds(10))) { _, _ in }.store(in: bag) }
        try scene.timer(.every(.seconds(10))).store(in: bag)
        let finishing = Task.immediate { try await bag.finishAll() }
        scene.advance(0)
        try #require(scene.virtual.pendingCount == 0)
        try await finishing.value
        #expect(scene.log.ticks.map(\.isExtra) == Array(repeating: true, count: 5) && bag.count == 0)
    }

    // MARK: Inside the handler

    /// Inside its handler, or beside it. The running tick is not the last one, and its handler gives no order either.
    @Test(arguments: [true, false]) func aTimerFinishedWhileItsHandlerRunsTicksOnceMore(isInside: Bool) async throws {
        let (isRunning, mayReturn, log, results) = (Gate(), Gate(), scene.log, Notes<Bool>())
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: scene.virtual.service) { timer, tick in
            log.note(tick)
            isRunning.open()
            if isInside { results.append(try await timer.finish()) } else { await mayReturn.pass() }
            try? timer.reschedule(.every(.seconds(60)))
        }
        scene.virtual.advanceWithoutSettling(by: .seconds(1))
        await isRunning.pass()
        let finishing = isInside ? nil : begin(timer)
        mayReturn.open()
        let hasEnded = await soon {
            scene.virtual.advanceWithoutSettling(by: .zero)
            return timer.hasEnded
        }
        try #require(hasEnded)
        if let finishing { results.append(try await finishing.value) }
        #expect(log.ticks.map(\.isExtra) == [false, true] && results.all == (isInside ? [true, true] : [true]))
    }

    /// Neither before its last tick nor in that tick's handler.
    @Test(arguments: [Schedule.onDemand, .every(.seconds(9))])
    func aTimerThatWasFinishedTakesNoOrders(schedule: Schedule) async throws {
        let (codes, answers) = (Notes<TimerError.Code?>(), Notes<Bool>())
        @Sendable func order(_ timer: PreciseTimer) {
            let error = #expect(throws: TimerError.self) { try timer.reschedule(.every(.seconds(1))) }
            #expect(error?.attempted.contains("finish() was called") == true)
            codes.append(error?.code)
            codes.append(
                #expect(throws: TimerError.self) { try timer.reschedule(.every(.seconds(1)), keeping: .phase) }?.code
            )
            answers.append(timer.pause(keeping: .grid) || timer.restart() || timer.fire())
        }
        let timer = try scene.handle(schedule) { timer, _ in order(timer) }
        let finishing = begin(timer)
        order(timer)
        scene.advance(0)
        try #require(timer.state == .ended(.completed))
        #expect(try await finishing.value)
        #expect(codes.all == Array(repeating: .timerEnded, count: 4) && answers.all == [false, false])
        #expect(scene.ticks == "extra 0@0")
    }
}

/// Last calls of debouncers, and waits whose limit passes.
@Suite(.waits("callers wait in tasks of their own"), .timeLimit(.minutes(60))) struct LastHandlerTests {
    private let log = Log()
    private let virtual = VirtualTime()
    private let bag = TimerBag()

    /// The due tick becomes the last one: the first end of a debounce whose window was made longer.
    @Test func theLastTickOfADebounceLetsTheWaitingCallThrough() async throws {
        let (calls, seen, service) = (Count(), Notes<Int>(), virtual.service)
        let save = try Debouncer(.seconds(10), on: service, target: log) { _ in seen.append(calls.value) }
        for _ in 0..<2 {
            virtual.advanceWithoutSettling(by: .seconds(9))
            calls.add(1)
            save()
        }
        virtual.inject(.wakeLate(by: .seconds(5)))
        virtual.advanceWithoutSettling(by: .seconds(2))
        let ending = Task.immediate { try await save.finish() }
        virtual.advanceWithoutSettling(by: .seconds(5))
        try await ending.value
        #expect(seen.all == [2])
    }

    // MARK: Limits

    /// A timer whose handler has begun, and awaits a gate.
    private func stuck(_ label: String, on service: TimerService = .default, _ mayReturn: Gate) async throws
        -> PreciseTimer
    {
        let isRunning = Gate()
        let timer = try PreciseTimer.schedule(.once(after: .zero), on: service, label: label, target: log) { _, _ in
            isRunning.open()
            await mayReturn.pass()
        }
        await isRunning.pass()
        return timer
    }

    /// A limit, and whether the timer had ended before, and its service is shut down.
    private static let limits: [(Duration, String, hasEnded: Bool)] = [
        (.milliseconds(20), "20 ms", false), (.seconds(-1), "-1 s", false), (.milliseconds(20), "20 ms", true),
    ]

    @Test(arguments: limits)
    func aHandlerThatNeverReturnsIsNamedWhenTheLimitIsOver(limit: Duration, text: String, hasEnded: Bool) async throws {
        let (service, mayReturn) = (try TimerService(.usual), Gate())
        let timer = try await stuck("flush", on: service, mayReturn)
        if hasEnded { timer.cancel() }
        let error = await #expect(throws: TimerError.self) {
            if hasEnded {
                try await service.shutdownAndWait(within: limit)
            } else {
                try await timer.finish(within: limit)
            }
        }
        #expect(error?.code == .handlerRunning)
        #expect(error?.attempted.hasPrefix("waiting \(text) for the end of timer \"flush\" (\(#fileID):") == true)
        #expect(timer.state == .ended(.cancelled))
        mayReturn.open()
        await timer.cancelAndWait()
        service.shutdown()
    }

    /// Nobody moves the virtual time, so the last ticks of its timers do not come. A paused timer has none.
    @Test(arguments: [false, true]) func onlyWhatTheWaitWasForIsNamed(withHandler: Bool) async throws {
        let mayReturn = Gate()
        for label in ["silent", "paused"] {
            try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, label: label, target: log) {
                $0.note($1)
            }
            .store(in: bag, named: label)
        }
        bag["paused"]?.pause(keeping: .grid)
        if withHandler { try await stuck("stuck", mayReturn).store(in: bag) }
        let bag = bag
        let error = await #expect(throws: TimerError.self) { try await bag.finishAll(within: .milliseconds(20)) }
        #expect(error?.code == (withHandler ? .handlerRunning : .lastTickPending))
        let (words, other) =
            withHandler ? ("end of timer \"stuck\" (", "silent") : ("last tick of timer \"silent\" (", "stuck")
        let named = ["20 ms for the \(words)", "paused", other].map { error?.attempted.contains($0) }
        #expect(named == [true, false, false])
        #expect(virtual.pendingCount == 0, "the limit ends the timers")
        mayReturn.open()
    }

    /// A process of its own, because other tests take memory, too.
    @Test(.disabled(if: isAddressSanitized || isThreadSanitized)) func aLimitLeavesNothingBehind() async throws {
        await #expect(processExitsWith: .success) {
            let (service, log) = (try TimerService(.timerFD), Log())
            func finishSome() async throws {
                for _ in 0..<5_000 {
                    let timer = try PreciseTimer.schedule(.onDemand, on: service, target: log) { _, _ in }
                    try await timer.finish(within: .seconds(3_600))
                }
            }
            try await finishSome()
            // A block for later takes some 570 bytes, each time. What Dispatch has not yet released takes memory once.
            var least = Int.max
            for _ in 0..<3 {
                let before = ProcFS.residentBytes
                try await finishSome()
                least = min(least, ProcFS.residentBytes - before)
            }
            #expect(least < 5_000 * 200, "\(least) bytes")
        }
    }
}
