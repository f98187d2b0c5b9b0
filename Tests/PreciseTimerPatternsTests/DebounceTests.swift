import Dispatch
import PreciseTimer
import PreciseTimerPatterns
import PreciseTimerTestKit
import TestSupport
import Testing

/// When a debounced or throttled handler is called.
struct DebounceTests {
    private let virtual = VirtualTime()
    private let calls = Notes<Int>()
    private let target = Thing()

    enum Kind: CaseIterable { case debounce, throttle }

    /// A limiter whose calls are noted with their times, in milliseconds.
    private func limiter(_ kind: Kind, _ ms: Int = 100, _ edge: BurstEdge? = nil, _ cap: Int? = nil) throws
        -> CallLimiter
    {
        let (start, time, longest) = (virtual.now, Duration.milliseconds(ms), cap.map { Duration.milliseconds($0) })
        let service = virtual.service
        let handler: @Sendable (Thing) -> Void = { [calls, virtual] _ in
            calls.append(Int(start.duration(to: virtual.now) / .milliseconds(1)))
        }
        return switch kind {
        case .debounce: try Debouncer(time, edge: edge, longest: longest, on: service, target: target, handler: handler)
        case .throttle: try Throttler(time, edge: edge, longest: longest, on: service, target: target, handler: handler)
        }
    }

    // MARK: Bursts

    @Test(
        arguments: [
            (Kind.debounce, nil, [0, 50], [150]), (.throttle, nil, [0, 50], [0, 100]),
            (.debounce, .trailing, [0], [100]), (.debounce, .trailing, [0, 50, 99, 150], [250]),
            (.debounce, .trailing, [0, 200], [100, 300]), (.debounce, .trailing, [0, 100], [100, 200]),
            (.debounce, .leading, [0], [0]), (.debounce, .leading, [0, 50, 140, 239], [0]),
            (.debounce, .leading, [0, 101], [0, 101]), (.debounce, .both, [0], [0]),
            (.debounce, .both, [0, 50, 140], [0, 240]), (.debounce, .both, [0, 150], [0, 150]),
            (.throttle, .trailing, [0], [100]), (.throttle, .trailing, [0, 50, 99, 150], [100, 250]),
            (.throttle, .leading, [0, 50, 99, 150, 199, 260], [0, 150, 260]), (.throttle, .both, [0], [0]),
            (.throttle, .both, [0, 50, 99], [0, 100]), (.throttle, .both, [0, 50, 150, 170, 320], [0, 100, 200, 320]),
        ] as [(Kind, BurstEdge?, [Int], [Int])]
    )
    func aBurstIsOneCallAndAPeriodHasOne(kind: Kind, edge: BurstEdge?, instants: [Int], expected: [Int]) throws {
        let trigger = try limiter(kind, 100, edge)
        #expect(virtual.nextDeadline == nil)
        #expect(run(trigger, instants.map { "call \($0)" }.joined(separator: ", ")) == [])
        #expect(calls.all == expected)
        #expect(virtual.nextDeadline == nil, "it rests again")
    }

    /// Between two calls lie at most 50 ms, and the burst ends after 100 ms.
    @Test(
        arguments: [
            // Further calls never stop; a call at the very moment of the handler's waits for the next one.
            (.trailing, 250, Array(stride(from: 0, through: 600, by: 50)), [250, 500, 700]),
            (.both, 250, Array(stride(from: 0, through: 600, by: 50)), [0, 300, 550, 700]),
            (.leading, 250, Array(stride(from: 0, through: 600, by: 50)), [0, 250, 500]),
            (.trailing, 100, [0, 50, 100, 150, 200], [100, 200, 300]),
            // Nothing of the longest wait remains in the next burst.
            (.trailing, 250, [0, 50, 100, 150, 200, 250, 800, 890], [250, 350, 990]),
            (.both, 250, [0, 50, 100, 150, 200, 250, 300, 800], [0, 300, 400, 800]),
            // The last call is not lost behind a longest wait that has passed.
            (.both, 200, [0, 25, 200, 220], [0, 125, 200, 320]),
        ] as [(BurstEdge, Int, [Int], [Int])]
    )
    func noCallWaitsLongerThanTheLongestWait(edge: BurstEdge, longest: Int, instants: [Int], expected: [Int]) throws {
        let trigger = try limiter(.debounce, 100, edge, longest)
        _ = run(trigger, instants.map { "call \($0)" }.joined(separator: ", "))
        #expect(calls.all == expected)
        #expect(virtual.nextDeadline == nil, "it rests again")
    }

    @Test func aCallThatComesBeforeALateEndOfTheLongestWaitIsServedWithIt() throws {
        let trigger = try limiter(.debounce, 100, nil, 150)
        trigger()
        virtual.advance(by: .milliseconds(90))
        trigger()
        virtual.advance(by: .milliseconds(50))
        virtual.inject(.wakeLate(by: .milliseconds(20)))
        virtual.advance(by: .milliseconds(20))
        trigger()
        virtual.advance(by: .seconds(1))
        #expect(calls.all == [170])
    }

    @Test(arguments: [(Kind.debounce, 99), (.debounce, -1), (.throttle, 100), (.throttle, 300)])
    func aLongestWaitThatMakesNoSenseIsRefused(kind: Kind, longest: Int) {
        let error = #expect(throws: TimerError.self) { try limiter(kind, 100, nil, longest) }
        #expect(error?.code == .invalidSchedule)
    }

    /// Does what a script says, at times in milliseconds, and lets a second pass. Returns the answers to flushes and
    /// cancellations.
    private func run(_ trigger: CallLimiter, _ script: String) -> [Bool] {
        let start = virtual.now
        var answers: [Bool] = []
        for step in (script + ", deliver 1000").split(separator: ", ") {
            let words = step.split(separator: " ")
            let time = start.advanced(by: .milliseconds(Int(words[1]) ?? 0))
            if virtual.now < time { virtual.advance(by: virtual.now.duration(to: time)) }
            switch words[0] {
            case "call": trigger()
            case "flush": answers.append(trigger.flush())
            case "cancel": answers.append(trigger.cancel())
            case "fire": answers.append(trigger.timers.allSatisfy { $0.fire() })
            default: virtual.advance(by: .zero)
            }
        }
        return answers
    }

    @Test(
        arguments: [
            // A flush lets the waiting call through.
            (Kind.debounce, .trailing, "flush 0, call 0, flush 30, deliver 30, flush 30", [false, true, false], [30]),
            // Neither the first call, which does not wait, nor the second one has come to the handler.
            (.debounce, .both, "call 0, flush 0, call 0, flush 0, call 1", [false, true], [0, 0, 1]),
            (.throttle, .both, "call 0, flush 0, call 0, flush 0, call 1", [false, true], [0, 0, 100]),
            // A call after a flush comes with it, and begins no window of its own.
            (.debounce, .trailing, "call 0, flush 30, call 30, deliver 30, call 40", [true], [30, 140]),
            // Nor does one after an extra tick of the timer, which lets the waiting call through, too.
            (.debounce, .trailing, "call 0, fire 30, deliver 30, call 40", [true], [30, 140]),
            // A call that was dropped, or does not wait, is not flushed.
            (.debounce, .leading, "call 0, call 0, cancel 0, flush 0", [true, false], []),
            (.debounce, .trailing, "call 0, call 0, cancel 0, flush 0", [true, false], []),
            (.debounce, .both, "call 0, call 0, cancel 0, flush 0", [true, false], []),
            (.throttle, .leading, "call 0, call 0, flush 0", [false], [0]),
            // The call after a cancellation is the first of a burst.
            (.throttle, .both, "cancel 0, call 0, cancel 50", [false, false], [0]),
            (.throttle, .both, "call 0, call 200, cancel 200, call 250, call 260", [true], [0, 250, 350]),
        ] as [(Kind, BurstEdge, String, [Bool], [Int])]
    )
    func flushAndCancel(kind: Kind, edge: BurstEdge, script: String, answers: [Bool], expected: [Int]) throws {
        #expect(run(try limiter(kind, 100, edge), script) == answers)
        #expect(calls.all == expected)
    }

    /// A flush or a cancellation is of its own burst.
    @Test(arguments: Kind.allCases, [BurstEdge.leading, .trailing, .both])
    func nothingOfABurstRemainsInTheNextOne(kind: Kind, edge: BurstEdge) throws {
        for former in ["flush 0", "flush 30", "cancel 0", "cancel 30", "flush 0, cancel 0", "flush 30, cancel 30"] {
            let trigger = try limiter(kind, 100, edge)
            _ = run(trigger, "call 0, call 0, \(former)")
            let before = calls.all.count
            let burst = "call 0, call 50, call 130, call 170"
            _ = run(trigger, burst)
            let next = calls.all.dropFirst(before).map { $0 - 1_000 }
            _ = run(try limiter(kind, 100, edge), burst)
            #expect(next == Array(calls.all.dropFirst(before + next.count)), "\(former)")
        }
    }

    /// Two threads may come in another order than they have read the clock.
    @Test func aCallThatHasReadTheClockEarlierMakesTheBurstNoShorter() throws {
        let (wall, calls) = (VirtualTime(clock: .wall), Notes<TimerInstant>())
        let trigger = try Debouncer(.seconds(9), on: wall.service, target: target) { _ in calls.append(wall.now) }
        let end = wall.now.advanced(by: .seconds(5 + 9))
        trigger()
        wall.advance(by: .seconds(5))
        trigger()
        wall.inject(.stepClock(by: .seconds(-3)))
        wall.advance(by: .zero)
        trigger()
        wall.advance(by: .seconds(60))
        #expect(calls.all == [end])
    }

    /// The window of a debounce begins with the call, that of a throttle with the handler's call.
    @Test(arguments: [
        (Kind.debounce, 80, [80, 110]), (.throttle, 80, [80, 180]),
        // Neither edge is lost if the window has passed.
        (.debounce, 300, [300, 300]), (.throttle, 300, [300, 400]),
    ])
    func aLateLeadingCallMovesOnlyTheWindowOfAThrottle(kind: Kind, lateness: Int, expected: [Int]) throws {
        let trigger = try limiter(kind, 100, .both)
        trigger()
        virtual.inject(.wakeLate(by: .milliseconds(lateness)))
        virtual.advance(by: .milliseconds(10))
        trigger()
        virtual.advance(by: .seconds(1))
        #expect(calls.all == expected)
    }

    @Test func aCallDuringAPauseComesItsTimeAfterTheResume() throws {
        let save = try limiter(.debounce, 1_000)
        for timer in save.timers { timer.pause() }
        virtual.advance(by: .seconds(100))
        save()
        for timer in save.timers { timer.resume() }
        virtual.advance(by: .seconds(1))
        #expect(calls.all == [101_000])
    }

    @Test func theHandlerMayCallItsTrigger() throws {
        let (box, calls) = (Box<CallLimiter>(), Count())
        box.value = try Debouncer(.milliseconds(100), on: virtual.service, target: target) { _ in
            if calls.add(1) < 3 { box.value?() }
        }
        box.value?()
        virtual.advance(by: .milliseconds(299))
        #expect(calls.value == 2)
        virtual.advance(by: .seconds(1))
        #expect(calls.value == 3)
        box.value = nil
    }

    // MARK: Refusals and ends

    @Test(arguments: Kind.allCases, [BurstEdge.leading, .trailing, .both])
    func aNegativeTimeIsRefused(kind: Kind, edge: BurstEdge) {
        #expect(throws: TimerError.self) { _ = try limiter(kind, -1, edge) }
        #expect(virtual.pendingCount == 0)
        #expect(throws: Never.self) { _ = try limiter(kind, 0, edge) }
    }

    @Test(arguments: [true, false]) func aFlushOfWhatHasEndedIsRefused(serviceEnds: Bool) throws {
        var target: Log? = Log()
        let trigger = try Debouncer(.seconds(9), on: virtual.service, target: try #require(target)) { _ in }
        trigger()
        if serviceEnds { virtual.service.shutdown() } else { target = nil }
        #expect([trigger.flush(), trigger.cancel()] == [false, false])
        withExtendedLifetime(target) {}
    }

    @Test func aServiceThatEndsDuringAFlushRefusesIt() throws {
        let alarm = ManualAlarm()
        let service = try TimerService(alarm: alarm)
        let trigger = try Debouncer(.seconds(9), on: service, target: target) { _ in }
        trigger()
        alarm.happen(before: 1) { service.shutdown() }
        #expect(trigger.flush() == false)
    }

    @Test func aFinishedTriggerLetsItsCallThroughAndRefusesFurtherOnes() async throws {
        let save = try limiter(.debounce)
        #expect(save())
        async let finished: Void = save.finish()
        while calls.all.isEmpty { await virtual.advance(by: .zero) }
        try await finished
        #expect(calls.all == [0] && !save() && !save.flush())
    }

    @Test func aReleasedTriggerEndsItsTimer() throws {
        do {
            let dropped = try limiter(.debounce)
            dropped()
        }
        #expect(virtual.pendingCount == 0)
        virtual.advance(by: .seconds(2))
        #expect(calls.all.isEmpty)
    }

    // MARK: Threads

    /// A flush that is accepted while the leading call is delivered sets the timer after that delivery has.
    @Test(.works("a thread flushes while another one delivers")) func anAcceptedFlushIsNotOverwritten() async throws {
        let (virtual, target, calls, throttle) = (virtual, target, Count(), Box<Throttler>())
        let (begun, flushed, rounds) = (Count(), Count(), Effort.of(4_000, thorough: 40_000))
        try await onThreads(2) { thread in
            for round in 1...rounds {
                guard thread == 0 else {
                    while begun.value < round {}
                    // The delivery is met at each of its moments.
                    for _ in 0..<round % 40 { _ = TimerClock.suspending.now }
                    throttle.value?()
                    if throttle.value?.flush() != true { Issue.record("a call waits") }
                    flushed.add(1)
                    continue
                }
                throttle.value = try? Throttler(.seconds(3_600), on: virtual.service, target: target) { _ in
                    calls.add(1)
                }
                throttle.value?()
                begun.add(1)
                virtual.advance(by: .zero)
                while flushed.value < round {}
                virtual.advance(by: .zero)
                if calls.value != 2 * round {
                    Issue.record("a flush was lost in round \(round)")
                    calls.add(2 * round - calls.value)
                }
            }
        }
    }

    @Test(.works("threads call one trigger")) func theLastCallOfManyThreadsIsNotLost() async throws {
        let (service, value, seen, running) = (try TimerService(.usual), Count(), Box<Int>(), Count())
        let queue = DispatchQueue(label: "test.throttle", attributes: .concurrent)
        let trigger = try Throttler(.microseconds(50), on: service, deliver: .queue(queue), target: target) { _ in
            if running.add(1) > 1 { Issue.record("two calls at once") }
            seen.value = value.value
            running.add(-1)
        }
        try await onThreads(4) { _ in
            for _ in 0..<5_000 {
                value.add(1)
                trigger()
            }
        }
        #expect(await soon { seen.value == 20_000 })
        service.shutdown()
    }
}
